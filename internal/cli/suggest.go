package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gatehouse/internal/spelling"
)

// suggestFlag adds the nearest flag to the error for an unknown one, and where the flags are listed.
func suggestFlag(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("; see %q", cmd.CommandPath()+" --help")
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		name, _, _ = strings.Cut(name, "=")
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		if nearest := spelling.Nearest(name, flags); nearest != "" {
			hint = fmt.Sprintf("; did you mean --%s?", nearest)
		}
	}
	return fmt.Errorf("%w%s", err, hint)
}

// sayWhatToGive puts the command line in the place of cobra's count of arguments, for a command and all below it.
func sayWhatToGive(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		sayWhatToGive(sub)
	}
	fits := cmd.Args
	if fits == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := fits(cmd, args)
		if err != nil && (strings.HasPrefix(err.Error(), "accepts ") || strings.HasPrefix(err.Error(), "requires ")) {
			return fmt.Errorf("this takes other arguments: %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return err
	}
}

// suggestCommand adds the nearest command to the error for an unknown one, or where the commands are listed.
func suggestCommand(root *cobra.Command, err error) error {
	rest, ok := strings.CutPrefix(err.Error(), `unknown command "`)
	if !ok {
		return err
	}
	word, path, _ := strings.Cut(rest, `" for `)
	var names []string
	at := root
	if words, err := strconv.Unquote(path); err == nil {
		for _, name := range strings.Fields(words)[1:] {
			for _, c := range at.Commands() {
				if c.Name() == name {
					at = c
					break
				}
			}
		}
	}
	for _, c := range at.Commands() {
		if slices.Contains(c.SuggestFor, word) {
			return fmt.Errorf("%w; did you mean %s?", err, c.Name())
		}
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if nearest := spelling.Nearest(word, names); nearest != "" {
		return fmt.Errorf("%w; did you mean %s?", err, nearest)
	}
	if at != root && len(names) > 0 {
		return fmt.Errorf("%w; it has %s", err, strings.Join(names, ", "))
	}
	return fmt.Errorf("%w; see \"%s --help\"", err, strings.Trim(path, `"`))
}
