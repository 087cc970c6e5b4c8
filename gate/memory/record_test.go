package memory

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRecordsAreBoundedAndHoldNoSecrets(t *testing.T) {
	const token = "ghp_0123456789abcdefghij0123456789abcdef"
	long := strings.Repeat("ü", Longest)
	many := make([]string, 5000)
	for i := range many {
		many[i] = strings.Repeat("x", 100)
	}
	for name, c := range map[string]struct {
		in  Arg
		cut bool
	}{
		"plain":          {Arg{"a", "text"}, false},
		"just fits":      {Arg{"a", strings.Repeat("x", Longest)}, false},
		"too long":       {Arg{"a", long}, true},
		"token":          {Arg{"a", "x " + token}, true},
		"named":          {Arg{"password", "hunter2hunter2"}, true},
		"list":           {Arg{"a", []string{"b", ""}}, false},
		"token in list":  {Arg{"a", []string{"b", token}}, true},
		"long list":      {Arg{"a", many}, true},
		"no text":        {Arg{"a", "\xff\xfe"}, true},
		"another value":  {Arg{"a", map[string]any{"x": 1.5}}, true},
		"no value":       {Arg{"a", nil}, true},
		"no JSON at all": {Arg{"a", func() {}}, true},
	} {
		s := Store{Dir: t.TempDir()}
		must(t, s.Update(t.Context(), []ID{session}, func([]*State) ([]Record, error) {
			return []Record{{Line: "run " + token, Name: "x", Args: []Arg{c.in, {"after", 1}}}}, nil
		}))
		got := records(t, s, session)[0]
		var want []string
		if c.cut {
			want = []string{c.in.Name}
		}
		if diff := cmp.Diff(want, got.Cut, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if !c.cut && !cmp.Equal(c.in, got.Args[0]) {
			t.Errorf("%s: got %v", name, got.Args[0])
		}
		if got.Args[1] != (Arg{"after", 1}) {
			t.Errorf("%s: the next argument is %v", name, got.Args[1])
		}
		entries, err := os.ReadDir(s.dir(session))
		must(t, err)
		for _, e := range entries {
			raw, err := os.ReadFile(filepath.Join(s.dir(session), e.Name()))
			must(t, err)
			_, text, _ := bytes.Cut(raw, []byte(`{"seq"`)) // what stands before it is not JSON
			if len(raw) > longestArgs+8<<10 || bytes.Contains(raw, []byte(token)) || bytes.Contains(raw, []byte("hunter2")) || !utf8.Valid(text) {
				t.Errorf("%s: %d bytes, or a secret: %.300q", name, len(raw), raw)
			}
		}
	}
}

func TestALongTextIsCutBetweenCharactersAndSaysSo(t *testing.T) {
	got := cutTo("aüüü", 4)
	if want := "aü«4 bytes cut»"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheLineOfManyCallsIsKeptOnce(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	long := strings.Repeat("x", 1000)
	must(t, s.Update(t.Context(), []ID{session}, line(long, 10)))
	raw, err := os.ReadFile(s.file(session))
	must(t, err)
	if n := strings.Count(string(raw), long); n != 1 {
		t.Errorf("the line stands there %d times", n)
	}
	for _, r := range records(t, s, session) {
		if r.Line != long {
			t.Errorf("call %d is of %q", r.Seq, r.Line)
		}
	}
}

func TestTheRecordsOfTheLongestLineAreBounded(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	huge := make([]Record, 10_000)
	dir, text, word := strings.Repeat("d", 4000), strings.Repeat("l", 1<<20), strings.Repeat("x", 5000)
	for i := range huge {
		huge[i] = Record{Cwd: dir, Line: text, Name: "x", Args: []Arg{{"argv", []string{word, "y"}}}}
	}
	must(t, s.Update(t.Context(), []ID{session}, func([]*State) ([]Record, error) { return huge, nil }))
	trace := records(t, s, session)
	if g := load(t, s, session).kept.segments; len(trace) != len(huge) || len(g) != 1 || g[0].size > 6<<20 {
		t.Errorf("%d records, %v", len(trace), g)
	}
	if last := trace[len(trace)-1]; len(last.Cut) != 1 {
		t.Errorf("nobody is told that %v is not all", last.Args)
	}
}

func TestTheTraceIsBounded(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for range 60 {
		must(t, s.Update(t.Context(), []ID{session}, line(strings.Repeat("x", 100), 1000)))
	}
	entries, err := os.ReadDir(s.dir(session))
	must(t, err)
	var total int64
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(s.dir(session), e.Name()))
		must(t, err)
		total += info.Size()
	}
	if total > traceSize*5/4 {
		t.Errorf("%d bytes in %d files", total, len(entries))
	}
	trace := records(t, s, session)
	if last := trace[len(trace)-1].Seq; last != 60_000 || len(trace) < 20_000 || len(trace) == 60_000 {
		t.Errorf("%d records, the last has the number %d", len(trace), last)
	}
}
