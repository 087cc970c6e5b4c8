package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"gatehouse/gate"
	"gatehouse/internal/cli"
)

// print writes the answer and, below it, what stands against the line: for each reason the call with the entry or rule,
// why in the owner's words, and what to do instead.
func (c *checker) print(r gate.Request, d gate.Decision) {
	line := requestText(r)
	fmt.Fprintf(c.out, "%s%*s%s\n", c.verdict(d.Action), 7-len(d.Action.String()), "", cli.Line(line))
	if d.Observed {
		fmt.Fprintf(c.out, "  the policy only observes; enforced it would be %s\n", strings.ToUpper(d.Would.String()))
	}
	if g := d.Granted; g != nil {
		fmt.Fprintf(c.out, "  granted by %s until %s, for decision %s\n", cli.Line(g.By), g.ExpiresAt.Local().Format("15:04:05 MST"), cli.Line(g.Decision))
	}
	hints := map[string]bool{}
	for _, reason := range d.Reasons {
		if hints[reason.Hint] {
			reason.Hint = "" // once is enough for a line
		}
		hints[reason.Hint] = true
		if r.Argv != nil && reason.Call == 0 {
			reason.Source = "" // it is what stands above
		}
		c.printReason(reason, line)
	}
	for _, note := range d.Notes {
		fmt.Fprintf(c.out, "  note: %s\n", cli.Line(c.sentence(note)))
	}
}

// at is a place in the policy, without the directory that was named before all else.
func (c *checker) at(place string) string {
	dir := c.gate.Provenance().Dir
	if rest, ok := strings.CutPrefix(place, dir+"/"); ok && dir != "" {
		return rest
	}
	if rest, ok := strings.CutPrefix(place, dir+":"); ok && dir != "" {
		return filepath.Base(dir) + ":" + rest
	}
	return place
}

// requestText is the request as one shows it: the line, the words of an argument vector, or the tool.
func requestText(r gate.Request) string {
	switch {
	case r.Argv != nil:
		return quoteWords(r.Argv)
	case r.Tool != nil:
		return r.Tool.Name
	default:
		return r.Line
	}
}

// quoteWords writes words so that a shell would read them as they are.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`&|;<>()*?[]{}~#!") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (c *checker) verdict(a gate.Action) string {
	word := strings.ToUpper(a.String())
	if !c.colour {
		return word
	}
	colour := "31" // red
	switch a {
	case gate.Allow:
		colour = "32"
	case gate.Ask:
		colour = "33"
	}
	return "\x1b[" + colour + "m" + word + "\x1b[0m"
}

// printReason writes one reason. The call is named only where the line holds more than it.
func (c *checker) printReason(r gate.Reason, line string) {
	text := c.sentence(r)
	if r.Source != "" && r.Source != strings.TrimSpace(line) {
		text = shorten(r.Source, 100) + ": " + text
	}
	for i, part := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		indent := "  "
		if i > 0 {
			indent = "    "
		}
		c.say(indent, part)
	}
	if r.Why != "" {
		c.say("    ", "why: "+r.Why)
	}
	if r.Fix != "" {
		fmt.Fprintf(c.out, "    instead: %s\n", cli.Line(r.Fix)) // in one piece, to be copied
	}
	if r.Hint != "" {
		c.say("    ", "hint: "+r.Hint)
	}
}

// say writes a sentence, on a terminal in lines that fit it.
func (c *checker) say(indent, text string) {
	for _, line := range cli.Hang(indent, cli.Line(text), c.width) {
		fmt.Fprintln(c.out, line)
	}
}

// sentence is what is wrong, with the entry or rule and the place that say so, as far as the text does not.
func (c *checker) sentence(r gate.Reason) string {
	text := cut(r.Text, 300)
	if dir := c.gate.Provenance().Dir; dir != "" {
		text = strings.ReplaceAll(text, dir+"/gate.yaml:", "gate.yaml:")
	}
	var by []string
	if r.Rule != "" && (r.Stage == gate.StageRules || !strings.Contains(r.Text, r.Rule)) {
		by = append(by, shorten(r.Rule, 60))
	}
	if at := c.at(r.At); at != "" && !strings.Contains(r.Text, at) {
		by = append(by, at)
	}
	if len(by) == 0 {
		return text
	}
	return text + " (" + strings.Join(by, ", ") + ")"
}

// shorten cuts what a long here-document or a long word would make of one line.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// cut ends a text that would fill the screen; it keeps its lines.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most && !strings.Contains(text, "\n") {
		return string(runes[:most-1]) + "…"
	}
	return text
}
