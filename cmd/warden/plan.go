package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gatehouse/internal/cli"
)

// A plan is what install or uninstall would change on this host, in order, and what it leaves alone. It is made from
// the host as it is, so that a run after one that was cut short plans only what is left, and a run after a whole one
// plans nothing.
type plan struct {
	steps []step
	kept  []string // what is left alone though somebody may expect otherwise, and why
}

// A step is one change.
type step struct {
	what string      // in the imperative
	why  string      // for whoever reads along
	data []byte      // the content, where the step writes a text file
	mode fs.FileMode // of that file
	do   func(context.Context) error
}

func (p *plan) add(s step) { p.steps = append(p.steps, s) }

func (p *plan) keep(format string, args ...any) {
	p.kept = append(p.kept, fmt.Sprintf(format, args...))
}

// show prints the steps without taking them, and where it is asked for the content of each file.
func (p *plan) show(w io.Writer, contents bool) {
	for _, s := range p.steps {
		printStep(w, "would", s)
		if !contents {
			continue
		}
		for line := range strings.Lines(string(s.data)) {
			fmt.Fprintf(w, "       │ %s\n", cli.Line(strings.TrimSuffix(line, "\n")))
		}
	}
	p.showKept(w)
}

// carryOut takes the steps and prints each when it is done. What was done before an error stays; the next run goes on
// from there.
func (p *plan) carryOut(ctx context.Context, w io.Writer) error {
	for _, s := range p.steps {
		err := ctx.Err()
		if err == nil {
			err = s.do(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w; what was done before stays, and the next run goes on from there", s.what, err)
		}
		printStep(w, "done ", s)
	}
	p.showKept(w)
	return nil
}

func (p *plan) showKept(w io.Writer) {
	for _, text := range p.kept {
		fmt.Fprintf(w, "kept   %s\n", cli.Line(text))
	}
}

func printStep(w io.Writer, mark string, s step) {
	text := s.what
	if s.why != "" {
		text += ": " + s.why
	}
	fmt.Fprintf(w, "%s  %s\n", mark, cli.Line(text))
}
