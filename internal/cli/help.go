package cli

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// fitHelp makes the paragraphs of help texts as wide as the terminal, where there is one that is narrower than they are.
func fitHelp(root *cobra.Command, streams Streams) {
	width := streams.Width()
	if width == 0 {
		return
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = reflow(cmd.Long, width)
		help(cmd, args)
	})
}

// Width is how many characters a line of the terminal holds; 0 where the output is no terminal, or a very narrow one.
func (s Streams) Width() int {
	f, ok := s.Out.(*os.File)
	if !ok || !IsTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		return 0
	}
	return width
}

// Hang sets a text into lines of at most width characters. The first begins with indent, those after it two further in.
// A width of 0 is none.
func Hang(indent, text string, width int) []string {
	if width == 0 || utf8.RuneCountInString(indent+text) <= width {
		return []string{indent + text}
	}
	lines := fill(strings.Fields(text), width-len(indent)-2)
	for i := range lines {
		lines[i] = indent + lines[i]
		if i == 0 {
			indent += "  "
		}
	}
	return lines
}

// reflow breaks the paragraphs of a text anew where one of their lines is wider than width. What is indented, as lists and
// examples are, stays as it is.
func reflow(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		wide := false
		for _, line := range paragraph {
			wide = wide || utf8.RuneCountInString(line) > width
		}
		if wide {
			paragraph = fill(strings.Fields(strings.Join(paragraph, " ")), width)
		}
		out, paragraph = append(out, paragraph...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' || line[0] == '\t' {
			flush()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// fill sets words into lines of at most width characters, one word at least.
func fill(words []string, width int) (lines []string) {
	line := ""
	for _, word := range words {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
