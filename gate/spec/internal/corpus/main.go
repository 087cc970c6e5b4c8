// Command corpus measures how real command lines translate: how many are refused and why, how many calls are matched, and
// what it costs beside the bare parse of the same lines. No such lines come with the project.
//
//	go run ./gate/spec/internal/corpus [-unmatched N] < LINES.jsonl
//
// Each line of standard input is an object whose "line" is a command line; other keys are not looked at.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/syntax"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Main runs the command line args and returns its exit code: 0 measured, 2 could not tell.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	flags.SetOutput(stderr)
	most := flags.Int("unmatched", 0, "list the `N` programs that are unmatched most often")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	lines, err := readLines(stdin)
	if err != nil || len(lines) == 0 {
		fmt.Fprintln(stderr, "corpus: standard input:", errors.Join(err, errors.New("objects with a line are wanted")))
		return 2
	}
	measure(lines).print(stdout, *most)
	return 0
}

func readLines(in io.Reader) (lines []string, err error) {
	r := bufio.NewReader(in)
	for {
		text, err := r.ReadBytes('\n')
		if len(strings.TrimSpace(string(text))) > 0 {
			var object struct{ Line string }
			if err := json.Unmarshal(text, &object); err != nil {
				return nil, fmt.Errorf("line %d: %w", len(lines)+1, err)
			}
			lines = append(lines, object.Line)
		}
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

type figures struct {
	lines, bytes, calls, matched, full int
	refused                            map[shell.ErrorKind]int
	unmatched                          map[string]int // lines, by program
	stages                             [4]time.Duration
}

func stageNames() [4]string { return [...]string{"syntax", "shell", "calls", "effects"} }

// measure translates all lines stage by stage, each stage over all lines before the next one begins.
func measure(lines []string) *figures {
	f := &figures{lines: len(lines), refused: make(map[shell.ErrorKind]int), unmatched: make(map[string]int)}
	packs := spec.Bundled()
	place := shell.Options{Dir: "/w", Home: "/home/user"}
	for _, line := range lines { // what is decoded once is decoded now
		f.bytes += len(line)
		calls, err := spec.Line(line, spec.Options{Packs: packs, Shell: place, Effects: true})
		f.count(calls, err)
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for i, work := range [...]func(line string){
		func(line string) { _, _ = parser.Parse(strings.NewReader(line), "") },
		func(line string) { _, _ = shell.Parse(line, place) },
		func(line string) { _, _ = spec.Line(line, spec.Options{Packs: packs, Shell: place}) },
		func(line string) { _, _ = spec.Line(line, spec.Options{Packs: packs, Shell: place, Effects: true}) },
	} {
		start := used()
		for _, line := range lines {
			work(line)
		}
		f.stages[i] = used() - start
	}
	return f
}

func (f *figures) count(calls []call.Call, err error) {
	if refused := new(shell.Error); errors.As(err, &refused) {
		f.refused[refused.Kind]++
		return
	}
	missing := make(map[string]bool)
	for i := range calls {
		f.calls++
		if calls[i].Meta.SpecMatched {
			f.matched++
		} else {
			missing[calls[i].Name] = true
		}
	}
	if len(missing) == 0 {
		f.full++
	}
	for name := range missing {
		f.unmatched[name]++
	}
}

func (f *figures) print(out io.Writer, most int) {
	all := 0
	for _, n := range f.refused {
		all += n
	}
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	fmt.Fprintf(out, "%d lines, %d bytes\n", f.lines, f.bytes)
	fmt.Fprintf(out, "refused    %d (%.3f %%)", all, share(all, f.lines))
	for _, kind := range slices.Sorted(maps.Keys(f.refused)) {
		fmt.Fprintf(out, " · %s %d", kind, f.refused[kind])
	}
	fmt.Fprintf(out, "\ncalls      %d, matched %.2f %%\n", f.calls, share(f.matched, f.calls))
	fmt.Fprintf(out, "translated lines with all calls matched %.2f %%\n", share(f.full, f.lines-all))
	for i, name := range stageNames() {
		d := f.stages[i]
		fmt.Fprintf(out, "%-10s %6.2f µs a line %6.1f ns a byte   × syntax %.2f\n", name, float64(d.Microseconds())/float64(f.lines),
			float64(d.Nanoseconds())/float64(max(f.bytes, 1)), float64(d)/float64(max(f.stages[0], 1)))
	}
	names := slices.SortedFunc(maps.Keys(f.unmatched), func(a, b string) int {
		if d := f.unmatched[b] - f.unmatched[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:min(most, len(names))] {
		fmt.Fprintf(out, "%6d  %s\n", f.unmatched[name], name)
	}
}

// used is the processor time of the program so far.
func used() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
