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
			self, err := os.Executable()
			if err != nil {
				return err
			}
			program, err := findExchange(self)
			if err != nil {
				if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
					return cmd.Help()
				}
				return err
			}
			if err := syscall.Exec(program, append([]string{exchangeProgram}, args...), os.Environ()); err != nil {
				return fmt.Errorf("start %s: %w", program, err)
			}
			return nil
		},
	}
}

// findExchange finds the other program near this one, self. PATH is not looked at.
func findExchange(self string) (string, error) {
	dir := filepath.Dir(self)
	places := []string{filepath.Join(dir, exchangeProgram), filepath.Join(filepath.Dir(dir), "libexec/gatehouse", exchangeProgram)}
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
		"go build -o DIRECTORY/ ./cmd/warden ./cmd/%s", exchangeProgram, strings.Join(places, " nor as "), exchangeProgram)
}
