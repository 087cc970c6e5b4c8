package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/wiring"
	"gatehouse/internal/cli"
	"gatehouse/internal/spelling"
	defaultgate "gatehouse/vendor-gate/default"
)

// hookRecords is where root's records of administrator files are kept. The warden's state directory is not used: there
// may be no warden.
const hookRecords = "/var/lib/gatehouse-hooks"

// hookOptions are what the commands that change or read clients' settings have in common.
type hookOptions struct {
	all, user, project, managed bool
	dryRun                      bool
	json                        bool
	gate                        string
	flags                       []string
	codex                       string
	noTrust                     bool
}

func (o *hookOptions) scopeFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&o.all, "all", false, "every client that this user has")
	set.BoolVar(&o.user, "user", false, "in this user's settings (the default)")
	set.BoolVar(&o.project, "project", false, "in the settings of the project around this directory")
	set.BoolVar(&o.managed, "managed", false, "as root: in the clients' administrator files, which the agent cannot change")
	set.BoolVar(&o.dryRun, "dry-run", false, "only print what would change, as a diff")
	set.BoolVar(&o.json, "json", false, "print the result as JSON")
	cmd.MarkFlagsMutuallyExclusive("user", "project", "managed")
}

func (o *hookOptions) scope() wiring.Scope {
	switch {
	case o.project:
		return wiring.Project
	case o.managed:
		return wiring.Managed
	default:
		return wiring.User
	}
}

func newHookInstallCommand(g *globals) *cobra.Command {
	var opts hookOptions
	cmd := &cobra.Command{
		Use:   "install {CLIENT... | --all}",
		Short: "Let agent clients ask the gate before each call",
		Long: `Write into a client's settings that it has to ask this gate: before each call, and where it says so, after it and where
sessions and turns begin and end. Comments, order and other hooks keep their bytes; a file that the client could not read
is refused with the line; a second run changes nothing. gate hook remove gives the bytes back.

Codex runs a user's hook only once a person has agreed to it. install asks the codex program on PATH (or --codex) for the
hash of the entry and writes the agreement into its settings, as /hooks in Codex does; --no-trust leaves that to you. Where it cannot, Codex skips the hook, and the exit code is 1.

CLIENT is one of ` + strings.Join(wiring.Names(), ", ") + `.`,
		Example: `  gate hook install claude-code
  gate hook install --all --dry-run
  sudo gate hook install claude-code codex --managed`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHookChange(cmd.Context(), g, opts, args, true)
		},
	}
	opts.scopeFlags(cmd)
	set := cmd.Flags()
	set.StringVar(&opts.gate, "gate", "", "the `program` that hooks call (this one)")
	set.StringVar(&opts.codex, "codex", "", "the codex `program` that is asked for the hash of its hooks (that on PATH)")
	set.BoolVar(&opts.noTrust, "no-trust", false, "do not tell Codex to trust the hook")
	var approve, unattended bool
	set.BoolVar(&approve, "approve", false, "have the hook say allow where there is no objection; the client does not ask its user then")
	set.BoolVar(&unattended, "unattended", false, "have the hook take it that nobody is there to ask")
	cmd.PreRun = func(*cobra.Command, []string) {
		if approve {
			opts.flags = append(opts.flags, "--approve")
		}
		if unattended {
			opts.flags = append(opts.flags, "--unattended")
		}
	}
	return cmd
}

func newHookRemoveCommand(g *globals) *cobra.Command {
	var opts hookOptions
	cmd := &cobra.Command{
		Use:   "remove {CLIENT... | --all}",
		Short: "Take the gate out of agent clients' settings",
		Long: `Take out what gate hook install put in. A file that nobody has changed since gets the bytes back that it had; in others,
only the gate's entries are cut out.`,
		Example: `  gate hook remove claude-code
  gate hook remove --all --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHookChange(cmd.Context(), g, opts, args, false)
		},
	}
	opts.scopeFlags(cmd)
	return cmd
}

// hookHost is where the clients of the caller keep their settings.
func (g *globals) hookHost(scope wiring.Scope) (wiring.Host, error) {
	home := g.streams.Getenv("HOME")
	if home == "" && scope != wiring.Managed {
		return wiring.Host{}, errors.New("HOME is not set")
	}
	self, err := gateProgram(scope)
	if err != nil {
		return wiring.Host{}, err
	}
	h := wiring.Host{
		Home: home, Gate: self, State: filepath.Join(home, ".local/state/gatehouse/hooks"), UID: os.Getuid(),
		Env: g.streams.Getenv, Look: program, Plugins: defaultgate.Files(),
	}
	if cwd, err := os.Getwd(); err == nil {
		if dir, ok := projectAround(cwd); ok && dir != home {
			h.Project = dir
		}
	}
	if scope == wiring.Managed {
		h.State = hookRecords
	}
	return h, nil
}

// projectAround finds the project that a directory lies in.
func projectAround(dir string) (string, bool) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// gateProgram is the path by which hooks call this program: the one on PATH where that is the same, since it stays when
// the program behind it is replaced. An administrator's hook names the file itself.
func gateProgram(scope wiring.Scope) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if scope == wiring.Managed {
		return filepath.EvalSymlinks(self)
	}
	found, err := program("gate")
	if err != nil || !filepath.IsAbs(found) {
		return self, nil
	}
	a, errA := os.Stat(found)
	b, errB := os.Stat(self)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return found, nil
	}
	return self, nil
}

// hookClientsOf are the clients that a command line means.
func hookClientsOf(h wiring.Host, o hookOptions, args []string) ([]string, error) {
	if len(args) == 0 && !o.all {
		return nil, errors.New("name a client, or say --all")
	}
	if len(args) > 0 && o.all {
		return nil, errors.New("name clients or say --all, not both")
	}
	var names []string
	for _, arg := range args {
		name, err := wiring.Canonical(arg)
		if err != nil {
			if near := spelling.Nearest(arg, wiring.Names()); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
			return nil, err
		}
		names = append(names, name)
	}
	if !o.all {
		return names, nil
	}
	for _, name := range h.Present() {
		if slices.Contains(wiring.Scopes(name), o.scope()) {
			names = append(names, name)
		}
	}
	return names, nil
}

// A hookChange is one line of the result.
type hookChange struct {
	Client string       `json:"client"`
	Scope  wiring.Scope `json:"scope"`
	Path   string       `json:"path,omitempty"`
	Action string       `json:"action"` // created, changed, removed, unchanged, failed
	Error  string       `json:"error,omitempty"`
	Note   string       `json:"note,omitempty"`
	Off    bool         `json:"off,omitempty"` // it stands there, and the client does not call it yet
}

func runHookChange(ctx context.Context, g *globals, o hookOptions, args []string, install bool) error {
	if o.managed && os.Getuid() != 0 {
		return errors.New("--managed writes administrator files: run it as root")
	}
	h, err := g.hookHost(o.scope())
	if err != nil {
		return err
	}
	if o.gate != "" {
		if h.Gate, err = filepath.Abs(o.gate); err != nil {
			return err
		}
	}
	if strings.Contains(h.Gate, "/go-build") {
		return fmt.Errorf("%s is gone when this ends: build the gate first, or name one with --gate", h.Gate)
	}
	h.Flags = o.flags
	names, err := hookClientsOf(h, o, args)
	if err != nil {
		return err
	}
	var changes []hookChange
	code := cli.Yes
	for _, name := range names {
		done, err := changeHook(ctx, g, h, o, name, install)
		changes = append(changes, done...)
		if err != nil {
			code = cli.Unknown
			changes = append(changes, hookChange{Client: name, Scope: o.scope(), Action: "failed", Error: err.Error()})
		}
		if code == cli.Yes && slices.ContainsFunc(done, func(c hookChange) bool { return c.Off }) {
			code = cli.No
		}
	}
	if len(names) == 0 {
		code = cli.No
	}
	if o.json {
		err := cli.PrintJSON(g.streams.Out, struct {
			Schema  string       `json:"schema"`
			DryRun  bool         `json:"dry_run"`
			Changes []hookChange `json:"changes"`
		}{"gatehouse/hook-change/v1", o.dryRun, append([]hookChange{}, changes...)})
		return errors.Join(err, cli.Exit(code))
	}
	g.printHookChanges(changes, o, install)
	if len(names) == 0 {
		fmt.Fprintln(g.streams.Err, "no agent client was found here; name one of "+strings.Join(wiring.Names(), ", "))
	}
	return cli.Exit(code)
}

// changeHook installs or removes for one client.
func changeHook(ctx context.Context, g *globals, h wiring.Host, o hookOptions, name string, install bool) ([]hookChange, error) {
	plan, err := h.Remove(name, o.scope())
	if install {
		plan, err = h.Install(name, o.scope())
	}
	if err != nil {
		return nil, err
	}
	done := hookChanges(plan)
	if o.dryRun {
		if !o.json {
			for _, c := range plan.Changes {
				for line := range strings.Lines(c.Diff()) {
					fmt.Fprintln(g.streams.Out, cli.Line(strings.TrimSuffix(line, "\n")))
				}
			}
		}
		return done, nil
	}
	if err := plan.Apply(ctx); err != nil {
		return nil, err
	}
	if !install || name != "codex" || o.scope() != wiring.User || o.noTrust {
		return done, nil
	}
	trusted, err := trustCodex(ctx, h, o.codex)
	if err != nil {
		last := &done[len(done)-1]
		last.Note = "Codex skips the hook until a person agrees to it: start codex and look at /hooks (" + err.Error() + ")"
		last.Off = true
		return done, nil
	}
	return append(done, trusted...), nil
}

// trustCodex writes into Codex's settings that its user agrees to the hook.
func trustCodex(ctx context.Context, h wiring.Host, codex string) ([]hookChange, error) {
	if codex == "" {
		found, err := program("codex")
		if err != nil {
			return nil, errors.New("there is no codex on PATH to ask for its hash")
		}
		codex = found
	}
	hooks, err := h.CodexHooks(ctx, codex)
	if err != nil {
		return nil, err
	}
	plan, err := h.Trust(hooks)
	if err != nil || len(plan.Changes) == 0 {
		return nil, err
	}
	if err := plan.Apply(ctx); err != nil {
		return nil, err
	}
	return hookChanges(plan), nil
}

func hookChanges(plan wiring.Plan) (done []hookChange) {
	for _, c := range plan.Changes {
		action := "changed"
		switch {
		case c.Remove:
			action = "removed"
		case !c.Existed:
			action = "created"
		}
		done = append(done, hookChange{Client: plan.Client, Scope: plan.Scope, Path: c.Path, Action: action})
	}
	if len(done) == 0 {
		done = append(done, hookChange{Client: plan.Client, Scope: plan.Scope, Action: "unchanged"})
	}
	return done
}

func (g *globals) printHookChanges(changes []hookChange, o hookOptions, install bool) {
	width := 0
	for _, c := range changes {
		width = max(width, len(c.Client))
	}
	var installed []string
	out := g.streams.Out
	if o.dryRun {
		out = g.streams.Err // the diff is the result
	}
	for _, c := range changes {
		text := c.Action + " " + cli.Printable(c.Path)
		switch {
		case c.Action == "failed":
			fmt.Fprintf(g.streams.Err, "%-*s  failed: %s\n", width, c.Client, cli.Line(c.Error))
			continue
		case c.Action == "unchanged" && install:
			text = "asks the gate already"
		case c.Action == "unchanged":
			text = "has nothing of the gate's"
		case o.dryRun:
			text = "would be " + text
		}
		fmt.Fprintf(out, "%-*s  %s\n", width, c.Client, text)
		if c.Note != "" {
			fmt.Fprintf(out, "%-*s  → %s\n", width, "", cli.Line(c.Note))
		}
		if !slices.Contains(installed, c.Client) {
			installed = append(installed, c.Client)
		}
	}
	if install && !o.dryRun && len(installed) > 0 {
		if o.all {
			installed = []string{"--all"}
		}
		fmt.Fprintf(out, "\nSessions that run already may not know of it: start them anew. Prove it with: gate hook test %s\n", strings.Join(installed, " "))
	}
}
