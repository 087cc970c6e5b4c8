package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gatehouse/gate"
	"gatehouse/gate/harness"
	"gatehouse/gate/secret"
	"gatehouse/internal/cli"
)

func newHookCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook CLIENT [--approve] [--rewrite] [--unattended]",
		Short: "Answer the hook of an agent client; make clients ask",
		Long: `hook is what an agent client runs before each call of a tool, after it, and where sessions and turns begin and end. It reads
the client's JSON from standard input and answers in the client's own form: nothing and exit 0 where there is no
objection, else the client's refusal or question. It ends within two seconds, and whatever goes wrong is a refusal.

CLIENT is one of ` + hookClients() + `.

  --approve      say allow where there is no objection: the client does not ask its user then, and some clients let it
                 overrule the user's own rules
  --rewrite      where the policy names a line to run instead of the refused one, and nothing else stands against it,
                 have the client run that (claude-code, codex, gemini, copilot with preToolUse, opencode, openclaw)
  --unattended   nobody is there to ask: what needs a person is refused

The exit status is the one that the client understands, and none of those that gate help exit-codes lists.`,
		Example: `  echo '{"hook_event_name":"PreToolUse","cwd":"/tmp","tool_name":"Bash","tool_input":{"command":"ls"}}' | gate hook claude-code`,
		Args:    cobra.ArbitraryArgs,
		// A flag that is not known must come out as the client's refusal, not as a usage error that it takes for a yes.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, ok := g.streams.In.(*os.File)
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") || len(args) == 0 && ok && terminal(f) {
				return cmd.Help()
			}
			return cli.Exit(runHook(cmd.Context(), g, args))
		},
	}
	cmd.AddCommand(newHookInstallCommand(g), newHookRemoveCommand(g), newHookStatusCommand(g), newHookTestCommand(g))
	return cmd
}

func hookClients() string {
	var names []string
	for _, c := range harness.Clients() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// runHook answers one hook. It never returns without an answer.
func runHook(ctx context.Context, g *globals, args []string) int {
	// A client that has closed our output is answered by the exit status, not by dying of a signal.
	signal.Ignore(syscall.SIGPIPE)
	o := harness.Options{
		Open:     func(context.Context) (harness.Gate, error) { return g.enforcing() },
		Cwd:      os.Getwd,
		Env:      os.LookupEnv,
		Attended: attended,
		Secrets:  secretKinds,
		Unheard:  nowhere(g.streams.Out),
	}
	client, problem := hookArgs(args, &o)
	if problem != "" {
		return harness.Refuse(client, problem, g.streams.Out, g.streams.Err)
	}
	return harness.Run(ctx, client, g.streams.In, g.streams.Out, g.streams.Err, o)
}

// hookArgs reads the command line of a hook. The client is found even where the rest is wrong.
func hookArgs(args []string, o *harness.Options) (client, problem string) {
	for _, arg := range args {
		switch {
		case arg == "--approve":
			o.Approve = true
		case arg == "--rewrite":
			o.Rewrite = true
		case arg == "--unattended":
			o.Unattended = true
		case strings.HasPrefix(arg, "-"):
			problem = fmt.Sprintf("gate hook has no flag %s; it was installed with a wrong command line", cli.Line(arg))
		case client == "":
			client = arg
		default:
			problem = fmt.Sprintf("gate hook takes one client, and %s is a second; it was installed with a wrong command line", cli.Line(arg))
		}
	}
	return client, problem
}

// enforcing opens the gate for whoever enforces: by what is in force, and by nothing that the agent's user says.
func (g *globals) enforcing() (*gate.Gate, error) {
	o := gate.Options{Index: g.index, UID: uint32(os.Getuid()), Strict: true, Getenv: g.lookupEnv}
	if home := g.streams.Getenv("HOME"); filepath.IsAbs(home) {
		o.Home = home // which counts where root's index does not list the user
	}
	return gate.Open(o)
}

// secretKinds names the credentials in a text, without showing them.
func secretKinds(text string) []string {
	var kinds []string
	for _, found := range secret.Find(text) {
		kinds = append(kinds, found.Kind)
	}
	return kinds
}

// nowhere reports whether what is written to out is thrown away: nobody would see a refusal there.
func nowhere(out any) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	const null = 1<<8 | 3
	return ok && info.Mode()&os.ModeCharDevice != 0 && stat.Rdev == null
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// attended reports whether a person sits at the terminal of the client that runs this hook: the nearest process above
// that is no shell reads from a terminal and writes to one, and was not started to answer one prompt and end.
func attended() bool {
	pid := os.Getppid()
	for range 4 {
		if pid <= 1 {
			return false
		}
		words, ok := procWords(pid)
		if !ok {
			return false
		}
		switch filepath.Base(words[0]) {
		case "sh", "bash", "dash", "zsh", "timeout": // timeout: how gate hook install has it called
			if pid = procParent(pid); pid == 0 {
				return false
			}
			continue
		}
		for _, w := range words[1:] {
			if w == "-p" || w == "--prompt" || strings.HasPrefix(w, "--prompt=") {
				return false
			}
		}
		return procTerminal(pid, 0) && procTerminal(pid, 1)
	}
	return false
}

func procWords(pid int) ([]string, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	return words, err == nil && len(words) > 0 && words[0] != ""
}

func procParent(pid int) int {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; what follows it is plain: state, parent, …
	_, rest, _ := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	if fields := strings.Fields(rest); len(fields) > 1 {
		parent, _ := strconv.Atoi(fields[1])
		return parent
	}
	return 0
}

func procTerminal(pid, fd int) bool {
	target, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", strconv.Itoa(fd)))
	return err == nil && (strings.HasPrefix(target, "/dev/pts/") || strings.HasPrefix(target, "/dev/tty"))
}
