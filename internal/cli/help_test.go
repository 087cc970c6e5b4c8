package cli

import (
	"strings"
	"testing"
)

func TestHangIndentsWhatFollows(t *testing.T) {
	for width, want := range map[int]string{
		0:  "  why: one two three",
		12: "  why: one\n    two\n    three",
		99: "  why: one two three",
	} {
		if got := strings.Join(Hang("  ", "why: one two three", width), "\n"); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

func TestReflowBreaksOnlyWhatIsTooWide(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"what fits stays", "one two\nthree", "one two\nthree"},
		{"what does not is broken anew, with its neighbours", "one two three four\nfive", "one two\nthree four\nfive"},
		{"paragraphs stay apart", "one two three four\n\nfive", "one two\nthree four\n\nfive"},
		{"a list stays", "one:\n  - two three four five\nsix", "one:\n  - two three four five\nsix"},
		{"a long word stands alone", "a longer-than-ten b", "a\nlonger-than-ten\nb"},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := reflow(tc.in, 10); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
