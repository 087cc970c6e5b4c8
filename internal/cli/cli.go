// Package cli is what both doors of the house share: streams, exit codes, and how an error or a result is shown.
//
// A command is a function that returns an error. Run is the only place that turns one into an exit code: nil is 0, an
// error made by No is 1 and has been shown already by the command itself, and everything else is 2, printed once as
// "program: error". Exit codes never change: 0 yes, in sync, allowed; 1 no, drift, refused; 2 could not tell.
//
// Printable and Lines make text of foreign origin harmless on a terminal: a name or a line can neither move the cursor
// nor change what stands before or after it.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gatehouse/internal/glyph"
)

// The exit codes.
const (
	Yes     = 0
	No      = 1
	Unknown = 2
)

// Streams are a program's standard input, output and error output, and its environment.
type Streams struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) string
}

// System returns the streams of the process.
func System() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}
}

// Colour reports whether output may be coloured: a terminal, and no NO_COLOR (https://no-color.org).
func (s Streams) Colour() bool {
	return s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb" && IsTerminal(s.Out)
}

// Interactive reports whether a person can be asked: both ends are a terminal.
func (s Streams) Interactive() bool { return IsTerminal(s.In) && IsTerminal(s.Out) }

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// An answer is a "no" that the command has shown in its own words.
type answer struct{ code int }

func (a answer) Error() string { return fmt.Sprintf("exit code %d", a.code) }

// Exit returns the error that makes Run exit with code without a further word, nil for Yes.
func Exit(code int) error {
	if code == Yes {
		return nil
	}
	return answer{code}
}

// Run executes the command tree root with args and returns the exit code.
func Run(ctx context.Context, root *cobra.Command, args []string, streams Streams) int {
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(suggestFlag)
	root.Flags().Bool("version", false, "print the version and the commit that was built")
	// Cobra answers the flag where there is a version. A template of our own would link text/template, which keeps every
	// exported method in the program: a sixth of its size.
	root.Version = "unknown"
	if slices.Contains(args, "--version") {
		root.Version = Version()
	}
	if len(args) > 0 && args[0] == "man" {
		root.AddCommand(manCommand())
	}
	sayWhatToGive(root)
	fitHelp(root, streams)
	err := root.ExecuteContext(ctx)
	var shown answer
	switch {
	case err == nil:
		return Yes
	case errors.As(err, &shown):
		return shown.code
	default:
		text := suggestCommand(root, err).Error()
		for line := range strings.Lines(root.Name() + ": " + text) {
			fmt.Fprintln(streams.Err, Line(strings.TrimSuffix(line, "\n")))
		}
		return Unknown
	}
}

// PrintJSON writes v as indented JSON that a terminal and a browser can show as it is.
func PrintJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, r := range string(data) {
		switch {
		case r == '\n' || glyph.Shows(r):
			out.WriteRune(r)
		case r <= 0xffff: // outside of strings JSON is printable
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		}
	}
	out.WriteByte('\n')
	_, err = io.WriteString(w, out.String())
	return err
}

// ExitCodesTopic is the help topic "exit-codes" of a program.
func ExitCodesTopic(program, codes string) *cobra.Command {
	return &cobra.Command{
		Use:     "exit-codes",
		Short:   "What the exit codes mean",
		Long:    "Exit codes of " + program + ":\n\n" + codes,
		Example: "  " + program + " help exit-codes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}
