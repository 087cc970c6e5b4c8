package systemd

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
	"unicode"
)

// A Host is what the unit files of a host depend on.
type Host struct {
	Warden, Gate string // the programs
	Config       string // warden.yaml
	Schedule     string // as the configuration has it
	State        string
	Repository   string
	Index        string
	Credentials  []Credential
	Network      bool // a receiver of notices is reached over the network
	Peers        bool // other hosts, or an address outside, are told of each pass
	// PeerCredentials are the secrets for that, and PeerPaths the directories that other hosts share with this one.
	PeerCredentials []Credential
	PeerPaths       []string
	Gates           []HostGate
	Groups          []string // of the gates' users, names or decimal gids: they may read accepted copies
}

// A Credential is a secret that systemd reads and hands to the services that send.
type Credential struct{ Name, Path string }

// A HostGate is a gate of the host, as far as its units are concerned.
type HostGate struct {
	Name   string
	User   string // a name or a decimal uid
	Export string
	Live   []string // the live roots
	// AskUser is whether that user's own service manager is asked about units, in whose memory files of the gate are.
	AskUser bool
}

// A File is a unit file or a drop-in.
type File struct {
	Path string
	Mode fs.FileMode
	Data []byte
	// Units are what an installation enables and starts of it: the unit itself, or the instances of a template.
	Units         []string
	Enable, Start bool
}

// UnitDir is where unit files of the administrator are.
const UnitDir = "/etc/systemd/system"

// AskUsers reports whether the service manager of any user is asked.
func (h Host) AskUsers() bool {
	return slices.ContainsFunc(h.Gates, func(g HostGate) bool { return g.AskUser })
}

// Units returns the unit files of a host, in the order of their paths. Who does what:
//
//   - gatehouse-publish@GATE: timer and service, as the user of the gate;
//   - gatehouse-reconcile: timer and service, the pass on schedule;
//   - gatehouse-reconcile.path sees that an agent published, and has gatehouse-reconcile-changed.service note it;
//     gatehouse-reconcile-soon.path goes by the note and starts gatehouse-reconcile-soon.service, the early pass. A path
//     unit hears nothing while its service is at work, so one alone would miss the end of a burst; and an agent that
//     publishes in a loop only brings about one early pass a minute;
//   - gatehouse-flags: path and service, which asks the programs that the accepted gates allow for their flags. It runs
//     what those gates name, so it is nobody: a user of its own, made for the run, without network and capabilities;
//   - gatehouse-notify: path and service, where a receiver of notices is reached over the network;
//   - gatehouse-peers: path, timer and service, where other hosts or an address outside are told of each pass: it also
//     looks how other hosts stand;
//   - gatehouse-serve.service, instead of the timer, where somebody enables it;
//   - gatehouse-call: socket and service, which takes the calls of catalogued tools as a user of its own; gatehouse-tool:
//     the socket by which it has each tool run, and the template of that run, as another user;
//   - gatehouse-failure@UNIT.service says that a run of one of these failed.
//
// The passes read what agents wrote, with the right to read everything; so they have no network. What has the network
// has no capability. This is also what keeps each of them at 2.0 at most by systemd-analyze security: a pass that sends
// its notices itself comes to 2.2.
//
// Paths stand in the files as they are given. One that a unit file cannot hold is refused.
func Units(h Host) ([]File, error) {
	calendar, err := parseCalendar(h.Schedule)
	if err != nil {
		return nil, err
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	data := unitData{Host: h, Calendar: calendar.values, Delay: delay(calendar.gap), PrivateTmp: "yes"}
	if below("/tmp", h.places()) || below("/var/tmp", h.places()) {
		data.PrivateTmp = "no"
	}
	templates, err := unitTemplates()
	if err != nil {
		return nil, err
	}
	var files []File
	add := func(name, source string, data unitData, units ...string) {
		var text bytes.Buffer
		if e := templates.ExecuteTemplate(&text, source, data); e != nil {
			err = errors.Join(err, e)
		}
		files = append(files, File{Path: filepath.Join(UnitDir, name), Mode: 0o644, Data: signed(text.Bytes()),
			Units: units, Enable: len(units) > 0, Start: len(units) > 0})
	}
	triggers := []string{"gatehouse-reconcile.timer"}
	services := []string{"gatehouse-reconcile.service", "gatehouse-serve.service", "gatehouse-failure@.service"}
	if len(h.Gates) > 0 { // else this is a hub with gates of other hosts only: nobody publishes here, and no agent calls
		triggers = append(triggers, "gatehouse-reconcile.path", "gatehouse-reconcile-soon.path", "gatehouse-flags.path",
			"gatehouse-call.socket", "gatehouse-tool.socket")
		services = append(services, "gatehouse-reconcile-changed.service", "gatehouse-reconcile-soon.service", "gatehouse-flags.service",
			"gatehouse-call.service", "gatehouse-tool@.service", "gatehouse-publish@.service")
	}
	for _, name := range triggers {
		add(name, name, data, name)
	}
	for _, name := range services {
		add(name, name, data)
	}
	if h.Network {
		add("gatehouse-notify.path", "gatehouse-notify.path", data, "gatehouse-notify.path")
		add("gatehouse-notify.service", "gatehouse-notify.service", data)
	}
	if h.Peers {
		add("gatehouse-peers.path", "gatehouse-peers.path", data, "gatehouse-peers.path")
		add("gatehouse-peers.timer", "gatehouse-peers.timer", data, "gatehouse-peers.timer")
		add("gatehouse-peers.service", "gatehouse-peers.service", data)
	}
	var timers []string
	for _, gate := range h.Gates {
		unit := "gatehouse-publish@" + gate.Name
		timers = append(timers, unit+".timer")
		data.This = gate
		add(unit+".service.d/gate.conf", "gate.conf", data)
	}
	if len(timers) > 0 {
		add("gatehouse-publish@.timer", "gatehouse-publish@.timer", data, timers...)
	}
	if err != nil {
		return nil, fmt.Errorf("unit files: %w", err)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// delay spreads passes over a twentieth of the time between them.
func delay(gap time.Duration) string {
	return fmt.Sprintf("%ds", max(min(gap, time.Hour)/20, time.Second)/time.Second)
}

type unitData struct {
	Host
	Calendar   []string
	Delay      string
	PrivateTmp string
	This       HostGate // whose drop-in it is
}

//go:embed units
var unitSources embed.FS

func unitTemplates() (*template.Template, error) {
	return template.New("units").Funcs(template.FuncMap{
		"dir": filepath.Dir, "join": filepath.Join, "raw": rawWord, "exec": execWord, "paths": pathWords, "words": plainWords, "pathlist": optionalPaths,
	}).ParseFS(unitSources, "units/*")
}

const signature = "# Written by warden install; edits belong into a drop-in. sha256:"

// signed puts a digest of what follows into the first line, so that an edited file can be told.
func signed(text []byte) []byte {
	return fmt.Appendf(nil, "%s%x\n%s", signature, sha256.Sum256(text), text)
}

// Unedited reports whether a unit file is one that was generated, by this version or another, and not changed since.
func Unedited(data []byte) bool {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && string(first) == fmt.Sprintf("%s%x", signature, sha256.Sum256(rest))
}

// rawWord is for settings that take the rest of the line as it is but for specifiers.
func rawWord(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quotedWord is for lists of words.
func quotedWord(s string) string {
	if !strings.ContainsAny(s, "\\\"' ;") {
		return rawWord(s)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rawWord(s)) + `"`
}

// execWord is for command lines, where variables are expanded as well.
func execWord(s string) string { return strings.ReplaceAll(quotedWord(s), "$", "$$") }

func plainWords(words []string) string { return strings.Join(words, " ") }

func pathWords(paths ...string) string {
	words := make([]string, len(paths))
	for i, p := range paths {
		words[i] = quotedWord(p)
	}
	return strings.Join(words, " ")
}

// optionalPaths are paths that may be missing: that is for the program to report.
func optionalPaths(paths ...string) string {
	words := make([]string, len(paths))
	for i, p := range paths {
		words[i] = quotedWord("-" + p)
	}
	return strings.Join(words, " ")
}

// below reports whether one of the places is dir or below it.
func below(dir string, places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(p+"/", dir+"/") })
}

func (h Host) places() []string {
	places := []string{h.Warden, h.Gate, h.Config, h.State, h.Repository, h.Index}
	for _, c := range slices.Concat(h.Credentials, h.PeerCredentials) {
		places = append(places, c.Path)
	}
	places = append(places, h.PeerPaths...)
	for _, g := range h.Gates {
		places = append(append(places, g.Export), g.Live...)
	}
	return places
}

var (
	nameInUnit = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	userInUnit = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_.-]*|[0-9]+)$`)
	credential = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
)

// check refuses what a unit file cannot say.
func (h Host) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, p := range h.places() {
		strange := strings.ContainsFunc(p, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) })
		if !filepath.IsAbs(p) || filepath.Clean(p) != p || strange || strings.TrimSpace(p) != p || strings.HasSuffix(p, `\`) {
			bad("path %q cannot stand in a unit file: it has to be absolute and clean, of printable characters, and not to "+
				"begin or end with a space or end with a backslash", p)
		}
	}
	if len(h.Gates) == 0 && !h.Peers { // a hub may have gates of other hosts only
		bad("there is neither a gate nor another host to install units for")
	}
	for _, c := range slices.Concat(h.Credentials, h.PeerCredentials) {
		if !credential.MatchString(c.Name) {
			bad("credential %q cannot stand in a unit file: rename it to letters, digits and . _ -", c.Name)
		}
	}
	for _, group := range h.Groups {
		if !userInUnit.MatchString(group) {
			bad("group %q cannot stand in a unit file: give the gid instead", group)
		}
	}
	for _, g := range h.Gates {
		if !nameInUnit.MatchString(g.Name) {
			bad("gate %q cannot stand in the name of a unit", g.Name)
		}
		if !userInUnit.MatchString(g.User) {
			bad("user %q of gate %q cannot stand in a unit file: give the uid instead", g.User, g.Name)
		}
	}
	return errors.Join(errs...)
}
