package shell

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBashRunsOnlyWhatIsListed makes lines out of bash's grammar and compares what Parse lists with what bash runs. It
// makes the same few hundred lines each time; SHELL_DIFFERENTIAL=10m (a duration) makes it look for
// new ones, that long for each half.
func TestBashRunsOnlyWhatIsListed(t *testing.T) {
	for _, half := range []string{"generated", "mangled"} {
		t.Run(half, func(t *testing.T) {
			b, end := newBashRunner(t), differentialEnd(t)
			lines, followed := 0, 0
			for round := uint64(1); !t.Failed() && (round <= 2 || time.Now().Before(end)); round++ {
				seed(t, round, end)
				rapid.Check(t, func(t *rapid.T) {
					line := generated(t)
					if half == "mangled" {
						line = mangled(t, line)
					}
					ok, err := b.check(line, half == "generated")
					if err != nil {
						t.Fatalf("%s\n%q\n%v", line, line, err)
					}
					lines++
					followed += btoi(ok)
				})
			}
			t.Logf("%d lines, %d of them followed", lines, followed)
			if lines > 100 && followed < lines/8 {
				t.Errorf("only %d of %d lines are followed", followed, lines)
			}
		})
	}
}

// differentialEnd is when the search for new lines ends; zero without one.
func differentialEnd(t *testing.T) time.Time {
	text := os.Getenv("SHELL_DIFFERENTIAL")
	if text == "" {
		return time.Time{}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return time.Now().Add(d)
}

// seed makes a round repeatable, unless new lines are looked for.
func seed(t *testing.T, round uint64, end time.Time) {
	if !end.IsZero() {
		round = 0
	}
	if err := flag.Set("rapid.seed", strconv.FormatUint(round, 10)); err != nil {
		t.Fatal(err)
	}
}

// FuzzAgainstBash: whatever bash runs of a line is listed, or the line is refused.
func FuzzAgainstBash(f *testing.F) {
	f.Add("cd a && x=$(b | c) && d $x")
	if flag.Lookup("test.fuzz").Value.String() != "" { // other tests run these, and each costs a bash
		for _, line := range slices.Concat(seeds(f), agreeLines, hostileLines, bashLines) {
			f.Add(line)
		}
	}
	b := newBashRunner(f)
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 300 {
			t.Skip("too long to be told apart from noise")
		}
		if _, err := b.check(line, false); err != nil {
			t.Fatalf("%s\n%v", line, err)
		}
	})
}

// TestBashLines are lines that one of the tests above has found.
func TestBashLines(t *testing.T) {
	b := newBashRunner(t)
	for _, line := range bashLines {
		if _, err := b.check(line, true); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// check compares what bash runs of line with what Parse lists. It reports whether Parse follows the line at all.
func (b *bashRunner) check(line string, exactly bool) (followed bool, err error) {
	cmds, err := Parse(line, sandboxOptions)
	if err != nil {
		return false, nil
	}
	calls, output, err := b.run(line)
	if errors.Is(err, errHangs) || err != nil {
		return true, nil
	}
	for _, call := range calls {
		if !slices.ContainsFunc(cmds, func(c Command) bool { return c.canBe(call) }) {
			return true, fmt.Errorf("bash ran %q in %s, which is not listed; listed:%s\noutput: %s", call.argv, call.dir, describe(cmds), output)
		}
	}
	if !exactly || gaveUp(output) {
		return true, nil
	}
	for i, c := range cmds {
		if !c.certain() {
			continue
		}
		want := 0
		for _, same := range cmds[:i+1] {
			want += btoi(same.certain() && slices.EqualFunc(same.Words, c.Words, sameWord) && same.Dir.Path == c.Dir.Path)
		}
		got := 0
		for _, call := range calls {
			got += btoi(c.canBe(call))
		}
		if got < want {
			return true, fmt.Errorf("%s is listed %d times without a condition, and ran %d times; ran: %q; listed:%s\noutput: %s",
				joinTexts(c.Words), want, got, calls, describe(cmds), output)
		}
	}
	return true, nil
}

// gaveUp reports whether bash stopped in the middle for a reason that Parse does not foresee: that it lists more then is
// no fault.
func gaveUp(output string) bool {
	for _, reason := range []string{"syntax error", "invalid indirect", "readonly variable", "No such file or directory", "unbound variable", "division by 0", "bad substitution",
		"bad array subscript", "ambiguous redirect", "error token", "substring expression", "invalid variable name", "invalid number"} {
		if strings.Contains(output, reason) {
			return true
		}
	}
	return false
}

// canBe reports whether call is one that c stands for.
func (c *Command) canBe(call ran) bool {
	return filepath.Base(c.Name()) == filepath.Base(call.argv[0]) && fits(c.Words[1:], call.argv[1:], c.XArgs) && fitsDir(c.Dir, call.dir)
}

// certain reports whether c is said to run, and exactly so. Where a redirection of it could fail, nothing is certain.
func (c *Command) certain() bool {
	inexact := func(w Word) bool { return w.State != Exact || w.Splits }
	return noted(c.Name()) && !c.Conditional && !c.Repeated && !c.XArgs && !slices.ContainsFunc(c.Words, inexact) && c.Dir.Exact() &&
		!slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return !r.Copy && r.Target.Text != "/dev/null" && r.Body.Text == "" })
}

func describe(cmds []Command) string {
	var out strings.Builder
	for _, c := range cmds {
		fmt.Fprintf(&out, "\n  %s", show([]Command{c}))
	}
	return out.String()
}

// mangled is a line into which single characters and keywords are put, or from which they are taken.
func mangled(t *rapid.T, line string) string {
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		at := rapid.IntRange(0, len(line)).Draw(t, "at")
		piece := rapid.SampledFrom([]string{"\n", ";", "(", ")", "{", "}", "'", `"`, "`", "\\", "$", "#", "&", "|", "<", ">", "<<A", "<<'A'\n", "\nA\n", "=", "~", "*", "[", "]",
			"!", " ", "\t", "\\\n", "$(", "$((", "((", "))", "${", "[[ ", " ]]", "case ", " in ", "esac", "if ", "then ", "fi", "do ", "done", "while ", "for ", "function ", "()", ";;", "&&", "||",
			"<<<", "<(", "$'", `$"`, "a=(", "coproc ", "select ", "time ", "#\n", " #", "$#", "${#", "${!", "@", ":-", "%", "/", ",", "..", "{a,", "<<-A", "2>", "&>", ">&", "{fd}>", "!(", "@(",
			"\\\\", "alias r=q\n", "r x\n", "\nr x", "; r x;", "\x01", "\x7f", "é", "\u00a0", "-", "+", "e", "0", "x"}).Draw(t, "piece")
		if rapid.IntRange(0, 3).Draw(t, "remove") == 3 {
			end := min(len(line), at+rapid.IntRange(1, 4).Draw(t, "size"))
			line = line[:at] + line[end:]
			continue
		}
		line = line[:at] + piece + line[at:]
	}
	return line
}
