package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newRenewCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "renew",
		Short: "Make new certificates for the nodes",
		Long: `Make new certificates, and keys, for all nodes. It needs authority/ca.key, and prints what to copy to which of three nodes.
A node takes its new certificate up within seconds, without a restart. "warden exchange status" says when it is time.`,
		Example: `  warden exchange renew`,
		Args:    cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			home, err := g.open()
			if err != nil {
				return err
			}
			if err := home.Renew(time.Now()); err != nil {
				return err
			}
			out, nodes := g.streams.Out, home.Plan().Nodes
			for _, n := range nodes {
				if !home.Secure(n.Name) {
					fmt.Fprintf(out, "node %s is reached from this machine only, without TLS, and has no certificate to renew\n", n.Name)
					continue
				}
				until, err := home.Until(n.Name)
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "node %s: its certificate is good until %s\n", n.Name, until.Format(time.DateOnly))
				if len(nodes) > 1 {
					fmt.Fprintf(out, "  rsync -a %s/nodes/%s/node.pem root@%s:%[1]s/nodes/%[2]s/\n", g.dir, n.Name, n.Host)
				}
			}
			return nil
		},
	}
}
