package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestManualHasAPageForEachCommandInTheWordsOfItsHelp(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "Does things", Long: "It does.\n\n  as it stands\n\nOr not… \\ really.\n.hidden", RunE: func(*cobra.Command, []string) error { return nil }}
	sub := &cobra.Command{Use: "do THING", Short: "Does one", Example: "  tool do it", RunE: root.RunE}
	sub.Flags().StringP("way", "w", "left", "go this `way`")
	secret := &cobra.Command{Use: "secret", Hidden: true, RunE: root.RunE}
	root.AddCommand(sub, secret)
	dir := filepath.Join(t.TempDir(), "man1")
	var errs bytes.Buffer
	streams := Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs, Getenv: func(string) string { return "" }}
	if code := Run(context.Background(), root, []string{"man", dir}, streams); code != Yes {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	pages, err := os.ReadDir(dir)
	if err != nil || len(pages) != 2 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for name, parts := range map[string][]string{
		"tool.1":    {".SH NAME\ntool \\- Does things\n", ".nf\n  as it stands\n.PP\n.fi\nOr not\\[u2026] \\e really.\n\\&.hidden\n", ".BR tool\\-do (1)\n"},
		"tool-do.1": {".TH TOOL\\-DO 1", "tool do THING [flags]", ".B \\-w, \\-\\-way way\ngo this way (left)\n", ".SH EXAMPLES\n.nf\n  tool do it\n.fi\n"},
	} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(page), part) {
				t.Errorf("%s has no %q:\n%s", name, part, page)
			}
		}
	}
}
