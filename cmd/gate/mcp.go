package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			program, err := findMCP(self)
			if err != nil {
				if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
					return cmd.Help()
				}
				return err
			}
			if err := syscall.Exec(program, append([]string{mcpProgram}, args...), os.Environ()); err != nil {
				return fmt.Errorf("start %s: %w", program, err)
			}
			return nil
		},
	}
}

// findMCP finds the other program near this one, self. PATH is not looked at: it is the agent's to set.
func findMCP(self string) (string, error) {
	dir := filepath.Dir(self)
	places := []string{filepath.Join(dir, mcpProgram), filepath.Join(filepath.Dir(dir), "libexec/gatehouse", mcpProgram)}
	for _, place := range places {
		info, err := os.Stat(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
			return "", fmt.Errorf("%s is no program", place)
		}
		return place, nil
	}
	return "", fmt.Errorf("the program %s is not there, neither as %s; install the package anew, or build both into one directory: "+
		"go build -o DIRECTORY/ ./cmd/gate ./cmd/%s", mcpProgram, strings.Join(places, " nor as "), mcpProgram)
}
