package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/flags"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
)

// rootFlags is where root keeps what was harvested for a host with a warden.
const rootFlags = "/var/lib/gatehouse/flags"

type flagsOptions struct {
	refresh  bool
	json     bool
	helpText string
	policy   string
	confined bool
}

func newFlagsCommand(g *globals) *cobra.Command {
	var opts flagsOptions
	cmd := &cobra.Command{
		Use:   "flags [BINARY [SUB...]]",
		Short: "Show the flags that a program on this machine really has",
		Long: `Show the flags of a program, or of one of its subcommands, and where they were learnt: from its structured completion
where it is known to have one, from its help, from its manual page. Without arguments, list what has been learnt.

What is not known yet is asked of the program itself: it runs with --help (or what it has instead), confined by Landlock
and seccomp so that it can write nothing and reach no network, without input, for at most ten seconds. A subcommand is
only asked for if the program's help lists it. The answer is kept in flags/ of the policy directory (--policy, then
$GATEHOUSE_POLICY, then ~/.config/gatehouse) for this machine and this very file: after an upgrade it is asked again. What
root keeps in ` + rootFlags + ` comes first.

A flag that is not listed may still exist: programs have hidden ones. With --help-text a text is read that was saved
before, and nothing is run; - reads standard input.`,
		Example: `  gate flags git commit
  gate flags ls --json
  gate flags --refresh curl
  gate flags --help-text saved.txt --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.confined {
				flags.Confined(args)
			}
			return runFlags(cmd.Context(), g, opts, args)
		},
	}
	set := cmd.Flags()
	set.BoolVar(&opts.refresh, "refresh", false, "ask the program again, whatever is kept")
	set.BoolVar(&opts.json, "json", false, "print the flags as JSON")
	set.StringVar(&opts.helpText, "help-text", "", "read the help text in `file` instead of asking a program")
	set.StringVar(&opts.policy, "policy", "", "keep what is learnt in flags/ of this policy `directory` ($GATEHOUSE_POLICY)")
	set.BoolVar(&opts.confined, "confined", false, "become the program in the arguments, confined")
	set.MarkHidden("confined")
	return cmd
}

func runFlags(ctx context.Context, g *globals, opts flagsOptions, args []string) error {
	if opts.helpText != "" {
		if len(args) > 0 || opts.refresh {
			return errors.New("--help-text reads a text that is there: give it no program and no --refresh")
		}
		return g.flagsOfText(opts)
	}
	machine, err := flags.Machine()
	if err != nil {
		return err
	}
	stores := g.flagStores(opts.policy)
	if len(args) == 0 {
		if opts.refresh {
			return errors.New("--refresh needs the name of a program")
		}
		return g.listFlags(opts, stores, machine)
	}
	path, err := program(args[0])
	if err != nil {
		return g.noFlags(opts, args, fmt.Errorf("no program %q on this machine", args[0]))
	}
	h := &flags.Harvester{
		Reexec:  []string{os.Args[0], "flags", "--confined", "--"},
		Allowed: func(asked string) bool { return asked == path }, // the one that the user named
		Getenv:  g.streams.Getenv,
		Machine: machine,
	}
	var entry *flags.Entry
	for n := range len(args) { // the program, then each subcommand on the way
		entry, err = g.learn(ctx, h, stores, opts.refresh, path, args[1:1+n], entry)
		if errors.Is(err, flags.ErrNoSubcommand) || errors.Is(err, fs.ErrNotExist) {
			return g.noFlags(opts, args, err)
		}
		if err != nil {
			return err
		}
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, entryJSON(entry))
	} else {
		err = printFlags(g.streams.Out, entry)
	}
	if err == nil && len(entry.Flags) == 0 && len(entry.Subcommands) == 0 {
		return cli.Exit(cli.No)
	}
	return err
}

// learn takes the entry from a store, or asks the program and keeps the answer.
func (g *globals) learn(
	ctx context.Context, h *flags.Harvester, stores []flags.Store, refresh bool, path string, sub []string, parent *flags.Entry,
) (*flags.Entry, error) {
	if !refresh {
		entry, err := flags.Lookup(stores, h.Machine, path, sub)
		if err == nil || !errors.Is(err, flags.ErrMiss) {
			return entry, err
		}
	}
	entry, err := h.Harvest(ctx, path, sub, parent)
	if err != nil {
		return nil, err
	}
	for _, store := range stores {
		if store.Root {
			continue
		}
		if err := store.Save(durable.Disk{}, entry); err != nil {
			fmt.Fprintf(g.streams.Err, "gate: not kept: %s\n", cli.Line(err.Error()))
		}
	}
	return entry, nil
}

// program returns the absolute path of what a shell would run. Links stay: some programs go by the name they are called.
func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// flagStores returns root's store, and the caller's if there is a place for it.
func (g *globals) flagStores(policy string) []flags.Store {
	stores := []flags.Store{{Dir: rootFlags, Root: true}}
	if policy == "" {
		policy = g.streams.Getenv("GATEHOUSE_POLICY")
	}
	if home := g.streams.Getenv("HOME"); policy == "" && filepath.IsAbs(home) {
		policy = filepath.Join(home, ".config/gatehouse")
	}
	if policy != "" {
		stores = append(stores, flags.Store{Dir: filepath.Join(policy, "flags")})
	}
	return stores
}

func (g *globals) flagsOfText(opts flagsOptions) error {
	var data []byte
	var err error
	if opts.helpText == "-" {
		data, err = io.ReadAll(io.LimitReader(g.streams.In, 2<<20))
	} else {
		data, err = readSmall(opts.helpText)
	}
	if err != nil {
		return err
	}
	entry := &flags.Entry{Help: flags.Parse(string(data))}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, entryJSON(entry))
	}
	return printFlags(g.streams.Out, entry)
}

// noFlags says that there is nothing to list, which is an answer.
func (g *globals) noFlags(opts flagsOptions, args []string, why error) error {
	if opts.json {
		doc := flagsJSON{Schema: flagsSchema, Binary: args[0], Sub: args[1:], Flags: []flagJSON{}, Subcommands: []string{}, Missing: why.Error()}
		if err := cli.PrintJSON(g.streams.Out, doc); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(g.streams.Err, "gate: %s\n", cli.Line(why.Error()))
	}
	return cli.Exit(cli.No)
}

func (g *globals) listFlags(opts flagsOptions, stores []flags.Store, machine string) error {
	type item struct {
		Binary  string   `json:"binary"`
		Sub     []string `json:"sub"`
		Flags   int      `json:"flags"`
		Store   string   `json:"store"`
		Problem string   `json:"problem,omitempty"`
	}
	items := []item{}
	for _, store := range stores {
		kept, err := store.List(machine)
		if err != nil {
			return err
		}
		for _, k := range kept {
			it := item{Binary: k.File.Path, Sub: append([]string{}, k.Sub...), Flags: len(k.Flags), Store: store.Dir}
			if k.Problem != nil {
				it.Problem = k.Problem.Error()
			}
			items = append(items, it)
		}
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema  string `json:"schema"`
			Entries []item `json:"entries"`
		}{"gatehouse/flags-list/v1", items})
	}
	if len(items) == 0 {
		fmt.Fprintln(g.streams.Err, "gate: nothing has been learnt yet; ask for a program, such as gate flags git commit")
	}
	out := bufio.NewWriter(g.streams.Out)
	for _, it := range items {
		line := fmt.Sprintf("%s  %d flags", strings.Join(append([]string{it.Binary}, it.Sub...), " "), it.Flags)
		if it.Problem != "" {
			line += "  does not count: " + it.Problem
		}
		fmt.Fprintln(out, cli.Line(line))
	}
	return out.Flush()
}
