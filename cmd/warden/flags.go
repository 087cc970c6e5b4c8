package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gatehouse/gate/flags"
	"gatehouse/internal/cli"
)

type flagsOptions struct {
	json      bool
	confined  bool
	harvestTo string
	storeFrom string
}

func newFlagsCommand(g *globals) *cobra.Command {
	var opts flagsOptions
	cmd := &cobra.Command{
		Use:   "flags",
		Short: "Show of which allowed programs root knows the flags",
		Long: `List the programs, with the subcommands, that the accepted gates allow and that only root can change, and whether
their flags are known. What root knows of a program comes before what its user has learnt.

Root asks no program itself: gatehouse-flags.service does, as a user of its own, and root checks what that leaves. It
runs when an accepted gate names other programs, or a program was upgraded.`,
		Example: `  warden flags
  warden flags --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && !opts.confined {
				return fmt.Errorf("this takes no arguments; the flags of one program: gate flags %s", cli.Printable(args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case opts.confined:
				flags.Confined(args)
				return nil
			case opts.harvestTo != "" && opts.storeFrom != "":
				return errors.New("--harvest-to and --store-from are steps of two users")
			case opts.harvestTo != "":
				return harvestFlags(cmd.Context(), g, opts.harvestTo)
			case opts.storeFrom != "":
				return storeFlags(cmd.Context(), g, opts.storeFrom)
			}
			return runFlags(cmd.Context(), g, opts)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&opts.json, "json", false, "print the list as JSON")
	set.StringVar(&opts.harvestTo, "harvest-to", "", "ask the programs, as anybody but root, and leave the answers in this `directory`")
	set.StringVar(&opts.storeFrom, "store-from", "", "take from this `directory`, as root, the answers that are in order")
	set.BoolVar(&opts.confined, "confined", false, "become the program in the arguments, confined")
	set.MarkHidden("confined")
	return cmd
}

// A flagsRow is one program, or one of its subcommands, that an accepted gate allows.
type flagsRow struct {
	Path    string   `json:"path"`
	Sub     []string `json:"sub"`
	Flags   int      `json:"flags"`
	Known   bool     `json:"known"`
	Problem string   `json:"problem,omitempty"`
}

func (r *flagsRow) command() string { return strings.Join(append([]string{r.Path}, r.Sub...), " ") }

func runFlags(_ context.Context, g *globals, opts flagsOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	rows, err := s.flagRows()
	if err != nil {
		return err
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema   string     `json:"schema"`
			Commands []flagsRow `json:"commands"`
		}{"gatehouse/warden-flags/v1", rows})
	}
	if len(rows) == 0 {
		fmt.Fprintln(g.streams.Out, "no accepted gate allows a program whose flags have to be known")
		return nil
	}
	table := tabwriter.NewWriter(g.streams.Out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		what := fmt.Sprintf("%d flags", r.Flags)
		if !r.Known {
			what = "not known: " + cli.Line(r.Problem)
		}
		fmt.Fprintf(table, "%s\t%s\n", cli.Line(r.command()), what)
	}
	return table.Flush()
}

// flagRows holds what is wanted against what is known.
func (s *site) flagRows() ([]flagsRow, error) {
	wanted, err := s.wantedFlags()
	if err != nil {
		return nil, err
	}
	machine, err := flags.Machine()
	if err != nil {
		return nil, err
	}
	tried := s.triedFlags()
	rows := []flagsRow{}
	for _, c := range wanted.Commands {
		row := flagsRow{Path: c.Path, Sub: append([]string{}, c.Sub...)}
		entry, err := flags.Lookup([]flags.Store{s.flagStore()}, machine, c.Path, c.Sub)
		switch {
		case err == nil:
			row.Known, row.Flags = true, len(entry.Flags)
		case tried.Wanted != wanted.digest():
			row.Problem = "it was not asked yet"
		default:
			row.Problem = "it gave no answer"
			if why := tried.Problems[c.key()]; why != "" {
				row.Problem = why
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *site) flagsDir() string { return filepath.Join(s.config.State, "flags") }

func (s *site) flagStore() flags.Store { return flags.Store{Dir: s.flagsDir(), Root: true} }
