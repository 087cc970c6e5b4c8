package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestContrast computes what WCAG 2.2 asks for: 4.5 to 1 for texts, 3 to 1 for shapes, in each scheme.
func TestContrast(t *testing.T) {
	schemes := schemes(t)
	pairs := []struct {
		front, back string
		least       float64
	}{
		{"ink", "paper", 4.5}, {"ink", "sheet", 4.5}, {"ink", "code-sheet", 4.5}, {"ink", "found-sheet", 4.5}, {"ink", "unsure-sheet", 4.5},
		{"soft", "paper", 4.5}, {"soft", "sheet", 4.5}, {"soft", "code-sheet", 4.5},
		{"link", "paper", 4.5}, {"link", "sheet", 4.5}, {"link", "found-sheet", 3}, {"link", "unsure-sheet", 3}, {"link", "code-sheet", 4.5},
		{"good", "paper", 4.5}, {"good", "sheet", 4.5}, {"found", "paper", 4.5}, {"found", "sheet", 4.5}, {"unsure", "paper", 4.5}, {"unsure", "sheet", 4.5},
		{"found", "found-sheet", 4.5}, {"unsure", "unsure-sheet", 4.5}, {"sheet", "found", 3},
		{"added", "added-sheet", 4.5}, {"removed", "removed-sheet", 4.5}, {"place", "code-sheet", 4.5},
	}
	for name, colours := range schemes {
		for _, p := range pairs {
			if got := contrast(t, colours[p.front], colours[p.back]); got < p.least {
				t.Errorf("%s: %s on %s has %.2f, less than %.1f", name, p.front, p.back, got, p.least)
			}
		}
		if name != "print" {
			continue
		}
		for colour := range schemes["light"] {
			if _, ok := colours[colour]; !ok {
				t.Errorf("a printed page takes %s from the screen, which may be dark", colour)
			}
		}
	}
}

// schemes are the colours by name of each :root in the style: light, dark and printed.
func schemes(t *testing.T) map[string]map[string]string {
	t.Helper()
	roots := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(style, -1)
	found := map[string]map[string]string{}
	for _, root := range roots {
		colours := map[string]string{}
		for _, c := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{3,6});`).FindAllStringSubmatch(root[1], -1) {
			colours[c[1]] = c[2]
		}
		switch len(found) {
		case 0:
			found["light"] = colours
		case 1:
			found["dark"] = colours
		default:
			if len(colours) > 0 {
				found["print"] = colours
			}
		}
	}
	if len(found) != 3 || len(found["light"]) != len(found["dark"]) || !strings.Contains(style, "prefers-color-scheme: dark") {
		t.Fatalf("schemes: %v", found)
	}
	return found
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	digits := strings.TrimPrefix(colour, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		t.Fatalf("%q is no colour", colour)
	}
	linear := func(v uint64) float64 {
		c := float64(v&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

// TestStyleServesEverybody looks for what is easily lost in an edit of the style.
func TestStyleServesEverybody(t *testing.T) {
	for what, part := range map[string]string{
		"focus can be seen":                 ":focus-visible { outline:",
		"more contrast for who asks for it": "prefers-contrast: more",
		"colours of the system":             "forced-colors: active",
		"a printed form":                    "@media print",
		"a narrow form":                     "max-width: 34rem",
		"captions as wide as narrow tables": "table, caption, tbody, tr, th, td { display: block; }",
		"nothing is cut off":                "overflow-wrap: anywhere",
		"an old page says so":               "animation: old 0s linear 300s forwards",
	} {
		if !strings.Contains(style, part) {
			t.Errorf("%s: the style has no %q", what, part)
		}
	}
	// Nothing moves, so there is nothing to reduce: what tells that a page is old appears at once.
	for _, moving := range []string{"transition", "scroll-behavior", "infinite", "blink"} {
		if strings.Contains(style, moving) {
			t.Errorf("something moves: %s", moving)
		}
	}
	if n := strings.Count(style, "animation"); n != 1 {
		t.Errorf("%d animations", n)
	}
	if strings.Contains(style, "outline: none") && strings.Count(style, "outline: none") != strings.Count(style, "main:focus { outline: none; }") {
		t.Error("the focus is hidden somewhere")
	}
}
