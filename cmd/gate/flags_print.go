package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"gatehouse/gate/flags"
	"gatehouse/internal/cli"
)

const flagsSchema = "gatehouse/flags/v1"

// flagsJSON is what gate flags prints. A text that was given has no binary and no sources.
type flagsJSON struct {
	Schema      string     `json:"schema"`
	Binary      string     `json:"binary,omitempty"`
	Sub         []string   `json:"sub,omitempty"`
	SHA256      string     `json:"sha256,omitempty"`
	Sources     []string   `json:"sources,omitempty"`
	Missing     string     `json:"missing,omitempty"`
	Flags       []flagJSON `json:"flags"`
	Subcommands []string   `json:"subcommands"`
}

type flagJSON struct {
	Names       []string  `json:"names"`
	Value       string    `json:"value"`
	Choices     *[]string `json:"choices,omitempty"`
	Arity       int       `json:"arity,omitempty"`
	Repeat      bool      `json:"repeat,omitempty"`
	Variadic    bool      `json:"variadic,omitempty"`
	EndsOptions bool      `json:"ends_options,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	Uncertain   bool      `json:"uncertain,omitempty"`
}

func entryJSON(e *flags.Entry) flagsJSON {
	doc := flagsJSON{
		Schema: flagsSchema, Binary: e.File.Path, Sub: e.Sub, SHA256: e.File.SHA256, Sources: e.Sources,
		Flags: []flagJSON{}, Subcommands: append([]string{}, e.Subcommands...),
	}
	for _, f := range e.Flags {
		out := flagJSON{
			Names: f.Names, Value: f.Value.String(), Arity: f.Arity, Repeat: f.Repeat, Variadic: f.Variadic,
			EndsOptions: f.EndsOptions, Uncertain: f.Uncertain,
		}
		if f.Choices != nil {
			out.Choices = &f.Choices
		}
		if f.Digits {
			out.Pattern = "-[0-9]+"
		}
		doc.Flags = append(doc.Flags, out)
	}
	return doc
}

func printFlags(w io.Writer, e *flags.Entry) error {
	out := bufio.NewWriter(w)
	title := strings.Join(append([]string{e.File.Path}, e.Sub...), " ")
	if e.File.Path == "" {
		title = "help text"
	}
	title += fmt.Sprintf(": %d flags", len(e.Flags))
	if len(e.Sources) > 0 {
		title += ", from " + strings.Join(e.Sources, ", ")
	} else if e.File.Path != "" {
		title += ": it has no help that could be read"
	}
	fmt.Fprintln(out, cli.Line(title))
	for _, f := range e.Flags {
		fmt.Fprintln(out, cli.Line("  "+flagLine(f)))
	}
	if len(e.Subcommands) > 0 {
		fmt.Fprintln(out, cli.Line("commands: "+strings.Join(e.Subcommands, " ")))
	}
	return out.Flush()
}

// flagLine shows a flag in the way that help texts do.
func flagLine(f flags.Flag) string {
	line := strings.Join(f.Names, ", ")
	value := "VALUE"
	if f.Choices != nil {
		value = "{" + strings.Join(f.Choices, ",") + "}"
	}
	switch {
	case f.Digits: // the name says it
	case f.Value == flags.Required:
		line += strings.Repeat(" "+value, max(1, f.Arity))
	case f.Value == flags.Optional && f.Next:
		line += " [" + value + "]"
	case f.Value == flags.Optional:
		line += "[=" + value + "]"
	case f.Value == flags.Unknown:
		line += "  (its help does not say whether it takes a value)"
	}
	if f.Variadic || f.Repeat {
		line += " ..."
	}
	if f.Uncertain {
		line += "  (uncertain)"
	}
	return line
}
