package wiring

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Report says whether a client asks the gate, and what keeps it from that.
type Report struct {
	Client   string    `json:"client"`
	Present  bool      `json:"present"`  // the client is used here
	InForce  bool      `json:"in_force"` // some place tells it to ask, and nothing that is known switches that off
	Places   []Placed  `json:"places"`
	Findings []Finding `json:"findings"`
}

// A Placed is one file that can tell the client to ask.
type Placed struct {
	Scope Scope  `json:"scope"`
	Path  string `json:"path"`
	State State  `json:"state"`
	Text  string `json:"text,omitempty"`
}

// A State is how such a file stands. The zero State is that it could not be told.
type State string

const (
	Unclear State = ""
	Asks    State = "asks"   // as install would write it
	Older   State = "older"  // it asks, but not as install would write it now
	Absent  State = "absent" // it does not ask
	Broken  State = "broken" // the client cannot read it
)

// A Weight says what a finding means.
type Weight string

const (
	Off  Weight = "off"  // the hook is not asked
	Weak Weight = "weak" // it is asked, but something would get past it
	Note Weight = "note" // what a person should know
)

// A Finding is one thing that keeps a hook from being asked, and the way out.
type Finding struct {
	Weight Weight  `json:"weight"`
	Scopes []Scope `json:"scopes,omitempty"` // of Off: whose hooks
	Text   string  `json:"text"`
	Way    string  `json:"way_out,omitempty"`
}

// Status looks at everything that is known of a client. Hooks are what Codex lists, nil if it was not asked.
func (h Host) Status(name string, hooks []CodexHook) (Report, error) {
	c, err := find(name)
	if err != nil {
		return Report{}, err
	}
	s := &survey{host: h, hooks: hooks, report: Report{Client: c.name, Present: h.present(c), Places: []Placed{}, Findings: []Finding{}}}
	for _, scope := range []Scope{Managed, User, Project} {
		places, err := h.places(c, scope)
		if err != nil {
			continue // it has none
		}
		for _, p := range places {
			s.place(scope, p)
		}
		s.gate(scope, places)
	}
	c.hazards(h, s)
	var asking []string
	for _, scope := range []Scope{Managed, User, Project} {
		if s.asks(scope) && !s.isOff(scope) {
			s.report.InForce = true
			asking = append(asking, string(scope))
		}
	}
	if len(asking) > 1 {
		s.add(Finding{Weight: Note, Way: "gate hook remove " + c.name + " --" + asking[len(asking)-1],
			Text: "it is asked by settings of scope " + strings.Join(asking, " and ") + ": each call is judged, and counted by the rules, once for each"})
	}
	if !s.report.InForce && !slices.ContainsFunc(s.report.Findings, func(f Finding) bool { return f.Weight == Off }) {
		s.add(Finding{Weight: Off, Text: "nothing in its settings asks the gate before a command", Way: "gate hook install " + c.name})
	}
	return s.report, nil
}

// A survey is a look at one client.
type survey struct {
	host   Host
	hooks  []CodexHook
	report Report
}

func (s *survey) add(f Finding) { s.report.Findings = append(s.report.Findings, f) }

// off says that the hooks of some scopes are not asked.
func (s *survey) off(scopes []Scope, way, format string, args ...any) {
	s.add(Finding{Off, scopes, fmt.Sprintf(format, args...), way})
}

func (s *survey) weak(way, format string, args ...any) {
	s.add(Finding{Weight: Weak, Text: fmt.Sprintf(format, args...), Way: way})
}

func (s *survey) note(format string, args ...any) {
	s.add(Finding{Weight: Note, Text: fmt.Sprintf(format, args...)})
}

// asks reports whether the files of a scope tell the client to ask.
func (s *survey) asks(scope Scope) bool {
	found := false
	for _, p := range s.report.Places {
		if p.Scope != scope {
			continue
		}
		if p.State != Asks && p.State != Older {
			return false
		}
		found = true
	}
	return found
}

func (s *survey) isOff(scope Scope) bool {
	return slices.ContainsFunc(s.report.Findings, func(f Finding) bool { return f.Weight == Off && slices.Contains(f.Scopes, scope) })
}

// place looks at one file of a scope.
func (s *survey) place(scope Scope, p place) {
	placed := Placed{Scope: scope, Path: p.path}
	defer func() { s.report.Places = append(s.report.Places, placed) }()
	data, err := readSome(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		placed.State = Absent
		return
	}
	if err != nil {
		placed.Text = err.Error()
		return
	}
	same, err := p.put(data)
	switch {
	case err != nil:
		placed.State, placed.Text = Broken, err.Error()
		f := Finding{Weak, nil, fmt.Sprintf("%s: %v", p.path, err), "mend it, then " + installCommand(s.report.Client, scope)}
		if namesGate(data) {
			f.Weight, f.Scopes = Off, []Scope{scope}
		}
		s.add(f)
	case bytes.Equal(same, data):
		placed.State = Asks
	case p.asks == nil || p.asks(data):
		placed.State = Older
		s.weak(installCommand(s.report.Client, scope), "%s asks the gate, but not as this gate would write it", p.path)
	case namesGate(data):
		placed.State = Broken
		s.off([]Scope{scope}, installCommand(s.report.Client, scope), "%s is not as this gate would write it, and as it is the client does not ask", p.path)
	default:
		placed.State = Absent
	}
	if scope == Managed {
		s.rootOnly(p.path)
	}
}

func installCommand(client string, scope Scope) string {
	way := "gate hook install " + client
	if scope != User {
		way += " --" + string(scope)
	}
	return way
}

// rootOnly looks for others than root who could change an administrator's file: some clients ignore it then.
func (s *survey) rootOnly(path string) {
	for p := path; ; p = filepath.Dir(p) {
		if info, err := os.Lstat(p); err == nil {
			if why := s.host.open(info); why != "" {
				s.off([]Scope{Managed}, "chown root and chmod go-w it", "%s %s: it is not the administrator's alone, and a client may ignore it", p, why)
			}
		}
		if p == filepath.Dir(p) || p == filepath.Clean(s.host.Root) {
			return
		}
	}
}

// namesGate reports whether a text of settings names the gate at all.
func namesGate(src []byte) bool {
	for _, mark := range []string{"gate hook ", `/gate"`, `"gate"`, "gatehouse"} {
		if bytes.Contains(src, []byte(mark)) {
			return true
		}
	}
	return false
}

// gate looks at the program that the settings of a scope name.
func (s *survey) gate(scope Scope, places []place) {
	argv, path, err := s.host.hookOf(s.report.Client, places)
	if err != nil || argv == nil {
		return
	}
	program := gateOf(argv, path)
	if program == "" {
		return
	}
	scopes := []Scope{scope}
	if !filepath.IsAbs(program) {
		found, err := s.host.look(program)
		if err != nil {
			s.off(scopes, "install the gate where PATH finds it", "%s names %q, which PATH does not find", path, program)
			return
		}
		program = found
	}
	info, err := os.Stat(program)
	switch {
	case err != nil:
		s.off(scopes, installCommand(s.report.Client, scope), "the gate that %s names is not there: %v", path, err)
	case info.Mode().Perm()&0o111 == 0:
		s.off(scopes, "chmod +x it", "%s names %s, which cannot be executed", path, program)
	case info.Mode().Perm()&0o002 != 0:
		s.weak("chmod o-w it", "%s names %s, which everybody can write (mode %04o)", path, program, info.Mode().Perm())
	case !sameFile(program, s.host.Gate):
		s.weak(installCommand(s.report.Client, scope), "%s names %s, and this gate is %s", path, program, s.host.Gate)
	}
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// readSome reads a file of settings, through links, if it is of a size that settings have.
func readSome(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no file of settings", name)
	}
	return os.ReadFile(name)
}

// settings reads a JSON file of a client's. Where it is not there, it is empty; where it cannot be read, unreadable is
// called with the reason.
func (s *survey) settings(path string, lenient bool, unreadable func(error)) *text {
	empty, _ := parseText(nil, comments)
	data, err := readSome(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty
	}
	if err == nil {
		var t *text
		if t, err = parseText(data, lenient); err == nil {
			return t
		}
	}
	if unreadable != nil {
		unreadable(err)
	}
	return empty
}

// where is a place in a file, for a person.
func where(path string, t *text, keys ...string) string {
	at := t.at(keys...)
	if at == nil {
		return path
	}
	return fmt.Sprintf("%s:%d", path, t.line(at.StartOffset))
}
