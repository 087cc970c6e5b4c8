package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gatehouse/gate"
	"gatehouse/gate/call"
	"gatehouse/internal/cli"
)

// lineStages come before the calls are looked at one by one, callStages after that. If one of the first refuses the line
// as a whole, there may be no calls.
var (
	lineStages = []gate.Stage{gate.StagePolicy, gate.StageShell}
	callStages = []gate.Stage{
		gate.StageProtect, gate.StageEntry, gate.StageBinary, gate.StageFlags, gate.StageEnv, gate.StagePaths, gate.StageDynamic,
		gate.StageRules,
	}
)

// explain shows what each stage says of the line and of each call in it, also where it objects to nothing.
func (c *checker) explain(r gate.Request, d gate.Decision) {
	for _, stage := range lineStages {
		c.explainStage("  ", stage, "", d.Reasons, -1)
	}
	covers := c.covers(d)
	near := func(text string) string { return strings.ReplaceAll(text, r.Cwd+"/", "") } // as one would write them there
	for i := range d.Calls {
		one := &d.Calls[i]
		fmt.Fprintf(c.out, "  call %d  %s%s\n", i+1, cli.Line(shorten(one.Meta.Source, 120)), cli.Line(place(one.Meta)))
		fmt.Fprintf(c.out, "    %-8s %s\n", "is", cli.Line(shorten(near(named(one)), 160)))
		for _, stage := range callStages {
			note := ""
			if stage == gate.StageEntry && i < len(covers) {
				note = covers[i]
			}
			c.explainStage("    ", stage, note, d.Reasons, i)
		}
		if effects := effectTexts(one); len(effects) > 0 {
			fmt.Fprintf(c.out, "    %-8s %s\n", "does", cli.Line(near(strings.Join(effects, ", "))))
		}
	}
	for _, reason := range d.Reasons {
		if reason.Call < 0 && !slices.Contains(lineStages, reason.Stage) {
			fmt.Fprintf(c.out, "  %-8s %s  %s\n", reason.Stage, strings.ToUpper(reason.Action.String()), cli.Line(c.sentence(reason)))
		}
	}
	if d.Subject != "" {
		fmt.Fprintf(c.out, "  subject  %s\n", d.Subject)
	}
}

func (c *checker) explainStage(indent string, stage gate.Stage, note string, reasons []gate.Reason, index int) {
	found := false
	for _, reason := range reasons {
		if reason.Stage != stage || reason.Call != index {
			continue
		}
		found = true
		fmt.Fprintf(c.out, "%s%-8s %s  %s\n", indent, stage, strings.ToUpper(reason.Action.String()), cli.Line(c.sentence(reason)))
	}
	if !found {
		fmt.Fprintf(c.out, "%s%-8s %s\n", indent, stage, cli.Line(strings.TrimRight("ok  "+note, " ")))
	}
}

// covers says of each call which allow entry lets it pass, or why it needs none.
func (c *checker) covers(d gate.Decision) (notes []string) {
	p := c.gate.Policy()
	if p == nil || len(d.Calls) == 0 {
		return nil
	}
	for _, cover := range p.Cover(d.Calls, c.g.host()) {
		note := cover.Free
		if e := cover.Entry; e != nil {
			note = fmt.Sprintf("allowed by %q (%s)", e.Text, c.at(e.At))
		}
		notes = append(notes, note)
	}
	return notes
}

// place says how a call stands in its line.
func place(m call.Meta) string {
	var parts []string
	if m.Wrapper != "" {
		parts = append(parts, "run by "+m.Wrapper)
	}
	if m.Conditional {
		parts = append(parts, "may be skipped")
	}
	if m.Repeated {
		parts = append(parts, "may run many times")
	}
	if m.Remote {
		parts = append(parts, "elsewhere")
	}
	if len(parts) == 0 {
		return ""
	}
	return "  (" + strings.Join(parts, ", ") + ")"
}

// named is the call as rules see it: its name, and the arguments that are set.
func named(c *call.Call) string {
	var args []string
	for _, arg := range c.Args {
		if arg.Value == false || arg.Name == "argv" && c.Meta.SpecMatched {
			continue
		}
		value, err := json.Marshal(arg.Value)
		if err != nil || string(value) == "[]" {
			continue
		}
		args = append(args, arg.Name+": "+string(value))
	}
	text := c.Name
	if len(args) > 0 {
		text += " {" + strings.Join(args, ", ") + "}"
	}
	if !c.Meta.SpecMatched {
		text += "  (not every word of it is known to a spec)"
	}
	return text
}

// effectTexts says what a call does, each thing once.
func effectTexts(c *call.Call) []string {
	var texts []string
	for _, e := range c.Effects {
		what := e.Path
		if what == "" {
			what = e.Text
		}
		if e.Tree {
			what += " and all below"
		}
		if what == "" {
			what = "?"
		}
		text := e.Kind.String() + " " + shorten(what, 80)
		if e.Sure != call.Sure {
			text += " (" + e.Sure.String() + ")"
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
