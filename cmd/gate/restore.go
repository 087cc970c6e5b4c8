package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/manifest"
)

type restoreOptions struct {
	dryRun bool
	json   bool
	gates  []string
}

func newRestoreCommand(g *globals) *cobra.Command {
	var opts restoreOptions
	cmd := &cobra.Command{
		Use:   "restore [GATE...]",
		Short: "Put the accepted files back over the live ones, and publish",
		Long: `Bring the live files of the caller's gates to what root's accepted copy holds: changed files are replaced, missing
ones are written, others are removed; what the configuration excludes is left alone. Then publish, so that the next
pass of the warden sees it.`,
		Example: `  gate restore --dry-run
  gate restore claude`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gates = args
			return runRestore(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "only list what would change; exit with 1 if anything would")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the changes as JSON")
	return cmd
}

func runRestore(ctx context.Context, g *globals, opts restoreOptions) error {
	targets, err := g.targets(opts.gates)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	type restoration struct {
		Gate    string            `json:"gate"`
		Changes []manifest.Change `json:"changes"`
	}
	done := []restoration{}
	would := false
	var errs []error
	for _, t := range targets {
		changes, err := t.restoreTo(ctx, "", opts.dryRun)
		if left := new(manifest.LeftError); errors.As(err, &left) {
			errs = append(errs, fmt.Errorf("gate %s: %w", t.gate, err)) // all else was done
		} else if err != nil {
			return fmt.Errorf("gate %s: %w", t.gate, err)
		}
		done = append(done, restoration{t.gate, append([]manifest.Change{}, changes...)})
		would = would || opts.dryRun && len(changes) > 0
		if !opts.dryRun {
			t.restore = nil
			if _, err := t.publish(ctx, g.logHead); err != nil {
				return fmt.Errorf("gate %s is restored, but was not published: %w", t.gate, err)
			}
		}
	}
	if opts.json {
		err := cli.PrintJSON(g.streams.Out, struct {
			Schema string        `json:"schema"`
			DryRun bool          `json:"dry_run"`
			Gates  []restoration `json:"gates"`
		}{"gatehouse/restore/v1", opts.dryRun, done})
		if err != nil {
			return err
		}
	} else {
		word := "restored"
		if opts.dryRun {
			word = "would restore"
		}
		for _, r := range done {
			g.printChanges(word, r.Gate, r.Changes)
			if len(r.Changes) == 0 {
				fmt.Fprintf(g.streams.Out, "%s  is as accepted\n", r.Gate)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if would {
		return cli.Exit(cli.No)
	}
	return nil
}

// printChanges lists what a restore changed: from live to accepted.
func (g *globals) printChanges(word, gate string, changes []manifest.Change) {
	for _, c := range changes {
		fmt.Fprintf(g.streams.Out, "%s  %s %s (%s)\n", gate, word, cli.Printable(c.Path), c.Kind)
	}
}
