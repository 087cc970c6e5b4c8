package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/rules/library"
	"gatehouse/internal/cli"
	"gatehouse/internal/spelling"
)

func newRulesLibraryCommand(g *globals) *cobra.Command {
	var asJSON bool
	var tag string
	cmd := &cobra.Command{
		Use:     "library [NAME]",
		Aliases: []string{"show"},
		Short:   "List the rules that come with the program, or show one entry",
		Long: `List the entries of the library: rules that come with the program, to be taken by name with "gate rules add" or with "use"
in rules.yaml. With a NAME, print the entry as it would stand in a rule file: copied into rules.yaml it can be changed.`,
		Example: `  gate rules library
  gate rules library --tag git
  gate rules library no-force-push`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				if tag != "" {
					return errors.New("--tag chooses from the list: give it no entry")
				}
				return showEntry(g.streams.Out, args[0], asJSON)
			}
			return listLibrary(g.streams.Out, tag, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&tag, "tag", "", "list only the entries with this `tag`")
	return cmd
}

func listLibrary(w io.Writer, tag string, asJSON bool) error {
	doc := struct {
		Schema  string         `json:"schema"`
		Entries []library.Info `json:"entries"`
	}{"gatehouse/rules-library/v1", []library.Info{}}
	var tags []string
	width := 0
	for _, name := range library.Names() {
		info, err := library.Describe(name)
		if err != nil {
			return err
		}
		for _, t := range info.Tags {
			if !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
		if tag == "" || slices.Contains(info.Tags, tag) {
			doc.Entries = append(doc.Entries, info)
			width = max(width, len(name))
		}
	}
	if len(doc.Entries) == 0 {
		slices.Sort(tags)
		return fmt.Errorf("no entry has the tag %q; there are %s", tag, strings.Join(tags, ", "))
	}
	if asJSON {
		return cli.PrintJSON(w, doc)
	}
	out := bufio.NewWriter(w)
	for _, info := range doc.Entries {
		fmt.Fprintf(out, "%-*s  %s\n", width, info.Name, info.Summary)
	}
	return out.Flush()
}

func showEntry(out io.Writer, name string, asJSON bool) error {
	text, ok := library.Source(name)
	if !ok {
		return noSuchEntry(name)
	}
	if !asJSON {
		_, err := out.Write(text)
		return err
	}
	info, err := library.Describe(name)
	if err != nil {
		return err
	}
	return cli.PrintJSON(out, struct {
		Schema string `json:"schema"`
		library.Info
		Source string `json:"source"`
	}{"gatehouse/rules-entry/v1", info, string(text)})
}

func noSuchEntry(name string) error {
	hint := "gate rules library lists them"
	if nearest := spelling.Nearest(name, library.Names()); nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	return fmt.Errorf("the library has no entry %q; %s", name, hint)
}
