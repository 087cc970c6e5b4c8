package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate"
	"gatehouse/gate/rules"
	"gatehouse/gate/rules/library"
	"gatehouse/gate/spec"
	"gatehouse/internal/cli"
)

// ruleFiles are the names that rule files have in a policy directory.
var ruleFiles = [...]string{"rules.yaml", "AGENTLTL.yaml"}

func newRulesCommand(g *globals) *cobra.Command {
	var source ruleSource
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules over the order of calls, test them, add some",
		Long: `List the rules that are in force: what each of them is about, what happens to a call that breaks it, and on which line it
stands. Below them stands what looks wrong with them, such as a name that no call has.

Rules stand in rules.yaml and AGENTLTL.yaml of the policy directory, and docs/rules.md has all keys. That directory is
--policy, else what root's index says is in force for you, else $GATEHOUSE_POLICY, else ~/.config/gatehouse. --rules reads
a file instead, and --use takes an entry of the library; both can be given several times.

Rules look back on calls that the agent's own user records. They keep an honest agent on its way; what must not happen at
all belongs into gate.yaml.`,
		Example: `  gate rules
  gate rules library no-force-push
  gate rules test --use no-force-push lines.txt
  gate rules add no-force-push tests-before-push`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runRules(g, source, asJSON) },
	}
	source.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the rules as JSON")
	cmd.AddCommand(
		newRulesLibraryCommand(g),
		newRulesTestCommand(g),
		newRulesAddCommand(g),
		newRulesRemoveCommand(g),
		newRulesJudgeCommand(g),
	)
	return cmd
}

// A ruleSource is where the rules of a command come from.
type ruleSource struct {
	policy string
	files  []string
	use    []string
}

func (s *ruleSource) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.policy, "policy", "", "take the rules and specs of this policy `directory` ($GATEHOUSE_POLICY)")
	cmd.Flags().StringArrayVar(&s.files, "rules", nil, "take the rules of this `file` instead of those in force")
	cmd.Flags().StringSliceVar(&s.use, "use", nil, "take this `entry` of the library instead of the rules in force")
}

// A ruleBook is a set of rules, with the specs that they were read with.
type ruleBook struct {
	set   *rules.Set
	rules []rules.Rule
	packs *spec.Packs
	from  string // in words
	dir   string // of the policy, which from names
}

// ruleBook reads the rules of s.
func (g *globals) ruleBook(s ruleSource) (*ruleBook, error) {
	book := &ruleBook{}
	files, packs, err := g.rulesInForce(s, book)
	if err != nil {
		return nil, err
	}
	for _, name := range s.files {
		data, err := readSmall(name)
		if err != nil {
			return nil, err
		}
		files = append(files, rules.File{Name: name, Data: data})
	}
	if len(s.use) > 0 {
		files = append(files, rules.File{Name: "--use", Data: []byte("use: [" + strings.Join(s.use, ", ") + "]\n")})
	}
	for _, name := range s.use {
		if _, ok := library.Source(name); !ok {
			return nil, noSuchEntry(name)
		}
	}
	if book.packs, err = withTools(packs, files); err != nil {
		return nil, err
	}
	if book.set, err = rules.Parse(files, rules.ParseOptions{Packs: book.packs, Library: library.Entries{}}); err != nil {
		return nil, err
	}
	book.rules, err = book.set.Rules()
	return book, err
}

// rulesInForce reads the rule files that are in force, unless others are named, and the specs beside them.
func (g *globals) rulesInForce(s ruleSource, book *ruleBook) (files []rules.File, packs *spec.Packs, err error) {
	if len(s.files)+len(s.use) > 0 {
		packs, err = g.packs(s.policy)
		return nil, packs, err
	}
	judge, err := g.open(s.policy)
	if err != nil {
		return nil, nil, err
	}
	from := judge.Provenance()
	book.from, book.dir = provenance(from), from.Dir
	switch {
	case from.Mode == gate.ModeAccepted:
		return g.acceptedRules(from.Gate)
	case from.Dir == "":
		return nil, nil, errors.New("there is no policy, and so there are no rules: gate init writes one; --rules FILE and --use ENTRY do without")
	}
	if _, err := os.Stat(from.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no policy at %s, and so there are no rules: gate init writes one; --rules FILE and --use ENTRY do without", from.Dir)
	}
	if files, err = readRuleFiles(from.Dir); err != nil {
		return nil, nil, err
	}
	packs, err = g.packs(from.Dir)
	return files, packs, err
}

// withTools adds the specs that rule files have under "tools".
func withTools(packs *spec.Packs, files []rules.File) (*spec.Packs, error) {
	compiled, err := rules.Tools(files, packs)
	if err != nil || len(compiled) == 0 {
		return packs, err
	}
	return packs.With(string(compiled))
}

// readRuleFiles reads the rule files of a policy directory, of which none has to be there.
func readRuleFiles(dir string) ([]rules.File, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, nil
	}
	var files []rules.File
	for _, name := range ruleFiles {
		path := filepath.Join(dir, name)
		data, err := readSmall(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, rules.File{Name: path, Data: data})
	}
	return files, nil
}

// A ruleDoc is a rule in JSON.
type ruleDoc struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	Scope   string `json:"scope"`
	Says    string `json:"says"`
	Why     string `json:"why,omitempty"`
	Fix     string `json:"fix,omitempty"`
	At      string `json:"at"`
	Library string `json:"library,omitempty"`
}

func ruleDocument(r rules.Rule) ruleDoc {
	return ruleDoc{r.ID, r.Kind.String(), r.Mode.String(), r.Scope.String(), r.Text, r.Why, r.Fix, r.At, r.Library}
}

func runRules(g *globals, source ruleSource, asJSON bool) error {
	book, err := g.ruleBook(source)
	if err != nil {
		return err
	}
	if book.from != "" {
		fmt.Fprintf(g.streams.Err, "gate: %s\n", cli.Line(book.from))
	}
	all := book.rules
	remarks, err := ruleRemarks(book)
	if err != nil {
		return err
	}
	if asJSON {
		doc := struct {
			Schema  string      `json:"schema"`
			Rules   []ruleDoc   `json:"rules"`
			Remarks []remarkDoc `json:"remarks"`
		}{"gatehouse/rules/v1", []ruleDoc{}, remarks}
		for _, r := range all {
			doc.Rules = append(doc.Rules, ruleDocument(r))
		}
		return cli.PrintJSON(g.streams.Out, doc)
	}
	if len(all) == 0 {
		fmt.Fprintln(g.streams.Err, "gate: there are no rules; gate rules library lists some, and gate rules add takes them")
		return nil
	}
	out := bufio.NewWriter(g.streams.Out)
	printRules(out, all, book.dir)
	if len(remarks) > 0 {
		fmt.Fprintln(out, "\nremarks")
		for _, p := range remarks {
			fmt.Fprintln(out, cli.Line(fmt.Sprintf("  %s: %s", strings.TrimPrefix(p.At, book.dir+"/"), p.Text)))
		}
	}
	return out.Flush()
}

// printRules lists rules, each with the owner's reason below it. Places are shown without the directory dir.
func printRules(out io.Writer, all []rules.Rule, dir string) {
	width := 0
	for _, r := range all {
		width = max(width, len(r.ID))
	}
	width = min(width, 36)
	for _, r := range all {
		mode := r.Mode.String()
		if r.Scope == rules.Project {
			mode += ", project"
		}
		fmt.Fprintln(out, cli.Line(fmt.Sprintf("%-*s  %-14s  %s", width, r.ID, mode, strings.TrimPrefix(r.At, dir+"/"))))
		says := r.Why
		if says == "" {
			says = shorten(r.Text, 110)
		}
		fmt.Fprintln(out, cli.Line("  "+says))
	}
}
