package ledger

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestADecisionIsFoundByTheBeginningOfItsID(t *testing.T) {
	l := newLog(t)
	l.Size = 3000
	entries := fill(t, l, 20)
	wanted := entries[3]
	status := 1
	if err := l.Append(t.Context(), &Entry{Kind: Ran, ID: wanted.ID, Line: wanted.Line, Status: &status}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{wanted.ID, wanted.ID[2:], wanted.ID[:10], strings.ToUpper(wanted.ID[2:])} {
		got, err := l.History(t.Context(), id)
		if err != nil || len(got) != 2 || got[0].Line != "echo 3" || got[1].Kind != Ran || *got[1].Status != 1 {
			t.Errorf("%s: %v %v", id, got, err)
		}
	}
	for id, want := range map[string]string{
		"c-12":           "no decision id",
		"d-0123456789ab": "no decision id",
		"c-xyzw":         "no decision id",
		"":               "no decision id",
		"c-0000000000":   "no decision in the log",
	} {
		if _, err := l.History(t.Context(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", id, err, want)
		}
	}
}

func TestAShortIDThatFitsSeveralDecisionsIsRefused(t *testing.T) {
	l := newLog(t)
	l.Size = 100 << 20
	seen := make(map[string]string)
	for i := range 3000 { // two of them share 4 digits
		e := decision("echo " + strconv.Itoa(i))
		if err := l.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[e.ID[:6]]; ok {
			if _, err := l.History(t.Context(), e.ID[:6]); err == nil || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), e.ID) {
				t.Errorf("%v", err)
			}
			return
		}
		seen[e.ID[:6]] = e.ID
	}
	t.Fatal("no two ids begin alike")
}

func TestFiltersChoose(t *testing.T) {
	e := decision("git push --force")
	e.Time = noon
	e.Reasons[0].Rule = "git push"
	for name, test := range map[string]struct {
		filter Filter
		want   bool
	}{
		"all":              {Filter{}, true},
		"session":          {Filter{Session: "s1"}, true},
		"part of it":       {Filter{Session: "s"}, true},
		"another session":  {Filter{Session: "s2"}, false},
		"client":           {Filter{Client: "codex"}, true},
		"another client":   {Filter{Client: "gemini"}, false},
		"verdict":          {Filter{Verdict: Deny}, true},
		"another verdict":  {Filter{Verdict: Allow}, false},
		"rule":             {Filter{Rule: "git push"}, true},
		"another rule":     {Filter{Rule: "rm"}, false},
		"text of the line": {Filter{Grep: "--force"}, true},
		"text of a reason": {Filter{Grep: "no entry"}, true},
		"another text":     {Filter{Grep: "xyz"}, false},
		"since then":       {Filter{Since: noon}, true},
		"since later":      {Filter{Since: noon.Add(1)}, false},
	} {
		if got := test.filter.Match(e); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheNewestComeFirstWhereAsked(t *testing.T) {
	l := newLog(t)
	l.Size = 2000
	fill(t, l, 12)
	var got []string
	if err := l.Newest(t.Context(), func(line Line) error {
		if got = append(got, line.Entry.Line); len(got) == 3 {
			return ErrStop
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"echo 11", "echo 10", "echo 9"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFollowMissesNothingWhileFilesRotate(t *testing.T) {
	l := newLog(t)
	l.Size, l.Files = 2000, 1000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const first, more = 7, 100
	entries := fill(t, l, first)
	written := make(chan struct{})
	var got []string
	err := l.Follow(ctx, entries[2].Seq, func(line Line) error {
		if line.Err != nil {
			t.Errorf("%s:%d: %v", line.File, line.Number, line.Err)
		}
		if got = append(got, line.Entry.Line); len(got) == first-3 { // all that was there
			go func() {
				defer close(written)
				for i := range more {
					if err := l.Append(ctx, decision("more "+strconv.Itoa(i))); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		if len(got) == first-3+more {
			return ErrStop
		}
		return nil
	})
	<-written
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range got {
		want := "echo " + strconv.Itoa(i+3)
		if i >= first-3 {
			want = "more " + strconv.Itoa(i-first+3)
		}
		if line != want {
			t.Fatalf("line %d is %q, want %q", i, line, want)
		}
	}
}

func TestFollowWaitsForALogAndEndsWithItsContext(t *testing.T) {
	l := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- l.Follow(ctx, 0, func(Line) error {
			cancel()
			return nil
		})
	}()
	fill(t, l, 1)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

func TestParseTakesOnlyWhatAppendWrites(t *testing.T) {
	l := newLog(t)
	fill(t, l, 1)
	data, err := os.ReadFile(l.path(current))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(string(data), "\n")
	if _, err := Parse([]byte(line)); err != nil {
		t.Fatal(err)
	}
	e, err := Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	forge := func(change func(*Entry)) string {
		forged := *e
		change(&forged)
		return strings.TrimSuffix(string(forged.encode(nil)), "\n")
	}
	for name, text := range map[string]string{
		"nothing":         "",
		"no hash":         "{}",
		"another line":    forge(func(e *Entry) { e.Line = "rm -rf /" }),
		"another cwd":     forge(func(e *Entry) { e.Cwd = "/" }),
		"another policy":  forge(func(e *Entry) { e.PolicyTree = strings.Repeat("cd", 32) }),
		"argv beside it":  forge(func(e *Entry) { e.Argv = []string{"x"} }),
		"no verdict":      forge(func(e *Entry) { e.Verdict = "" }),
		"another kind":    forge(func(e *Entry) { e.Kind = "x" }),
		"something after": line + " ",
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestAStoredLogIsReadForEver reads a file of the first version, byte for byte.
func TestAStoredLogIsReadForEver(t *testing.T) {
	data, err := os.ReadFile("testdata/decisions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t)
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path(current), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, l); r.Break != nil || r.Entries != 5 || r.Head.Count != 5 {
		t.Errorf("%+v %v", r, r.Break)
	}
	said, err := l.History(t.Context(), "c-a7ae")
	if err != nil || said[0].Line != "git push --force" || said[0].Reasons[0].Why == "" {
		t.Errorf("%+v %v", said, err)
	}
}

func FuzzParse(f *testing.F) {
	e := decision("echo \"größe\"\n\x01")
	e.Time = noon
	r, err := prepare(e, noon)
	if err != nil {
		f.Fatal(err)
	}
	r.Seq, r.Prev = 1, start().hash
	f.Add(string(r.encode(nil)))
	f.Fuzz(func(t *testing.T, line string) {
		e, err := Parse([]byte(line))
		if err != nil {
			return
		}
		if again, err := e.MarshalJSON(); err != nil || string(again) != line {
			t.Fatalf("%q is written as %q, %v", line, again, err)
		}
	})
}

// FuzzAppend writes any text and reads it back.
func FuzzAppend(f *testing.F) {
	f.Add("echo a", "s", "b\xff")
	f.Fuzz(func(t *testing.T, line, session, arg string) {
		l := newLog(t)
		for _, e := range []*Entry{
			{Kind: Decision, Verdict: Ask, Line: line, Session: session},
			{Kind: Decision, Verdict: Ask, Argv: []string{line, arg}, Session: session},
			{Kind: Decision, Verdict: Ask, Tool: &Tool{Name: line, Args: map[string]any{session: arg, "x": []any{line}}}},
		} {
			if err := l.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := l.Verify(t.Context()); err != nil || r.Break != nil || r.Entries != 3 {
			t.Fatalf("%+v %v", r, err)
		}
	})
}
