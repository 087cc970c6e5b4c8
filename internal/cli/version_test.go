package cli

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestVersionIsAFlagOfTheProgramAndOfNoCommand(t *testing.T) {
	for line, want := range map[string]struct {
		code int
		out  string
	}{
		"--version":    {Yes, `^prog version \S+ \(go\S+.*\)\n$`},
		"do --version": {Unknown, `^$`},
		"--help":       {Yes, `--version +print the version and the commit that was built\n`},
	} {
		root := &cobra.Command{Use: "prog", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
		root.AddCommand(&cobra.Command{Use: "do", RunE: func(*cobra.Command, []string) error { return nil }})
		var out, errOut bytes.Buffer
		code := Run(context.Background(), root, strings.Fields(line), Streams{In: strings.NewReader(""), Out: &out, Err: &errOut,
			Getenv: func(string) string { return "" }})
		if code != want.code || !regexp.MustCompile(want.out).MatchString(out.String()) {
			t.Errorf("prog %s: code %d, output %q; want %d and %s", line, code, out.String(), want.code, want.out)
		}
	}
}
