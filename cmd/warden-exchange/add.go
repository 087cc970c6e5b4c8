package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/exchange"
	"gatehouse/exchange/server"
	"gatehouse/internal/durable"
)

type addOptions struct {
	key      string
	seedFile string
}

func newAddCommand(g *globals) *cobra.Command {
	var opts addOptions
	cmd := &cobra.Command{
		Use:   "add HOST",
		Short: "Let a host in, and print what to put into its warden.yaml",
		Long: `Make a key for HOST and let it in. HOST is the "host:" of its warden.yaml. The seed is printed once and kept nowhere here;
--seed-file writes it into a file instead. Where a key was made on the host itself, --key takes its public part.

A host that is there already gets the new key, and its old one counts no more: so keys are rotated.`,
		Example: `  warden exchange add agent-1
  warden exchange add agent-1 --seed-file /root/agent-1.seed`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runAdd(g, args[0], opts, time.Now()) },
	}
	set := cmd.Flags()
	set.StringVar(&opts.key, "key", "", "the host's public `nkey`, which begins with U, made elsewhere")
	set.StringVar(&opts.seedFile, "seed-file", "", "write the seed into this new `file` instead of printing it")
	return cmd
}

func runAdd(g *globals, name string, opts addOptions, now time.Time) error {
	if opts.key != "" && opts.seedFile != "" {
		return errors.New("--seed-file is for a seed that is made here, and --key is of one that was made elsewhere")
	}
	if err := exchange.CheckHost(name); err != nil {
		return err
	}
	home, err := g.open()
	if err != nil {
		return err
	}
	host := server.Host{Name: name, Key: opts.key}
	var seed []byte
	if opts.key == "" {
		if seed, host.Key, err = server.NewKey(); err != nil {
			return err
		}
	}
	if opts.seedFile != "" {
		if _, err := os.Lstat(opts.seedFile); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--seed-file %s is there already", opts.seedFile)
		}
		if err := (durable.Disk{}).WriteFile(opts.seedFile, append(seed, '\n'), 0o600); err != nil {
			return err
		}
	}
	if err := home.Add(host, now); err != nil {
		return err
	}
	_, ca, err := home.CA()
	if err != nil {
		return err
	}
	out := g.streams.Out
	fmt.Fprintf(out, "let in %s with the key %s\n", name, host.Key)
	explainHost(out, home, ca)
	switch {
	case opts.seedFile != "":
		fmt.Fprintf(out, "its seed is in %s; move it to the host as /etc/gatehouse/credentials/nats-seed, mode 0600, owned by root\n", opts.seedFile)
	case seed != nil:
		fmt.Fprintf(out, "its seed, for /etc/gatehouse/credentials/nats-seed there, mode 0600, owned by root; it is shown this once:\n%s\n", seed)
	}
	explainNodes(out, g.dir, home.Plan())
	return nil
}

// explainHost prints the host's configuration.
func explainHost(out io.Writer, home *server.Home, ca string) {
	servers := home.Servers()
	fmt.Fprintf(out, "in its /etc/gatehouse/warden.yaml, in peers:\n  exchange:\n    nats:\n      servers: [%s]\n", strings.Join(servers, ", "))
	secure := strings.HasPrefix(servers[0], "tls:")
	if secure {
		fmt.Fprintln(out, "      ca: /etc/gatehouse/exchange-ca.pem")
	}
	fmt.Fprintln(out, "      seed: credential:nats-seed")
	if secure {
		fmt.Fprintf(out, "copy %s there as /etc/gatehouse/exchange-ca.pem\n", ca)
	}
}

// explainNodes says how the change reaches the nodes.
func explainNodes(out io.Writer, dir string, plan server.Plan) {
	if len(plan.Nodes) == 1 {
		fmt.Fprintln(out, "the node notices within seconds")
		return
	}
	fmt.Fprintln(out, "bring it to the nodes, which notice within seconds:")
	for _, n := range plan.Nodes {
		fmt.Fprintf(out, "  rsync -a --delete %s/hosts/ root@%s:%s/hosts/\n", dir, n.Host, dir)
	}
}
