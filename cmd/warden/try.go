package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
	defaultgate "gatehouse/vendor-gate/default"
)

type tryOptions struct{ keep bool }

func newTryCommand(g *globals) *cobra.Command {
	var opts tryOptions
	cmd := &cobra.Command{
		Use:   "try",
		Short: "Tell the whole story in a temporary directory",
		Long: `Run the whole loop with the default gate, a real git repository and the commands that a real host uses, in a
temporary directory that is removed afterwards. No root is needed and nothing outside that directory is touched.`,
		Example: `  warden try
  warden try --keep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTry(cmd.Context(), g, opts) },
	}
	cmd.Flags().BoolVar(&opts.keep, "keep", false, "keep the temporary directory, to look around in it")
	return cmd
}

// A trial is a host in a temporary directory.
type trial struct {
	ctx     context.Context
	streams cli.Streams
	dir     string
	colour  bool
	step    int
}

func runTry(ctx context.Context, g *globals, opts tryOptions) (err error) {
	dir, err := os.MkdirTemp("", "gatehouse-try-")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	t := &trial{ctx: ctx, streams: g.streams, dir: dir, colour: g.streams.Colour()}
	defer func() {
		if opts.keep {
			t.printf("\nKept: %s\n  try  warden --config %s/warden.yaml status\n", dir, dir)
			return
		}
		if cleanup := os.RemoveAll(dir); cleanup != nil && err == nil {
			err = cleanup
		}
	}()
	t.printf("The whole loop, in %s. Nothing outside it is touched.\n", dir)
	if err := t.setUp(); err != nil {
		return fmt.Errorf("set up %s: %w", dir, err)
	}
	if err := t.tell(); err != nil {
		return fmt.Errorf("try: %w", err)
	}
	t.epilogue()
	return nil
}

// setUp lays out what a host has: the agent's live files, its export, a repository, and root's configuration.
func (t *trial) setUp() error {
	if err := os.CopyFS(t.path("live"), defaultgate.Files()); err != nil {
		return err
	}
	err := filepath.WalkDir(t.path("live"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o644) // embedded files are read-only
	})
	if err != nil {
		return err
	}
	if err := os.Mkdir(t.path("export"), 0o755); err != nil {
		return err
	}
	if err := vendorgate.Init(t.path("repository")); err != nil {
		return err
	}
	config, err := os.OpenFile(t.path("repository/.git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = config.WriteString("[user]\n\tname = Operator\n\temail = operator@example.org\n")
	if err := errors.Join(err, config.Close()); err != nil {
		return err
	}
	return os.WriteFile(t.path("warden.yaml"), fmt.Appendf(nil, `version: 1
host: try
repository: %[1]s/repository
index: %[1]s/gates.json
state: %[1]s/state
gates:
  - name: demo
    user: "%[2]d"
    export: %[1]s/export
    live:
      - {name: policy, root: %[1]s/live/policy}
notify: {journal: false}
`, t.dir, os.Getuid()), 0o600)
}

// tell is the story. Each step shows the command that a person would type and its real output, and fails if the exit
// code is not the one that the documentation promises.
func (t *trial) tell() error {
	t.say("The agent's side hashes its live gate files and publishes them.")
	if err := t.publish(); err != nil {
		return err
	}
	t.say("Root compares. Nobody has reviewed these files yet, so that is the first drift.")
	if err := t.warden(cli.No, "reconcile"); err != nil {
		return err
	}
	t.say("A person accepts it. Only the vendored directory is committed.")
	if err := t.accept("first review of the default gate"); err != nil {
		return err
	}
	t.say("The next pass has nothing to say but this.")
	if err := t.warden(cli.Yes, "reconcile"); err != nil {
		return err
	}
	t.say("Now the agent widens its own policy, and its hourly export shows it.")
	if err := t.widen(); err != nil {
		return err
	}
	if err := t.publish(); err != nil {
		return err
	}
	t.say("The drift is noticed, staged, and announced once.")
	if err := t.warden(cli.No, "reconcile"); err != nil {
		return err
	}
	t.say("The next pass still finds it, with exit code 1, and tells nobody again.")
	if err := t.warden(cli.No, "reconcile"); err != nil {
		return err
	}
	t.say("What changed, from the bytes that were staged and verified:")
	if err := t.warden(cli.No, "diff"); err != nil {
		return err
	}
	t.say("The person agrees.")
	if err := t.accept("npm test may run"); err != nil {
		return err
	}
	t.say("What git has:")
	if err := t.gitLog(); err != nil {
		return err
	}
	t.say("Last, a forgery: the export's object is not what its manifest says. Nothing of it is staged.")
	if err := t.forge(); err != nil {
		return err
	}
	return t.warden(cli.No, "reconcile")
}

func (t *trial) epilogue() {
	t.printf(`
That was the loop: an export that is only believed where it hashes right, one message, one command, one commit.

For real, on a host with an agent, as docs/install.md says in full, from building the programs on:
  1. sudo warden install --gate NAME --user AGENT --dry-run    shows what would be put in place; without --dry-run, does it
  2. sudo warden doctor                                        says what is missing, in the order in which to mend it
  3. sudo warden reconcile; sudo warden accept                 the first review
`)
}

func (t *trial) say(text string) {
	t.step++
	head := fmt.Sprintf("%d. %s", t.step, text)
	if t.colour {
		head = "\x1b[1m" + head + "\x1b[0m"
	}
	t.printf("\n%s\n", head)
}

// warden runs a command of this program on the trial's configuration and shows it.
func (t *trial) warden(want int, args ...string) error {
	var out, notices bytes.Buffer // without Slack, webhook and journal, notices go to the error output
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &notices, Getenv: t.streams.Getenv}
	code := Main(t.ctx, append([]string{"--config", t.path("warden.yaml")}, args...), streams)
	shown := make([]string, len(args))
	for i, arg := range args {
		shown[i] = arg
		if strings.Contains(arg, " ") {
			shown[i] = fmt.Sprintf("%q", arg)
		}
	}
	t.show("warden "+strings.Join(shown, " "), out.String())
	if notices.Len() > 0 {
		t.printf("\n   and one message to the operator:\n")
		t.indent("   │ ", notices.String())
	}
	if code != want {
		return fmt.Errorf("warden %s: exit code %d, not %d", strings.Join(args, " "), code, want)
	}
	return nil
}

// show prints a command and its output, with the trial's own paths left out.
func (t *trial) show(command, output string) {
	t.printf("   $ %s\n", command)
	t.indent("   ", output)
}

func (t *trial) indent(margin, output string) {
	output = strings.ReplaceAll(output, "warden --config "+t.path("warden.yaml"), "warden")
	for line := range strings.Lines(strings.ReplaceAll(output, t.dir+"/", "")) {
		t.printf("%s%s\n", margin, strings.TrimSuffix(line, "\n"))
	}
}

func (t *trial) publish() error {
	publisher := manifest.Publisher{Gate: "demo", Host: "try", Export: t.path("export"), Disk: durable.Disk{},
		Source: manifest.Source{Owner: uint32(os.Getuid()), Live: []manifest.Live{{Name: "policy", Root: t.path("live/policy")}},
			Limits: manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20}}}
	m, err := publisher.Publish(t.ctx, time.Now())
	if err != nil {
		return err
	}
	t.show("gate publish", fmt.Sprintf("demo  published %d entries, tree %.12s\n", len(m.Entries), m.Tree))
	return nil
}

// accept accepts the open drift by its id, as its notice says.
func (t *trial) accept(why string) error {
	s, err := (&globals{streams: t.streams, config: t.path("warden.yaml")}).open()
	if err != nil {
		return err
	}
	drift, err := s.warden.Find(s.gates, "")
	if err != nil {
		return err
	}
	return t.warden(cli.Yes, "accept", "d-"+drift.Report.Fingerprint[:12], "--yes", "--why", why)
}

// widen edits the live policy as an agent might.
func (t *trial) widen() error {
	path := t.path("live/policy/gate.yaml")
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	edited := bytes.Replace(policy, []byte("allow:\n"), []byte("allow:\n  - npm test\n"), 1)
	if bytes.Equal(edited, policy) {
		return fmt.Errorf("the default gate.yaml has no allow list to widen")
	}
	t.show("sed -i 's/^allow:/&\\n  - npm test/' ~/.config/gatehouse/gate.yaml", "")
	return os.WriteFile(path, edited, 0o644)
}

// gitLog shows the commits, with git itself where it is installed.
func (t *trial) gitLog() error {
	if git, err := exec.LookPath("git"); err == nil {
		cmd := exec.CommandContext(t.ctx, git, "-C", t.path("repository"), "log", "--stat", "-1")
		cmd.Env = []string{"PATH=" + t.streams.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("git log: %w", err)
		}
		t.show("git log --stat -1", string(out))
		return nil
	}
	repository, err := vendorgate.Open(t.path("repository"), "vendor-gate")
	if err != nil {
		return err
	}
	log, err := repository.Log("demo", 10)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, entry := range log {
		fmt.Fprintf(&out, "%.8s %s\n", entry.Commit, entry.Subject)
	}
	t.show("git log --oneline", out.String())
	return nil
}

// forge makes a drift whose object holds other bytes than the manifest claims.
func (t *trial) forge() error {
	path := t.path("live/policy/gate.yaml")
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(policy, "# harmless\n"...), 0o644); err != nil {
		return err
	}
	if err := t.publish(); err != nil {
		return err
	}
	export, err := manifest.OpenExport(t.path("export"), uint32(os.Getuid()), manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20})
	if err != nil {
		return err
	}
	defer export.Close()
	m, err := export.Manifest(t.ctx)
	if err != nil {
		return err
	}
	for _, e := range m.Entries {
		if e.Path != "policy/gate.yaml" {
			continue
		}
		object := t.path("export/objects/" + e.SHA256[:2] + "/" + e.SHA256[2:])
		forged := bytes.Repeat([]byte("x"), int(e.Size))
		t.show("echo xxxx… > "+strings.TrimPrefix(object, t.dir+"/"), "")
		if err := os.Remove(object); err != nil {
			return err
		}
		return os.WriteFile(object, forged, 0o644)
	}
	return fmt.Errorf("the export does not list policy/gate.yaml")
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

func (t *trial) printf(format string, args ...any) {
	_, _ = io.WriteString(t.streams.Out, fmt.Sprintf(format, args...))
}
