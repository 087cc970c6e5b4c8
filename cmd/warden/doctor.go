package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/reconcile"
	vendorgate "gatehouse/vendor-gate"
)

type doctorOptions struct{ json bool }

func newDoctorCommand(g *globals) *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this host's set-up and say what to mend, in order",
		Long: `Check the configuration, the programs, the accounts, the directories, the repository, the ways to notify, the exchange
with other hosts, the units and the exports. It changes nothing and notifies nobody. What is wrong comes in the order in
which to mend it.

A host on which warden install never ran is fine where somebody else starts the passes; that is noted.`,
		Example: `  warden doctor`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), g, opts) },
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the checks as JSON")
	return cmd
}

// A check is one thing that doctor looked at.
type check struct {
	What    string `json:"what"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Note    string `json:"note,omitempty"` // worth knowing, and nothing is wrong
}

// An examination collects checks.
type examination struct{ checks []check }

// add records a check, which is well if there is no error.
func (e *examination) add(what string, err error, fix string) bool {
	c := check{What: what, OK: err == nil}
	if err != nil {
		c.Problem, c.Fix = problemOf(what, err), fix
	}
	e.checks = append(e.checks, c)
	return err == nil
}

// problemOf says what is wrong with what, without naming it again.
func problemOf(what string, err error) string {
	var path *fs.PathError
	if errors.Is(err, fs.ErrNotExist) && errors.As(err, &path) {
		return "it is not there"
	}
	name := what[strings.LastIndex(what, " ")+1:]
	var list []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimPrefix(line, what+": ")
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			line = "line " + rest
		} else if rest, ok := strings.CutPrefix(line, name+" "); ok {
			line = "it " + rest
		}
		list = append(list, line)
	}
	return strings.Join(list, "")
}

func (e *examination) note(what, note string) {
	e.checks = append(e.checks, check{What: what, OK: true, Note: note})
}

func runDoctor(ctx context.Context, g *globals, opts doctorOptions) error {
	checks, err := within(ctx, passTimeout, func(ctx context.Context) ([]check, error) { return g.examine(ctx), nil })
	if err != nil {
		return err
	}
	code := cli.Yes
	for _, c := range checks {
		if !c.OK {
			code = cli.No
		}
	}
	if opts.json {
		err := cli.PrintJSON(g.streams.Out, struct {
			Schema string  `json:"schema"`
			Checks []check `json:"checks"`
		}{"gatehouse/doctor/v1", checks})
		if err != nil {
			return err
		}
		return cli.Exit(code)
	}
	paint := painter(g.streams.Colour())
	for _, c := range checks {
		if c.Note != "" {
			fmt.Fprintf(g.streams.Out, "note  %s: %s\n", c.What, lines(c.Note))
			continue
		}
		if c.OK {
			fmt.Fprintf(g.streams.Out, "%s  %s\n", paint(cli.Yes, "ok  "), c.What)
			continue
		}
		fmt.Fprintf(g.streams.Out, "%s  %s: %s\n", paint(cli.No, "bad "), c.What, lines(c.Problem))
		if c.Fix != "" {
			fmt.Fprintf(g.streams.Out, "      → %s\n", c.Fix)
		}
	}
	return cli.Exit(code)
}

// examine looks at everything, in the order in which to mend it; what cannot be looked at for want of something
// earlier is left out.
func (g *globals) examine(ctx context.Context) []check {
	e := new(examination)
	c, err := config.Load(g.config)
	fix := "mend it; docs/warden-yaml.md has every key"
	if errors.Is(err, fs.ErrNotExist) {
		fix = "warden install " + firstGate
	}
	if !e.add("configuration "+g.config, err, fix) {
		return e.checks
	}
	e.add("schedule "+c.Schedule, checkSchedule(c, time.Now()), "")
	in := &installation{globals: g, path: g.config, config: c, systemctl: findSystemctl()}
	installed := in.examineInstallation(e)
	e.add("state directory "+c.State, reconcile.CheckState(c.State), "")
	_, err = vendorgate.Open(c.Repository, c.Vendored)
	e.add("repository "+c.Repository, err, "")
	handed := installed && g.streams.Getenv("CREDENTIALS_DIRECTORY") == ""
	g.examineSinks(e, c, handed)
	g.examinePeers(ctx, e, c, handed)
	g.examinePending(e, c)
	g.examineAccepted(e, c)
	for _, gate := range c.Gates {
		g.examineGate(ctx, c.Index, gate, e.add)
	}
	in.examineUnits(ctx, e, installed)
	return e.checks
}

// examineSinks looks at the ways to notify. Where systemd hands credentials to the passes, and not to this process, the
// files that it takes them from are looked at.
func (g *globals) examineSinks(e *examination, c *config.Config, handed bool) {
	if handed {
		for _, name := range credentialNames(c) {
			e.credential(filepath.Join(credentials, name))
		}
	}
	secrets := make(map[string]config.Secret)
	if c.Notify.Slack != nil {
		secrets["slack"] = c.Notify.Slack.Token
	}
	if c.Notify.Webhook != nil {
		secrets["webhook"] = c.Notify.Webhook.Secret
	}
	for _, sink := range sinksOf(c, g.streams, durable.Disk{}) {
		broken, ok := sink.(withoutSecret)
		if ok && !(handed && strings.HasPrefix(string(secrets[broken.name]), "credential:")) {
			e.add("secret of "+broken.name, broken.err, "")
		}
	}
	if c.Notify.Journal && findSystemctl().path == "" && !journal.Enabled() {
		e.note("journal", "none listens on a host without systemd; what is not sent elsewhere goes to the error output of the pass")
	} else if c.Notify.Journal {
		e.add("journal", journalReachable(), "start systemd-journald, or set journal: false; lines go to the error output meanwhile")
	}
}

func (g *globals) examineGate(ctx context.Context, index string, gate config.Gate, add func(what string, err error, fix string) bool) {
	name := "gate " + gate.Name
	uid, err := gate.UID()
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), name+": user: "))
	}
	if !add(name+": user "+gate.User, err, "") {
		return
	}
	if uid == 0 {
		add(name+": separation", fmt.Errorf("its user is root, so nothing keeps the agent from the warden"), "run the agent as a user of its own")
	}
	owner := gate.User
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		owner = u.Username
	}
	present := true
	for _, live := range gate.Live {
		present = add(name+": live "+live.Name+" "+live.Root, ownedBy(live.Root, uid),
			fmt.Sprintf("install the gate's files there, as %s; or take the entry out of the configuration", owner)) && present
	}
	if !present {
		return
	}
	export, err := manifest.OpenExport(gate.Export, uid, gate.Limits)
	switch {
	case err == nil:
		defer export.Close()
		err = ownedBy(gate.Export, uid)
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("it is not there")
	}
	if !add(name+": export "+gate.Export, err, fmt.Sprintf("sudo install -d -m 0755 %s; sudo install -d -o %s -m 0755 %s",
		filepath.Dir(gate.Export), owner, gate.Export)) {
		return
	}
	if !add(name+": index "+index, listed(index, gate.Name, uid), g.program()+" reconcile") {
		return
	}
	m, err := export.Manifest(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("nothing was published yet")
	}
	publish := fmt.Sprintf("sudo -u %s gate publish", owner)
	if add(name+": manifest", err, publish) {
		age := time.Since(m.PublishedAt)
		if age > 2*gate.Interval {
			err = fmt.Errorf("it says that it is %v old; one is due every %v", age.Round(time.Second), gate.Interval)
		}
		add(name+": age of the manifest", err, publish)
	}
	snapshot, err := manifest.Scan(ctx, manifest.Source{Live: gate.Live, Owner: uid, Limits: gate.Limits})
	if err != nil || len(snapshot.Refused) == 0 {
		add(name+": live files", err, "")
		return
	}
	for _, refusal := range snapshot.Refused { // the path is escaped already
		add(name+": live files", fmt.Errorf("\"%s\" cannot be published (%s)", refusal.Path, refusal.Reason),
			"remove it, or exclude it in the configuration")
	}
}

// examinePending looks for notices that a receiver has not taken. That one was just left to the unit which sends is no
// fault yet.
func (g *globals) examinePending(e *examination, c *config.Config) {
	const soon = 10 * time.Minute
	s, err := newSite(c, g.program(), g.streams, durable.Disk{})
	if err != nil {
		return // which was said of what is wrong
	}
	type backlog struct {
		notices int
		since   time.Time
		why     string
	}
	found := make(map[string]backlog)
	for _, outbox := range g.outboxes(s) {
		pending, err := outbox.Pending()
		if err != nil {
			e.add("notices", err, "")
		}
		for _, p := range pending {
			if s.paused(p.Gate) {
				continue
			}
			b := found[p.Sink]
			if b.notices++; b.notices == 1 || p.Since.Before(b.since) {
				b.since = p.Since
			}
			b.why = cmp.Or(b.why, p.Error)
			found[p.Sink] = b
		}
	}
	for _, sink := range s.warden.Outbox.Sinks {
		b := found[sink.Name()]
		if b.why == "" && time.Since(b.since) < soon || b.notices == 0 {
			e.add("receiver "+sink.Name(), nil, "")
			continue
		}
		e.add("receiver "+sink.Name(), fmt.Errorf("%s pending since %s: %s", count(b.notices, "notice"),
			b.since.Local().Format(clockFormat), cmp.Or(b.why, "nobody tried to send")), g.program()+" notify")
	}
}

// examineAccepted looks at what root holds for the gates: whether each accepted policy compiles, the exceptions, and
// whether the flags of the allowed programs are known.
func (g *globals) examineAccepted(e *examination, c *config.Config) {
	s, err := newSite(c, g.program(), g.streams, durable.Disk{})
	if err != nil {
		return // which was said of what is wrong
	}
	for _, gate := range s.gates {
		what := "gate " + gate.Name + ": accepted policy"
		accepted, err := s.warden.CheckPolicy(gate)
		if errors.Is(err, fs.ErrPermission) {
			e.note(what, "only root and the gate's user can read it")
			continue
		}
		if accepted || err != nil {
			e.add(what, err, "mend it below "+filepath.Join(c.Repository, c.Vendored, gate.Name)+", commit that, and "+g.program()+" deploy "+gate.Name)
		}
		grants, err := s.warden.Grants(gate)
		if err != nil {
			e.add("gate "+gate.Name+": exceptions", err, "")
		} else if len(grants) > 0 {
			e.note("gate "+gate.Name+": exceptions", fmt.Sprintf("%s in force; %s grant list", count(len(grants), "exception"), g.program()))
		}
	}
	rows, err := s.flagRows()
	if err != nil {
		return // only root and the gates' users can read what is accepted
	}
	unknown := 0
	for _, row := range rows {
		if !row.Known {
			unknown++
		}
	}
	if unknown > 0 {
		e.note("flags", fmt.Sprintf("root does not know those of %d of %s that accepted gates allow; %s flags says which and why",
			unknown, count(len(rows), "command"), g.program()))
	}
}

// ownedBy reports that path is not there or belongs to somebody else than its gate's user, who has to write there.
func ownedBy(path string, uid uint32) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uid {
		return fmt.Errorf("it belongs to uid %d, so uid %d cannot write it", owner, uid)
	}
	return nil
}

// listed reports that root's index, by which gate goes where there is one, does not have the gate yet.
func listed(path, gate string, uid uint32) error {
	index, err := config.ReadIndex(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gate goes by the configuration then
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(index.ForUID(uid), func(e config.IndexGate) bool { return e.Gate == gate }) {
		return fmt.Errorf("it does not list the gate yet")
	}
	return nil
}

func journalReachable() error {
	if !journal.Enabled() {
		return fmt.Errorf("no journal listens")
	}
	return nil
}

// lines makes each line of a problem harmless, and sets all but the first below it.
func lines(problem string) string {
	var list []string
	for line := range strings.Lines(problem) {
		list = append(list, cli.Line(strings.TrimSuffix(line, "\n")))
	}
	return strings.Join(list, "\n      ")
}
