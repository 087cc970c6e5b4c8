// Command gate-mcp serves the frozen catalogue of tools to any client of the Model Context Protocol. It is what gate mcp
// becomes: a program of its own, since the gate that runs before every command of an agent must not carry an HTTP server.
//
// It adds nothing to what gate call does. tools/list is the catalogue in force, with its schemas as they are; tools/call
// hands name and arguments, as they came, to the same catalog.Runner, which holds them against the schema, asks the policy
// in force, counts the step of the job, writes the log and runs the tool. What goes wrong there is a result of the tool
// with its stable code, so that the agent reads it; only what is no MCP is an error of the protocol.
//
// It speaks over standard input and output (stdio.go), where one process is one session, or over HTTP on a loopback address
// (http.go), where a bearer token says who may call. A session is one job (job.go): calls of one job run one after another.
// A call that its client cancels, or whose client is gone, ends with everything that its tool has started.
//
// The policy and the catalogue are read anew for each request, so that what a person changes counts from the next call on.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/gate/catalog"
	"gatehouse/gate/catalog/caller"
	"gatehouse/internal/cli"
)

func main() {
	// A client that no longer reads is an error of writing, which ends the session and its tools in order.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}

// stageFlag is how this program starts the stages of a call.
const stageFlag = "--stage"

func reexec() []string { return []string{"/proc/self/exe", stageFlag} }

// Main runs the command line args and returns its exit code: 0 the client or a signal ended it, 2 it could not serve.
func Main(ctx context.Context, args []string, streams cli.Streams) int {
	if len(args) == 2 && args[0] == stageFlag {
		catalog.Stage(args[1], reexec())
	}
	return cli.Run(ctx, newRoot(streams, config.DefaultIndex), args, streams)
}

// opener finds who takes calls, anew for each request.
func opener(streams cli.Streams, index, cwd string) func() (catalog.Runner, error) {
	return func() (catalog.Runner, error) {
		return caller.Open(caller.Options{
			Index: index, UID: uint32(os.Getuid()), Home: streams.Getenv("HOME"), Cwd: cwd, Client: caller.MCP, Reexec: reexec(),
			Getenv: func(name string) (string, bool) {
				value := streams.Getenv(name)
				return value, value != ""
			},
		})
	}
}

type options struct {
	listen    string
	tokenFile string
	job       string
	cwd       string
}

func newRoot(streams cli.Streams, index string) *cobra.Command {
	var opts options
	cmd := &cobra.Command{
		Use:         "gate-mcp",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "gate mcp"}, // as a person types it
		Short:       "Serve the frozen catalogue of tools to clients of the Model Context Protocol",
		Long: `gate mcp serves the tools of the catalogue in force (gate catalog list) to an MCP client: over standard input and output,
where the client starts it, or with --listen over streamable HTTP on a loopback address. Calls are judged, counted, logged
and run as those of gate call are.

A session is one job: with --job, or $GATEHOUSE_JOB, the one named there; over HTTP the one that the header Gatehouse-Job
names; else one of its own. The first failure ends a job, and every later call of it is refused.

With --listen a client has to send a token: Authorization: Bearer TOKEN. It is read from --token-file, which nobody else
may read, or made and printed once. docs/mcp.md says how to register the server with each client.

Exit codes: 0 the client, or a signal, ended it; 2 it could not serve.`,
		Example: `  gate mcp
  gate mcp --job review-17 --cwd ~/project
  gate mcp --listen 127.0.0.1:8765 --token-file ~/.config/gate-mcp.token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), streams, index, opts) },
	}
	set := cmd.Flags()
	set.StringVar(&opts.listen, "listen", "", "serve HTTP on this loopback `ADDRESS:PORT`, port 0 for any that is free")
	set.StringVar(&opts.tokenFile, "token-file", "", "with --listen: read the token from this `file`, of mode 0600")
	set.StringVar(&opts.job, "job", "", "every call belongs to the job of this `name` ($GATEHOUSE_JOB)")
	set.StringVar(&opts.cwd, "cwd", "", "take calls as if from this `directory`, whose project the tools work in")
	return cmd
}

func run(ctx context.Context, streams cli.Streams, index string, opts options) error {
	if opts.job == "" {
		opts.job = streams.Getenv("GATEHOUSE_JOB")
	}
	cwd, err := filepath.Abs(opts.cwd)
	if err != nil {
		return err
	}
	if info, err := os.Stat(cwd); err != nil {
		return fmt.Errorf("--cwd: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("--cwd %s is no directory", cwd)
	}
	s := newServer(opener(streams, index, cwd), opts.job, streams.Err)
	s.announce(ctx)
	switch {
	case opts.listen != "":
		return serveHTTP(ctx, s, opts.listen, opts.tokenFile, streams)
	case opts.tokenFile != "":
		return errors.New("--token-file is for --listen: over standard input and output the client is who started this program")
	default:
		if streams.Interactive() {
			s.say("an MCP client starts this and speaks to it; docs/mcp.md says how to register it. End it with ctrl-d")
		}
		return serveStdio(ctx, s, streams)
	}
}
