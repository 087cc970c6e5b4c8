package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand writes the manual pages of a program: one for each command, from the same words as its help. It is there only
// where it is asked for, so that no other start pays for it.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Hidden: true,
		Short:  "Write the manual pages into a directory",
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManual(cmd.Root(), args[0])
		},
	}
}

func writeManual(cmd *cobra.Command, dir string) error {
	if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(manual(cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := writeManual(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manual is the page of one command, in the language of man(7).
func manual(cmd *cobra.Command) string {
	var page strings.Builder
	name := pageName(cmd)
	fmt.Fprintf(&page, ".TH %s 1 \"\" Gatehouse\n", roff(strings.ToUpper(name)))
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&page, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(cmd.UseLine()))
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	page.WriteString(".SH DESCRIPTION\n")
	preformatted := false
	for line := range strings.Lines(long) {
		line = strings.TrimSuffix(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != preformatted && line != "" {
			preformatted = indented
			page.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
		}
		if line == "" {
			page.WriteString(".PP\n")
			continue
		}
		page.WriteString(roff(line) + "\n")
	}
	if preformatted {
		page.WriteString(".fi\n")
	}
	options(&page, "OPTIONS", cmd.NonInheritedFlags())
	options(&page, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&page, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	seeAlso(&page, cmd)
	return page.String()
}

func options(page *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(page, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		head := "--" + f.Name
		if f.Shorthand != "" {
			head = "-" + f.Shorthand + ", " + head
		}
		if value != "" {
			head += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (" + f.DefValue + ")"
		}
		fmt.Fprintf(page, ".TP\n.B %s\n%s\n", roff(head), roff(usage))
	})
}

func seeAlso(page *strings.Builder, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			pages = append(pages, pageName(sub))
		}
	}
	if len(pages) == 0 {
		return
	}
	page.WriteString(".SH SEE ALSO\n")
	for i, name := range pages {
		comma := ","
		if i == len(pages)-1 {
			comma = ""
		}
		fmt.Fprintf(page, ".BR %s (1)%s\n", roff(name), comma)
	}
}

// roff keeps text from being taken for requests of the formatter.
func roff(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			out.WriteString(`\e`)
		case r == '-':
			out.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&out, `\[u%04X]`, r)
		default:
			out.WriteRune(r)
		}
	}
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
