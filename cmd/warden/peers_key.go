package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/internal/spelling"
	"gatehouse/peer"
)

func newPeersKeyCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Show the public key of this host; make the key if there is none",
		Long: `Print the line that other hosts need in peers.hosts to watch this one. The private key is made the first time, and kept
where "peers: key" says; one that is there is never replaced, since all others know the host by it.`,
		Example: `  warden peers key`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runPeersKey(g) },
	}
}

func runPeersKey(g *globals) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	key, made, err := s.makeHostKey()
	if err != nil {
		return err
	}
	if made {
		fmt.Fprintf(g.streams.Err, "warden: made the key of this host: %s\n", cli.Printable(s.hostKeyFile()))
	}
	public := peer.FormatKey(publicKey(key))
	fmt.Fprintf(g.streams.Out, "- {name: %s, key: \"%s\"}\n", s.config.Host, public)
	return s.checkListed(public)
}

// checkListed reports that the list of hosts has another key for this one.
func (s *site) checkListed(public string) error {
	if listed, known := s.keys[s.config.Host]; known && listed != public {
		return fmt.Errorf("peers.hosts has another key for %s: every host that has it there does not believe this one", s.config.Host)
	}
	return nil
}

func newPeersForgetCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "forget HOST",
		Short: "Believe the next heartbeat of a host, whatever its number is",
		Long: `Forget what this host remembers of another: which heartbeat was its last, and that it is silent. It is for a host whose
state was lost or put back, and whose heartbeats are therefore taken for old ones. Find out why first: two machines with
one name and key look the same.`,
		Example: `  warden peers forget agent-2`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runPeersForget(cmd.Context(), g, args[0]) },
	}
}

func runPeersForget(ctx context.Context, g *globals, host string) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	if s.config.Peers == nil {
		return errAlone
	}
	unlock, err := s.lockPeers(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	memory, err := peer.LoadMemory(s.peersDir())
	if err != nil {
		return err
	}
	if !memory.Forget(host) {
		var names []string
		for name := range memory.Hosts {
			names = append(names, name)
		}
		hint := ""
		if nearest := spelling.Nearest(host, names); nearest != "" {
			hint = "; did you mean " + nearest + "?"
		}
		return fmt.Errorf("nothing is remembered of a host %q%s", host, hint)
	}
	if err := memory.Save(s.warden.Disk, s.peersDir()); err != nil {
		return err
	}
	fmt.Fprintf(g.streams.Out, "%s is forgotten; what comes from it next is believed\n", cli.Printable(host))
	return nil
}
