package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/exchange/server"
	"gatehouse/internal/durable"
)

type initOptions struct {
	nodes  []string
	listen string
	port   int
	route  int
	size   int64
}

func newInitCommand(g *globals) *cobra.Command {
	var opts initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make an exchange: its directory, certificates and keys",
		Long: `Make an exchange in --dir. Without --node it is one node for the wardens of this machine alone: it listens on
127.0.0.1, without TLS. With one --node NAME=HOST it is a node that other machines reach, with TLS; with three, a cluster
that goes on when one of them fails. HOST is the name or address under which hosts and the other nodes reach it.

The certificate authority is made here, for this exchange only, and is good for ten years; nodes' certificates are good for
398 days (renew). Its key, authority/ca.key, is needed for renew alone: keep it off the nodes.`,
		Example: `  warden exchange init
  warden exchange init --node ex1=exchange.example
  warden exchange init --node ex1=10.0.0.1 --node ex2=10.0.0.2 --node ex3=10.0.0.3`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error { return runInit(g, opts, time.Now()) },
	}
	set := cmd.Flags()
	set.StringArrayVar(&opts.nodes, "node", nil, "a node, as `NAME=HOST`; give one or three")
	set.StringVar(&opts.listen, "listen", "", "the `ADDRESS` the nodes listen on (default: all of the machine's with --node, else 127.0.0.1)")
	set.IntVar(&opts.port, "port", 4222, "the `PORT` for hosts")
	set.IntVar(&opts.route, "route-port", 6222, "the `PORT` for the other nodes of a cluster")
	set.Int64Var(&opts.size, "size", server.DefaultSize>>20, "how many `MiB` a node may store")
	return cmd
}

func runInit(g *globals, opts initOptions, now time.Time) error {
	plan, err := opts.plan()
	if err != nil {
		return err
	}
	home, err := server.Init(durable.Disk{}, g.dir, plan, now)
	if err != nil {
		return err
	}
	out := g.streams.Out
	fmt.Fprintf(out, "made the exchange in %s\n", g.dir)
	if len(plan.Nodes) == 1 {
		fmt.Fprintf(out, "  next: warden exchange serve --dir %s\n        warden exchange add HOST --dir %s\n", g.dir, g.dir)
	} else {
		explainCopies(out, g.dir, plan)
	}
	if strings.HasPrefix(home.Servers()[0], "tls:") {
		fmt.Fprintf(out, "  keep %s/authority/ca.key somewhere else: only renew needs it, and who has it can pose as a node\n", g.dir)
	}
	return nil
}

// explainCopies says what goes to which machine of a cluster.
func explainCopies(out io.Writer, dir string, plan server.Plan) {
	fmt.Fprintln(out, "  copy to each node what it needs, and nothing of the others:")
	for _, n := range plan.Nodes {
		fmt.Fprintf(out, "    %s: rsync -aR %s/./{exchange.json,ca.pem,hosts,nodes/%s} root@%s:%s/\n", n.Name, dir, n.Name, n.Host, dir)
	}
	fmt.Fprintf(out, "  then on each: warden exchange serve --dir %s (with --node NAME on this machine, if it is one of them)\n  and here, for each host: warden exchange add HOST --dir %s\n", dir, dir)
}

func (o initOptions) plan() (server.Plan, error) {
	plan := server.Plan{Size: o.size << 20}
	if o.size < 64 {
		return plan, fmt.Errorf("--size %d: 64 MiB is the least", o.size)
	}
	listen := o.listen
	if len(o.nodes) == 0 {
		if listen == "" {
			listen = "127.0.0.1"
		}
		if ip := net.ParseIP(listen); ip == nil || !ip.IsLoopback() {
			return plan, errors.New("--listen: what other machines reach needs a name; give --node NAME=HOST")
		}
		plan.Nodes = []server.NodePlan{{Name: "local", Host: listen, Port: o.port, Listen: listen}}
		return plan, nil
	}
	if listen == "" {
		listen = "0.0.0.0"
	}
	for _, node := range o.nodes {
		name, host, ok := strings.Cut(node, "=")
		if !ok {
			return plan, fmt.Errorf("--node %q is not NAME=HOST", node)
		}
		n := server.NodePlan{Name: name, Host: host, Port: o.port, Listen: listen}
		if len(o.nodes) > 1 {
			n.Route = o.route
		}
		plan.Nodes = append(plan.Nodes, n)
	}
	return plan, nil
}
