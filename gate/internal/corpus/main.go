// Command corpus measures what a policy makes of real command lines: how many pass, how many are asked about or refused,
// and at which stage. No such lines come with the project.
//
//	go run ./gate/internal/corpus -policy DIR -project DIR [-roots GLOBS] [-furnish] [-samples N [-stage S]] < LINES.jsonl
//
// Each line of standard input is an object whose "line" is a command line; other keys are not looked at. The directories
// that the lines call their project (-roots) are taken for the one of this machine, and with -furnish the files that they
// read are made there first, empty, where they are missing.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gatehouse/gate"
	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Main runs the command line args and returns its exit code: 0 measured, 2 could not tell.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	flags.SetOutput(stderr)
	policy := flags.String("policy", "", "the policy, a `DIR` with gate.yaml and flags/")
	m := measure{}
	flags.StringVar(&m.project, "project", "", "the `DIR` in which the lines would run")
	roots := flags.String("roots", "", "directories on the lines that stand for the project: `GLOBS` with commas between")
	furnish := flags.Bool("furnish", false, "make the files below the project that the lines read")
	flags.IntVar(&m.samples, "samples", 0, "print `N` reasons of each stage and answer, spread over the lines")
	flags.StringVar(&m.stage, "stage", "", "samples of this `STAGE` only")
	flags.IntVar(&m.texts, "texts", 0, "print the `N` most frequent texts of each stage")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	lines, err := readLines(stdin, replacer(*roots, m.project))
	if err == nil {
		m.home = filepath.Dir(m.project)
		m.gate, err = gate.Open(gate.Options{
			Policy: *policy, UID: uint32(os.Getuid()), Home: m.home, Flags: []string{filepath.Join(*policy, "flags")},
		})
	}
	if err == nil && *furnish {
		err = m.furnish(lines)
	}
	if err != nil {
		fmt.Fprintln(stderr, "corpus:", err)
		return 2
	}
	m.run(lines)
	m.print(stdout)
	return 0
}

// replacer returns what puts the project in the place of each of the roots.
func replacer(globs, project string) func(string) string {
	if globs == "" {
		return func(line string) string { return line }
	}
	var alternatives []string
	for glob := range strings.SplitSeq(globs, ",") {
		alternatives = append(alternatives, strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `[^/\s'"|;&)]+`))
	}
	root := regexp.MustCompile(`(^|[\s'"=(:])(?:` + strings.Join(alternatives, "|") + `)($|[\s'"/|;&):])`)
	return func(line string) string { return root.ReplaceAllString(line, "${1}"+project+"${2}") }
}

func readLines(in io.Reader, replace func(string) string) (lines []string, err error) {
	for r := bufio.NewReader(in); ; {
		text, err := r.ReadBytes('\n')
		if len(strings.TrimSpace(string(text))) > 0 {
			var object struct{ Line string }
			if err := json.Unmarshal(text, &object); err != nil {
				return nil, fmt.Errorf("line %d: %w", len(lines)+1, err)
			}
			lines = append(lines, replace(object.Line))
		}
		switch {
		case err == io.EOF && len(lines) == 0:
			return nil, fmt.Errorf("standard input: objects with a line are wanted")
		case err == io.EOF:
			return lines, nil
		case err != nil:
			return nil, err
		}
	}
}

type measure struct {
	gate          *gate.Gate
	project, home string
	stage         string
	samples       int
	texts         int

	lines   int
	answers [gate.Allow + 1]int
	first   map[class]int // lines, by what their first reason is
	any     map[class]int // lines, by each class of reason that they have
	only    map[class]int // lines that would pass but for this class
	text    map[class]map[string]int
	found   map[class][]finding
}

// A class is a kind of refusal.
type class struct {
	action gate.Action
	stage  gate.Stage
}

type finding struct {
	line   string
	reason gate.Reason
}

func (m *measure) run(lines []string) {
	m.first, m.any, m.only = make(map[class]int), make(map[class]int), make(map[class]int)
	m.text, m.found = make(map[class]map[string]int), make(map[class][]finding)
	for _, line := range lines {
		d := m.gate.Check(context.Background(), gate.Request{Line: line, Cwd: m.project, Home: m.home, Env: environment(m.home)})
		m.lines++
		m.answers[d.Action]++
		seen := make(map[class]bool)
		for i, r := range d.Reasons {
			c := class{r.Action, r.Stage}
			if i == 0 {
				m.first[c]++
			}
			if !seen[c] {
				seen[c] = true
				m.any[c]++
				m.found[c] = append(m.found[c], finding{line, r})
			}
			if m.text[c] == nil {
				m.text[c] = make(map[string]int)
			}
			m.text[c][r.Text]++
		}
		if len(seen) == 1 {
			for c := range seen {
				m.only[c]++
			}
		}
	}
}

// environment is that of the shell in which the lines would run.
func environment(home string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case "HOME":
			return home, true
		case "PATH":
			return os.LookupEnv(name)
		}
		return "", false
	}
}

func (m *measure) print(out io.Writer) {
	share := func(n int) float64 { return 100 * float64(n) / float64(m.lines) }
	fmt.Fprintf(out, "%d lines", m.lines)
	for a := gate.Allow; ; a-- {
		fmt.Fprintf(out, " · %s %d (%.1f %%)", a, m.answers[a], share(m.answers[a]))
		if a == gate.Deny {
			break
		}
	}
	fmt.Fprintln(out, "\n\nanswer stage      first reason       among others       alone")
	classes := slices.SortedFunc(maps.Keys(m.any), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.action, b.action), cmp.Compare(m.any[b], m.any[a]), cmp.Compare(a.stage, b.stage))
	})
	for _, c := range classes {
		fmt.Fprintf(out, "%-6s %-8s %6d (%5.2f %%)   %6d (%5.2f %%)   %6d (%5.2f %%)\n", c.action, c.stage,
			m.first[c], share(m.first[c]), m.any[c], share(m.any[c]), m.only[c], share(m.only[c]))
	}
	for _, c := range classes {
		if m.stage != "" && gate.Stage(m.stage) != c.stage {
			continue
		}
		m.details(out, c)
	}
}

// details prints the most frequent texts of a class and a sample that is spread over all lines.
func (m *measure) details(out io.Writer, c class) {
	texts := slices.SortedFunc(maps.Keys(m.text[c]), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.text[c][b], m.text[c][a]), strings.Compare(a, b))
	})
	if m.texts > 0 {
		fmt.Fprintf(out, "\n%s %s\n", c.action, c.stage)
	}
	for _, text := range texts[:min(m.texts, len(texts))] {
		fmt.Fprintf(out, "%6d  %s\n", m.text[c][text], text)
	}
	found := m.found[c]
	for i := range min(m.samples, len(found)) {
		f := found[i*len(found)/min(m.samples, len(found))]
		fmt.Fprintf(out, "\n%s %s\n  %s\n  %s: %s\n", c.action, c.stage, strings.ReplaceAll(f.line, "\n", "\n  "), f.reason.Source, f.reason.Text)
		if f.reason.Hint != "" {
			fmt.Fprintf(out, "    hint: %s\n", f.reason.Hint)
		}
	}
}

// furnish makes the files below the project that the lines read: a directory where a line looks below it.
func (m *measure) furnish(lines []string) error {
	packs := spec.Bundled()
	paths := make(map[string]bool)
	for _, line := range lines {
		calls, err := spec.Line(line, spec.Options{Packs: packs, Shell: shell.Options{Dir: m.project, Home: m.home}, Effects: true})
		if err != nil {
			continue // it is refused, whatever there is on the disk
		}
		for i := range calls {
			for _, e := range calls[i].Effects {
				if (e.Kind == call.Read || e.Kind == call.Chdir) && e.Sure != call.Unknown && strings.HasPrefix(e.Path, m.project+"/") &&
					!strings.ContainsAny(e.Path, "*?[\n") {
					paths[filepath.Clean(e.Path)] = paths[filepath.Clean(e.Path)] || e.Tree || e.Kind == call.Chdir
				}
			}
		}
	}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(paths))) { // what is below comes first
		touch := gate.Request{Argv: []string{"touch", path}, Cwd: m.project, Home: m.home, Env: environment(m.home)}
		if m.gate.Check(context.Background(), touch).Action == gate.Deny {
			continue // one protected file would refuse all that looks through the tree
		}
		dir := filepath.Dir(path)
		if paths[path] && filepath.Ext(path) == "" {
			dir = path
		}
		if os.MkdirAll(dir, 0o777) != nil || dir == path {
			continue // another line takes a directory on the way for a file, or the name is too long
		}
		if file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			if err := file.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}
