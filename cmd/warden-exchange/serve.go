package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"gatehouse/exchange/server"
	"gatehouse/internal/cli"
)

type serveOptions struct {
	node  string
	check time.Duration
}

func newServeCommand(g *globals) *cobra.Command {
	opts := serveOptions{check: 5 * time.Second}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run this machine's node until a signal ends it",
		Long: `Run the node whose directory is here. Hosts that are added or removed, and renewed certificates, are noticed within
seconds, and at once on SIGHUP. A change that cannot be read is reported, and what was in force stays.`,
		Example: `  warden exchange serve
  warden exchange serve --node ex1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), g, opts) },
	}
	cmd.Flags().StringVar(&opts.node, "node", "", "the `NAME` of the node, where several are here")
	return cmd
}

func runServe(ctx context.Context, g *globals, opts serveOptions) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	home, err := g.open()
	if err != nil {
		return err
	}
	name, err := home.Local(opts.node)
	if err != nil {
		return err
	}
	node, err := home.Node(name)
	if err != nil {
		return err
	}
	state, err := home.State(name)
	if err != nil {
		return err
	}
	hosts, err := home.Hosts()
	if err != nil {
		return err
	}
	var writing sync.Mutex
	say := func(line string) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Fprintln(g.streams.Err, cli.Line(line))
	}
	s, err := server.Start(ctx, node, hosts, say)
	if err != nil {
		return err
	}
	defer s.Stop()
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // in a cluster, the streams take a second node
	say(fmt.Sprintf("node %s listens on %s; hosts: %d", name, s.Addr(), len(hosts)))
	made := make(chan error, 1)
	making, stop := context.WithCancel(ctx)
	go func() { made <- s.MakeStreams(making) }()
	defer func() {
		stop()
		<-made
	}()
	return tend(ctx, opts.check, home, name, state, s, say, hangup, made)
}

// tend reloads the node when its directory changes.
func tend(ctx context.Context, check time.Duration, home *server.Home, name, state string, s *server.Server, say func(string),
	hangup <-chan os.Signal, made chan error,
) error {
	tick := time.NewTicker(check)
	defer tick.Stop()
	for {
		forced := false
		select {
		case <-ctx.Done():
			_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
			return nil
		case err := <-made:
			close(made)
			if err != nil {
				return err
			}
			say("the streams are there")
			made = nil
			continue
		case <-hangup:
			forced = true
		case <-tick.C:
		}
		now, err := home.State(name)
		if err != nil {
			say("error: " + err.Error())
			continue
		}
		if now == state && !forced {
			continue
		}
		state = now
		hosts, err := home.Hosts()
		if err == nil {
			err = s.Reload(hosts)
		}
		if err != nil {
			say("error: what was in force stays: " + err.Error())
			continue
		}
		say(fmt.Sprintf("reloaded; hosts: %d", len(hosts)))
	}
}
