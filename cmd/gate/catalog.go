package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gatehouse/gate/catalog"
	"gatehouse/gate/catalog/caller"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
)

func newCatalogCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Check and freeze the catalogue of tools that gate call runs",
		Long: `The catalogue is tools.json in the policy directory: named tools with a closed schema of their arguments and the argument
vector that they become. gate call runs them, and so does an MCP server of the same catalogue. docs/catalog.md has the format.

A catalogue counts once a person has frozen it (gate catalog freeze writes tools.lock with the digest of the file and of
each program) and let both files into force: with the warden's acceptance or, where there is none, a commit in git.`,
		Example: `  gate catalog check
  gate catalog freeze
  gate catalog list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCatalogCheckCommand(g), newCatalogFreezeCommand(g), newCatalogListCommand(g))
	return cmd
}

type catalogOptions struct {
	policy string
	json   bool
	add    bool
	dryRun bool
}

func (o *catalogOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.policy, "policy", "", "the catalogue of this policy `directory` ($GATEHOUSE_POLICY, ~/.config/gatehouse)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as JSON")
}

func newCatalogCheckCommand(g *globals) *cobra.Command {
	var opts catalogOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with a tools.json, its lock and its programs",
		Long: `Read tools.json and tools.lock of the policy directory and list everything that is wrong: keys, schemas and templates with
their line, shells and programs that run others as argv[0], programs that are not there or not those that were frozen.
Whether the catalogue is the one in force is for gate catalog list.

Exit codes: 0 nothing is wrong, 1 something is, 2 there is no catalogue or it cannot be read.`,
		Example: `  gate catalog check
  gate catalog check --policy ./policy --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runCatalogCheck(g, opts) },
	}
	opts.flags(cmd)
	return cmd
}

// A catalogFinding is one thing that gate catalog check has to say.
type catalogFinding struct {
	Code catalog.Code `json:"code"`
	At   string       `json:"at,omitempty"` // FILE:LINE
	Key  string       `json:"key,omitempty"`
	Text string       `json:"text"`
}

type checkedCatalogue struct {
	Schema   string           `json:"schema"`
	File     string           `json:"file"`
	Tools    int              `json:"tools"`
	Findings []catalogFinding `json:"findings"`
}

func runCatalogCheck(g *globals, opts catalogOptions) error {
	dir, err := g.policyDir(opts.policy)
	if err != nil {
		return err
	}
	result := checkedCatalogue{Schema: "gatehouse/catalog-check/v1", File: filepath.Join(dir, catalog.File), Findings: []catalogFinding{}}
	c, err := readCatalogue(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil && catalog.CodeOf(err) == catalog.Fault:
		return err
	case err != nil:
		result.Findings = findings(err)
	default:
		result.Tools = len(c.Tools)
		if err := c.CheckLock(filepath.Join(dir, catalog.LockFile)); err != nil {
			result.Findings = findings(err)
		}
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, result)
	} else {
		for _, f := range result.Findings {
			at := ""
			if f.At != "" {
				at = f.At + ": "
			}
			fmt.Fprintf(g.streams.Out, "%s%s%s [%s]\n", at, f.Key, cli.Line(f.Text), f.Code)
		}
		if len(result.Findings) == 0 {
			fmt.Fprintf(g.streams.Out, "%s: %d tools, in order and frozen\n", result.File, result.Tools)
		}
		err = nil
	}
	if err == nil && len(result.Findings) > 0 {
		err = cli.Exit(cli.No)
	}
	return err
}

// findings takes an error of the catalogue apart.
func findings(err error) (list []catalogFinding) {
	if invalid := new(catalog.Invalid); errors.As(err, &invalid) {
		for _, p := range invalid.Problems {
			list = append(list, catalogFinding{Code: p.Code, At: fmt.Sprintf("%s:%d", invalid.Name, p.Line), Key: p.Key, Text: p.Text})
		}
		return list
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			list = append(list, findings(one)...)
		}
		return list
	}
	return []catalogFinding{{Code: catalog.CodeOf(err), Text: err.Error()}}
}

func readCatalogue(dir string) (*catalog.Catalogue, error) {
	name := filepath.Join(dir, catalog.File)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &catalog.Error{Code: catalog.NoCatalogue, Err: fmt.Errorf("there is no catalogue; a person can write one, as docs/catalog.md shows: %w", err)}
	}
	if err != nil {
		return nil, err
	}
	return catalog.Parse(name, data)
}

func newCatalogFreezeCommand(g *globals) *cobra.Command {
	var opts catalogOptions
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Write tools.lock: which tools.json and programs were looked at",
		Long: `Take the digest of tools.json and of the program of each tool, and write them into tools.lock beside it. From then on a
call is refused when either is another: after an edit, or an upgrade of a program, a person looks at it and freezes anew.
Only a person should run this; with the default policy an agent cannot.

A lock counts like the catalogue itself: once the warden has accepted it or, where there is none, it is committed in git.
With --add the digests of other hosts, which have other builds of the programs, are kept.`,
		Example: `  gate catalog freeze
  gate catalog freeze --dry-run
  gate catalog freeze --add --policy ./policy`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runCatalogFreeze(g, opts) },
	}
	opts.flags(cmd)
	cmd.Flags().BoolVar(&opts.add, "add", false, "keep the digests that the lock has of the same programs")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "print what would be written, and write nothing")
	return cmd
}

type frozenCatalogue struct {
	Schema  string        `json:"schema"`
	File    string        `json:"file"`
	Written bool          `json:"written"` // false: with --dry-run, or it was the same already
	Lock    *catalog.Lock `json:"lock"`
}

func runCatalogFreeze(g *globals, opts catalogOptions) error {
	dir, err := g.policyDir(opts.policy)
	if err != nil {
		return err
	}
	c, err := readCatalogue(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, catalog.LockFile)
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var keep *catalog.Lock
	if opts.add && err == nil {
		if keep, err = catalog.ParseLock(name, before); err != nil {
			return err
		}
	}
	lock, err := c.Freeze(keep)
	if err != nil {
		return err
	}
	data, err := lock.Marshal()
	if err != nil {
		return err
	}
	result := frozenCatalogue{Schema: "gatehouse/catalog-freeze/v1", File: name, Lock: lock}
	if !opts.dryRun && string(before) != string(data) {
		if err := (durable.Disk{}).WriteFile(name, data, 0o644); err != nil {
			return err
		}
		result.Written = true
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, result)
	}
	w := tabwriter.NewWriter(g.streams.Out, 0, 8, 2, ' ', 0)
	for i := range c.Tools {
		f := lock.Tools[c.Tools[i].Name]
		fmt.Fprintf(w, "%s\t%s\t%.12s\n", c.Tools[i].Name, cli.Printable(f.Path), f.SHA256[0])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case result.Written:
		fmt.Fprintf(g.streams.Err, "gate: wrote %s; it counts once the warden has accepted it (warden accept) or, without a warden, it is committed\n", name)
	case opts.dryRun:
		fmt.Fprintf(g.streams.Err, "gate: %s is as it was\n", name)
	default:
		fmt.Fprintf(g.streams.Err, "gate: %s says so already\n", name)
	}
	return nil
}

func newCatalogListCommand(g *globals) *cobra.Command {
	var opts catalogOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools of the catalogue in force, or of another",
		Long: `List the tools that gate call would run, with what they take. A catalogue that does not count is an error that says why:
not frozen, not accepted, not committed. With --policy the catalogue of that directory is listed, whether it counts or not.`,
		Example: `  gate catalog list
  gate catalog list --json
  gate catalog list --policy ./policy`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCatalogList(cmd.Context(), g, opts) },
	}
	opts.flags(cmd)
	return cmd
}

type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Args        json.RawMessage `json:"args"`
	Argv        []string        `json:"argv"`
	Cwd         string          `json:"cwd"`
	Timeout     float64         `json:"timeout_seconds"`
	Confined    bool            `json:"confined"`
}

type listedCatalogue struct {
	Schema string          `json:"schema"`
	From   *catalog.Source `json:"from,omitempty"` // missing: named with --policy
	Steps  int             `json:"steps"`
	Tools  []listedTool    `json:"tools"`
}

func runCatalogList(ctx context.Context, g *globals, opts catalogOptions) error {
	var c *catalog.Catalogue
	var err error
	result := listedCatalogue{Schema: "gatehouse/catalog-list/v1", Tools: []listedTool{}}
	if opts.policy != "" {
		dir, dirErr := g.policyDir(opts.policy)
		if dirErr != nil {
			return dirErr
		}
		c, err = readCatalogue(dir)
	} else {
		runner, openErr := caller.Open(g.caller("")) // from where makes no difference to a list
		if openErr != nil {
			return openErr
		}
		if c, err = runner.List(ctx); err == nil {
			result.From = &c.From
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", catalog.CodeOf(err), err)
	}
	result.Steps = c.Steps
	for i := range c.Tools {
		t := &c.Tools[i]
		result.Tools = append(result.Tools, listedTool{Name: t.Name, Description: t.Description, Args: t.Args, Argv: t.Argv, Cwd: t.Cwd,
			Timeout: t.Timeout.Seconds(), Confined: t.Confine != nil})
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, result)
	}
	for i, t := range result.Tools {
		if i > 0 {
			fmt.Fprintln(g.streams.Out)
		}
		fmt.Fprintf(g.streams.Out, "%s: %s\n  %s\n", t.Name, cli.Line(t.Description), cli.Line(strings.Join(t.Argv, " ")))
	}
	if result.From != nil {
		fmt.Fprintf(g.streams.Err, "gate: %s: %s; %d steps a job\n", result.From.Dir, result.From.Mode, result.Steps)
	}
	return nil
}
