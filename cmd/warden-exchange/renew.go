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
		Long: `Make new certificates, and keys, for all nodes. It needs authority/ca.key. A node takes its new certificate up within
seconds, without a restart; copy nodes/NAME/node.pem to the others. status says when it is time.`,
		Example: `  warden-exchange renew`,
		Args:    cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			home, err := g.open()
			if err != nil {
				return err
			}
			if err := home.Renew(time.Now()); err != nil {
				return err
			}
			for _, n := range home.Plan().Nodes {
				until, err := home.Until(n.Name)
				if err != nil {
					return err
				}
				fmt.Fprintf(g.streams.Out, "node %s: its certificate is good until %s; copy %s/nodes/%s/node.pem to %s\n",
					n.Name, until.Format(time.DateOnly), g.dir, n.Name, n.Host)
			}
			return nil
		},
	}
}
