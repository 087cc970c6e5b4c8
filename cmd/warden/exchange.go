package main

import (
	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
)

// exchangeProgram is the program that warden exchange becomes. It embeds a server, which this one must not.
const exchangeProgram = "warden-exchange"

func newExchangeCommand(*globals) *cobra.Command {
	return &cobra.Command{
		Use:   "exchange [init|serve|add HOST|remove HOST|renew|status]",
		Short: "Run the exchange over which the wardens of a fleet meet",
		Long: `warden exchange runs a node of the exchange that the wardens of a fleet share, on one machine or on three, and says which
hosts may use it.

It becomes the program ` + exchangeProgram + `, which lies beside this one or in ../libexec/gatehouse from there; ` + exchangeProgram + ` --help
explains its commands, and docs/exchange.md goes through it step by step.`,
		Example: `  warden exchange init
  warden exchange add agent-1`,
		DisableFlagParsing: true, // the other program knows its commands and flags
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"--help"}
			}
			return cli.Become(cmd, exchangeProgram, args)
		},
	}
}
