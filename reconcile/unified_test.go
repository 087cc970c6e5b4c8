package reconcile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnifiedShowsHunksAsDiffDoes(t *testing.T) {
	for _, row := range []struct{ name, a, b string }{
		{"one line added", "a b c d e f g h", "a b c d X e f g h"},
		{"one line removed", "a b c d e f g h", "a b c e f g h"},
		{"one line changed", "a b c d e f g h", "a b c X e f g h"},
		{"two hunks", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "X 2 3 4 5 6 7 8 9 10 11 12 13 14 Y"},
		{"two changes in one hunk", "1 2 3 4 5 6 7 8", "X 2 3 4 5 6 7 Y"},
		{"from nothing", "", "a b"},
		{"to nothing", "a b", ""},
		{"at both ends", "a b c", "X a b c Y"},
		{"equal", "a b c", "a b c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, b := strings.Fields(row.a), strings.Fields(row.b)
			got := strings.Join(unified(a, b), "\n")
			if want := systemDiff(t, a, b); got != want {
				t.Errorf("got:\n%s\nwant, as diff -u has it:\n%s", got, want)
			}
		})
	}
}

// systemDiff is what diff(1) says, without the names.
func systemDiff(t *testing.T, a, b []string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, lines []string) string {
		text := ""
		for _, line := range lines {
			text += line + "\n"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out, _ := exec.Command("diff", "-u", write("a", a), write("b", b)).Output() // exit code 1 is a difference
	lines := strings.SplitN(strings.TrimSuffix(string(out), "\n"), "\n", 3)
	if len(lines) < 3 {
		return ""
	}
	return lines[2]
}

func TestScriptLeadsFromOneTextToTheOther(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(line, 0, 40).Draw(t, "a"), rapid.SliceOfN(line, 0, 40).Draw(t, "b")
		var fromA, toB []string
		for _, e := range script(a, b) {
			if e.kind != '+' {
				fromA = append(fromA, e.text)
			}
			if e.kind != '-' {
				toB = append(toB, e.text)
			}
		}
		if strings.Join(fromA, "") != strings.Join(a, "") || strings.Join(toB, "") != strings.Join(b, "") {
			t.Fatalf("script of %q and %q gives %q and %q", a, b, fromA, toB)
		}
	})
}

func TestTextsThatHaveNothingInCommonAreShownWhole(t *testing.T) {
	var a, b []string
	for i := range maxDiffLines {
		a, b = append(a, fmt.Sprint("a", i)), append(b, fmt.Sprint("b", i))
	}
	if got := unified(a, b); len(got) != 1+len(a)+len(b) {
		t.Errorf("%d lines", len(got))
	}
}

// BenchmarkUnifiedWorstCase is a diff that an agent would choose: as far apart as the bound allows, with much in common.
func BenchmarkUnifiedWorstCase(b *testing.B) {
	var x, y []string
	for i := range maxDiffLines {
		x, y = append(x, fmt.Sprint(i%7)), append(y, fmt.Sprint(i%5))
	}
	for b.Loop() {
		unified(x, y)
	}
}
