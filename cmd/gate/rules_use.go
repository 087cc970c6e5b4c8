package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/gate/rules"
	"gatehouse/gate/rules/library"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
)

type rulesUseOptions struct {
	policy string
	mode   string
	dryRun bool
	json   bool
}

func newRulesAddCommand(g *globals) *cobra.Command {
	var opts rulesUseOptions
	cmd := &cobra.Command{
		Use:   "add NAME...",
		Short: "Take entries of the library into rules.yaml",
		Long: `Write the names of entries of the library into "use" of rules.yaml. Everything else in the file stays as it is, comments
and layout included; an entry that is there already is left alone. The file is made if there is none, and changed only if
the rules can be read before and after.

The file is the live one, of --policy, else of the gate that root's index lists for you, else of $GATEHOUSE_POLICY, else of
~/.config/gatehouse. Where a warden keeps an accepted copy, that one decides until a person accepts the change.`,
		Example: `  gate rules add no-force-push
  gate rules add --mode ask no-push-to-main tests-before-push`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runRulesAdd(g, opts, args) },
	}
	opts.flags(cmd)
	cmd.Flags().StringVar(&opts.mode, "mode", "", "what happens to a call that breaks the rules: block, warn, ask, retry, stop or log (as the entry says)")
	return cmd
}

func newRulesRemoveCommand(g *globals) *cobra.Command {
	var opts rulesUseOptions
	cmd := &cobra.Command{
		Use:   "remove NAME...",
		Short: "Take entries of the library out of rules.yaml",
		Long: `Take the names of entries of the library out of "use" of rules.yaml. Everything else in the file stays as it is, comments
and layout included. Which file that is, "gate rules add" says.`,
		Example: `  gate rules remove no-force-push
  gate rules remove --dry-run tests-before-push`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runRulesRemove(g, opts, args) },
	}
	opts.flags(cmd)
	return cmd
}

func (o *rulesUseOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.policy, "policy", "", "change rules.yaml of this policy `directory` ($GATEHOUSE_POLICY)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the file as it would be, and change nothing")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as JSON")
}

func runRulesAdd(g *globals, opts rulesUseOptions, names []string) error {
	modes := []string{"", "block", "warn", "ask", "retry", "stop", "log"}
	if !slices.Contains(modes, opts.mode) {
		return fmt.Errorf("--mode %q is no mode; %s", opts.mode, orWords(opts.mode, "block, warn, ask, retry, stop or log"))
	}
	for _, name := range names {
		if _, ok := library.Source(name); !ok {
			return noSuchEntry(name)
		}
	}
	return g.changeUse(opts, names, "added", func(text []byte) ([]byte, []string, error) { return addUse(text, names, opts.mode) })
}

func runRulesRemove(g *globals, opts rulesUseOptions, names []string) error {
	return g.changeUse(opts, names, "removed", func(text []byte) ([]byte, []string, error) { return removeUse(text, names) })
}

// A useDoc is the result of a change in JSON.
type useDoc struct {
	Schema   string   `json:"schema"`
	File     string   `json:"file"`
	Changed  []string `json:"changed"`
	DryRun   bool     `json:"dry_run,omitempty"`
	Accepted bool     `json:"accepted_decides"` // root's accepted copy decides, and not this file
}

// changeUse changes rules.yaml, and says what it did in the word did. The changed file has to be one that the gate can read.
func (g *globals) changeUse(opts rulesUseOptions, names []string, did string, change func([]byte) ([]byte, []string, error)) error {
	dir, accepted, err := g.livePolicy(opts.policy)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ruleFiles[0])
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	text, perm, err := readOrNothing(path)
	if err != nil {
		return err
	}
	if err := g.readable(dir, path, text); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	after, changed, err := change(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := g.readable(dir, path, after); err != nil {
		return fmt.Errorf("nothing was changed, since the result could not be read: %w", err)
	}
	if opts.dryRun && !opts.json {
		_, err := g.streams.Out.Write(after)
		return err
	}
	if len(changed) > 0 && !opts.dryRun {
		if err := (durable.Disk{}).WriteFile(path, after, perm); err != nil {
			return err
		}
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, useDoc{"gatehouse/rules-use/v1", path, append([]string{}, changed...), opts.dryRun, accepted})
	}
	g.sayUse(path, did, changed, names, accepted)
	if len(changed) > 0 && !accepted {
		return g.afterUse(dir)
	}
	return nil
}

// afterUse says what the rules as they are now mean for the policy beside them.
func (g *globals) afterUse(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, "gate.yaml")); err != nil {
		return nil // rules alone
	}
	judge, err := g.open(dir)
	if err != nil {
		return err
	}
	for _, p := range judge.Withheld() {
		fmt.Fprintf(g.streams.Err, "gate: %s: %s\n", cli.Line(filepath.Base(p.At)), cli.Line(strings.ReplaceAll(p.Text, dir+"/", "")))
	}
	return judge.Problem()
}

func (g *globals) sayUse(path, did string, changed, names []string, accepted bool) {
	if len(changed) == 0 {
		fmt.Fprintf(g.streams.Out, "%s stays as it is: %s %s\n", cli.Printable(path), strings.Join(names, ", "),
			map[string]string{"added": "was in it before", "removed": "is not in it"}[did])
		return
	}
	fmt.Fprintf(g.streams.Out, "%s: %s %s\n", cli.Printable(path), did, strings.Join(changed, ", "))
	if accepted {
		fmt.Fprintln(g.streams.Err, "gate: root's accepted copy stays in force until a person accepts the change (warden diff, warden accept)")
	}
}

// readOrNothing reads a file that need not be there.
func readOrNothing(path string) (text []byte, perm fs.FileMode, err error) {
	text, err = readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, 0, fmt.Errorf("%s is a link that leads nowhere", path)
		}
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	return text, info.Mode().Perm(), nil
}

// readable checks that the rules of a directory can be read where text is what stands in path.
func (g *globals) readable(dir, path string, text []byte) error {
	files, err := readRuleFiles(dir)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f rules.File) bool { return filepath.Base(f.Name) == ruleFiles[0] })
	if len(text) > 0 {
		files = append(files, rules.File{Name: path, Data: text})
	}
	packs, err := g.packs(dir)
	if err != nil {
		return err
	}
	if packs, err = withTools(packs, files); err != nil {
		return err
	}
	_, err = rules.Parse(files, rules.ParseOptions{Packs: packs, Library: library.Entries{}})
	return err
}

// livePolicy is the directory with the live rule files, and whether it is root's accepted copy that decides.
func (g *globals) livePolicy(named string) (dir string, accepted bool, err error) {
	if named != "" {
		info, err := os.Stat(named)
		if err != nil {
			return "", false, fmt.Errorf("--policy: %w", err)
		}
		if !info.IsDir() {
			return "", false, fmt.Errorf("--policy: %s is no directory", named)
		}
		return named, false, nil
	}
	index, err := config.ReadIndex(g.index)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	if err == nil {
		var dirs []string
		for _, gate := range index.ForUID(uint32(os.Getuid())) {
			for _, live := range gate.Live {
				if _, err := os.Stat(filepath.Join(live.Root, "gate.yaml")); err == nil {
					dirs = append(dirs, live.Root)
					accepted = accepted || gate.Decide != config.DecideLive
				}
			}
		}
		if len(dirs) == 1 {
			return dirs[0], accepted, nil
		}
		if len(dirs) > 1 {
			return "", false, fmt.Errorf("you have several gates; choose with --policy: %s", strings.Join(dirs, ", "))
		}
	}
	dir = g.streams.Getenv("GATEHOUSE_POLICY")
	if home := g.streams.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config/gatehouse")
	}
	if dir == "" {
		return "", false, errors.New("name the policy directory with --policy")
	}
	if _, err := os.Stat(dir); err != nil {
		return "", false, fmt.Errorf("%w; gate init makes a policy", err)
	}
	return dir, false, nil
}
