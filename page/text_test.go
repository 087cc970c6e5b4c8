package page

import (
	"slices"
	"strings"
	"testing"
)

func TestPlainShowsWhatATextHolds(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"gate.yaml":                  "gate.yaml",
		"a\tb":                       "a\tb",
		"a\nb\r":                     `a\nb\r`,
		"\x1b[31m":                   `\x1b[31m`,
		"\u202eevil":                 `\u202eevil`,
		"\u2066\u2069\u200e":         `\u2066\u2069\u200e`,
		"a\u00a0b":                   `a\u00a0b`,
		"\xff":                       `\xff`,
		"\ufffd":                     `\ufffd`,
		"e\u0301":                    "e\u0301",
		"e\u0301\u0302\u0303\u0304x": "e\u0301\u0302" + `\u0303\u0304x`,
		"a\ufe0f\u3164":              `a\ufe0f\u3164`,
		"\U000e0041":                 `\U000e0041`,
		"שלום":                       "שלום",
		"😀":                          "😀",
		"1234567890123":              "1234567890… (3 more)",
		"日本語日本語日本語日本語":               "日本語日本語日本語日… (2 more)",
		"12345678\n\n":               `12345678\n\n`,
		strings.Repeat("x", 12_345):  "xxxxxxxxxx… (12\u202f335 more)",
	} {
		if got := plain(in, 10); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestNaturalOrder(t *testing.T) {
	want := []string{"", "01", "1", "2", "10", "a", "a-1.x", "a-2", "a-2b", "a-02c", "a-10", "agent", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
