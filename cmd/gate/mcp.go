package main

import (
	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
)

// mcpProgram is the program that gate mcp becomes. It carries an HTTP server, which this one must not.
const mcpProgram = "gate-mcp"

func newMCPCommand(*globals) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [--listen ADDRESS:PORT] [--token-file FILE] [--job NAME] [--cwd DIRECTORY]",
		Short: "Serve the frozen catalogue of tools over MCP",
		Long: `gate mcp serves the tools of the catalogue in force (gate catalog list) to an MCP client: over standard input and output,
where the client starts it, or with --listen over HTTP on a loopback address. Calls are judged, counted, logged and run as
those of gate call are, and a session is one job.

It becomes the program ` + mcpProgram + `, which lies beside this one or in ../libexec/gatehouse from there; ` + mcpProgram + ` --help
explains the flags. docs/mcp.md says how to register the server with each client.`,
		Example: `  gate mcp
  gate mcp --listen 127.0.0.1:8765 --token-file ~/.config/gate-mcp.token`,
		DisableFlagParsing: true, // the other program knows its flags
		RunE:               func(cmd *cobra.Command, args []string) error { return cli.Become(cmd, mcpProgram, args) },
	}
}
