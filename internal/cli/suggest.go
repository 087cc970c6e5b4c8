package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggestFlag adds the nearest flag to the error for an unknown one, and where the flags are listed.
func suggestFlag(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("; see %q", cmd.CommandPath()+" --help")
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		name, _, _ = strings.Cut(name, "=")
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		if nearest := Nearest(name, flags); nearest != "" {
			hint = fmt.Sprintf("; did you mean --%s?", nearest)
		}
	}
	return fmt.Errorf("%w%s", err, hint)
}

// suggestCommand adds the nearest command to the error for an unknown one, or where the commands are listed.
func suggestCommand(root *cobra.Command, err error) error {
	rest, ok := strings.CutPrefix(err.Error(), `unknown command "`)
	if !ok {
		return err
	}
	word, path, _ := strings.Cut(rest, `" for `)
	var names []string
	if path == strconv.Quote(root.Name()) {
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
	}
	if nearest := Nearest(word, names); nearest != "" {
		return fmt.Errorf("%w; did you mean %s?", err, nearest)
	}
	return fmt.Errorf("%w; see \"%s --help\"", err, strings.Trim(path, `"`))
}

// Nearest returns the candidate that word was most likely meant to be, or nothing: one within two edits, or one that
// begins with word.
func Nearest(word string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		if d := edits(word, c); d < distance {
			best, distance = c, d
		}
	}
	if best == "" && len(word) >= 3 {
		for _, c := range candidates {
			if strings.HasPrefix(c, word) {
				return c
			}
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			above := row[j]
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j]+1, row[j-1]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(b)]
}
