package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LEDGER_WRITER"); dir != "" {
		os.Exit(write(dir, os.Getenv("LEDGER_NAME")))
	}
	os.Exit(m.Run())
}

// write is what a process of its own does in TestManyProcessesWriteOneChain.
func write(dir, name string) int {
	l := Log{Dir: dir, Size: 16 << 10, Files: 1000, Wait: time.Minute}
	for i := range 3 {
		if err := l.Append(context.Background(), decision(fmt.Sprintf("echo %s %d", name, i))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func decision(line string) *Entry {
	return &Entry{Kind: Decision, Session: "s1", Client: "codex", Cwd: "/srv", Line: line, Verdict: Deny, PolicyTree: strings.Repeat("ab", 32),
		Reasons: []Reason{{Action: Deny, Stage: "entry", Call: 0, Source: line, Text: "no entry covers it"}}, Calls: []string{"echo"}, Took: 1500 * time.Microsecond}
}

func newLog(t *testing.T) Log {
	return Log{Dir: filepath.Join(t.TempDir(), "log"), Now: func() time.Time { return noon }}
}

// fill appends n decisions.
func fill(t *testing.T, l Log, n int) []*Entry {
	t.Helper()
	var entries []*Entry
	for i := range n {
		e := decision("echo " + strconv.Itoa(i))
		if err := l.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func verify(t *testing.T, l Log) *Report {
	t.Helper()
	r, err := l.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// all returns every entry, oldest first, and fails the test if a line is none.
func all(t *testing.T, l Log) []*Entry {
	t.Helper()
	var entries []*Entry
	if err := l.Each(t.Context(), func(line Line) error {
		if line.Err != nil {
			t.Errorf("%s:%d: %v", line.File, line.Number, line.Err)
			return nil
		}
		entries = append(entries, line.Entry)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	l := newLog(t)
	three := 3
	for _, e := range []*Entry{
		decision("git status"),
		{Kind: Decision, Argv: []string{"git", "commit", "-m", "a\nb \"c\"\u007f"}, Verdict: Allow, Would: Deny, Granted: "root", Gate: "claude", PolicyMode: "accepted",
			PolicyFrom: "/var/lib/x", Subject: "ab", Time: noon.Add(time.Nanosecond).In(time.FixedZone("", 3600))},
		{Kind: Decision, Tool: &Tool{Name: "Edit", Args: map[string]any{"file_path": "/a", "n": 1.5, "list": []any{"x", nil, true, map[string]any{}}}}, Verdict: Ask},
		{Kind: Ran, ID: "c-0123456789ab", Line: "git status", Status: &three},
		{Kind: Note, Text: "größe"},
	} {
		if err := l.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		read := all(t, l)
		got := *read[len(read)-1]
		if got.Seq != e.Seq || got.Hash != e.Hash || got.ID != e.ID || got.Nonce != e.Nonce || !got.Time.Equal(e.Time) || got.Cut || got.Redacted {
			t.Errorf("got %+v\nwant %+v", got, *e)
		}
		want := *e
		if want.Tool != nil {
			want.Tool, got.Tool = nil, nil
			if got.Judged() != want.Judged() {
				t.Errorf("%s", cmp.Diff(want.Judged(), got.Judged()))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if r := verify(t, l); r.Break != nil || r.Entries != 5 || r.First != 1 || r.Head.Count != 5 || r.Head.PolicyTree != "" {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(l.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestIDsDifferForEqualLines(t *testing.T) {
	entries := fill(t, newLog(t), 2)
	again := decision("echo 0")
	if err := newLog(t).Append(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if entries[0].ID == again.ID || len(again.ID) != 14 || !strings.HasPrefix(again.ID, "c-") {
		t.Errorf("%s %s", entries[0].ID, again.ID)
	}
}

func TestAnIDIsSetThoughNothingCouldBeWritten(t *testing.T) {
	l := newLog(t)
	l.Disk.Around = func(durable.Step, func() error) error { return errors.New("disk full") }
	e := decision("x")
	if err := l.Append(t.Context(), e); err == nil || e.ID == "" || e.Seq != 0 {
		t.Errorf("%v, id %q, seq %d", err, e.ID, e.Seq)
	}
}

func TestWhatIsIncompleteIsRefused(t *testing.T) {
	for name, e := range map[string]*Entry{
		"no kind":            {},
		"no verdict":         {Kind: Decision, Line: "x"},
		"a note of the logs": {Kind: Note, Torn: &Torn{}},
	} {
		if err := newLog(t).Append(t.Context(), e); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCredentialsAndLongTextsAreNotKept(t *testing.T) {
	l := newLog(t)
	for name, e := range map[string]*Entry{
		"a line": {Kind: Decision, Verdict: Deny, Line: "mysql -pHunter2abc shop", Reasons: []Reason{{Text: `the value "Hunter2abc" is not allowed`, Source: "mysql -pHunter2abc"}}},
		"argv":   {Kind: Decision, Verdict: Deny, Argv: []string{"tool", "--password", "Hunter2abc"}},
		"a tool": {Kind: Decision, Verdict: Deny, Tool: &Tool{Name: "Write", Args: map[string]any{"content": "PASSWORD=Hunter2abc\n", "password": "Hunter2abc"}}},
		"a note": {Kind: Note, Text: "PASSWORD=Hunter2abc"},
	} {
		if err := l.Append(t.Context(), e); err != nil || !e.Redacted || e.Cut {
			t.Errorf("%s: %v, redacted %v, cut %v", name, err, e.Redacted, e.Cut)
		}
	}
	long := strings.Repeat("ä", 20000)
	for name, e := range map[string]*Entry{
		"a line":     {Kind: Decision, Verdict: Deny, Line: long},
		"argv":       {Kind: Decision, Verdict: Deny, Argv: slices.Repeat([]string{long[:10000]}, 10)},
		"a tool":     {Kind: Decision, Verdict: Deny, Tool: &Tool{Name: "Write", Args: map[string]any{"content": long}}},
		"a list":     {Kind: Decision, Verdict: Deny, Tool: &Tool{Name: "Write", Args: map[string]any{"l": slices.Repeat([]any{"x"}, 1000)}}},
		"a reason":   {Kind: Decision, Verdict: Deny, Reasons: []Reason{{Text: long}}},
		"reasons":    {Kind: Decision, Verdict: Deny, Reasons: make([]Reason, 1000)},
		"calls":      {Kind: Decision, Verdict: Deny, Calls: make([]string, 1000)},
		"no UTF-8":   {Kind: Decision, Verdict: Deny, Line: "a\xffb"},
		"no numbers": {Kind: Decision, Verdict: Deny, Line: long, Tool: &Tool{Args: map[string]any{"x": long}}},
	} {
		if err := l.Append(t.Context(), e); err != nil || !e.Cut {
			t.Errorf("%s: %v, cut %v", name, err, e.Cut)
		}
	}
	data, err := os.ReadFile(l.path(current))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("Hunter2abc")) {
		t.Errorf("the log holds a credential:\n%s", data)
	}
	for line := range bytes.Lines(data) {
		if len(line) > 200<<10 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	if r := verify(t, l); r.Break != nil {
		t.Error(r.Break)
	}
}

func TestOfManyArgumentsTheFirstByNameAreKept(t *testing.T) {
	l := newLog(t)
	args := make(map[string]any)
	for i := range 150 {
		args[fmt.Sprintf("k%03d", i)] = true
	}
	if err := l.Append(t.Context(), &Entry{Kind: Decision, Verdict: Deny, Tool: &Tool{Name: "Write", Args: args}}); err != nil {
		t.Fatal(err)
	}
	kept := slices.Sorted(maps.Keys(all(t, l)[0].Tool.Args))
	if len(kept) != 100 || kept[0] != "k000" || kept[99] != "k099" {
		t.Errorf("%d were kept: %v", len(kept), kept)
	}
}

func TestFilesAreRotatedAndTheChainRunsOn(t *testing.T) {
	l := newLog(t)
	l.Size, l.Files = 2000, 3
	for i := range 60 {
		if err := l.Append(t.Context(), decision("echo "+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, l); r.Break != nil {
			t.Fatalf("after %d: %v", i, r.Break)
		}
	}
	closed, err := l.closed()
	if err != nil || len(closed) != 3 {
		t.Fatalf("%v %v", closed, err)
	}
	r := verify(t, l)
	entries := all(t, l)
	if r.First == 1 || r.Head.Count <= 60 || entries[len(entries)-1].Line != "echo 59" {
		t.Errorf("%+v", r)
	}
	for _, name := range append(closed, current) {
		if info, err := os.Stat(l.path(name)); err != nil || info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	// The oldest file goes without a word.
	if err := os.Remove(l.path(closed[0])); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, l); r.Break == nil || r.Break.Line != 1 || !strings.HasSuffix(r.Break.File, closed[1]) {
		t.Errorf("a file that was taken away: %+v", r.Break)
	}
}

// TestAnyTamperingIsNamed changes a log of 5 entries, each in its own way, and wants the first line that is wrong.
func TestAnyTamperingIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(lines []string) []string
		line   int // 0: not found, for nobody can
	}{
		"nothing":              {func(l []string) []string { return l }, 0},
		"a verdict":            {func(l []string) []string { l[2] = strings.Replace(l[2], `"deny"`, `"allow"`, 1); return l }, 3},
		"a line taken out":     {func(l []string) []string { return slices.Delete(l, 2, 3) }, 3},
		"the first taken out":  {func(l []string) []string { return l[1:] }, 1},
		"two changed places":   {func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }, 2},
		"one doubled":          {func(l []string) []string { return slices.Insert(l, 2, l[1]) }, 3},
		"garbage put in":       {func(l []string) []string { return slices.Insert(l, 2, "x") }, 3},
		"an empty line":        {func(l []string) []string { return slices.Insert(l, 2, "") }, 3},
		"garbage at the end":   {func(l []string) []string { return append(l, "x") }, 6},
		"a space":              {func(l []string) []string { l[3] = strings.Replace(l[3], `,"kind"`, `, "kind"`, 1); return l }, 4},
		"the last taken out":   {func(l []string) []string { return l[:4] }, 0},
		"one hashed anew":      {func(l []string) []string { l[2] = rehashed(l[2]); return l }, 4},
		"one hashed and known": {func(l []string) []string { l[2] = rehashed(strings.Replace(l[2], "echo 2", "echo 3", -1)); return l }, 3},
	} {
		l := newLog(t)
		fill(t, l, 5)
		data, err := os.ReadFile(l.path(current))
		if err != nil {
			t.Fatal(err)
		}
		lines := test.change(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"))
		if err := os.WriteFile(l.path(current), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"", ", after another decision"} {
			if when != "" {
				fill(t, l, 1)
			}
			switch r := verify(t, l); {
			case test.line == 0 && r.Break != nil:
				t.Errorf("%s%s: %v", name, when, r.Break)
			case test.line > 0 && (r.Break == nil || r.Break.Line != test.line):
				t.Errorf("%s%s: %v, want line %d", name, when, r.Break, test.line)
			}
		}
	}
}

// rehashed gives a line the hash that it should have, with another verdict.
func rehashed(line string) string {
	e := new(Entry)
	if parsed, err := Parse([]byte(line)); err == nil {
		e = parsed
	}
	e.Verdict = Allow
	return strings.TrimSuffix(string(e.encode(nil)), "\n")
}

func TestALogThatIsWrittenAnewHasAnotherHead(t *testing.T) {
	l := newLog(t)
	fill(t, l, 3)
	head, err := l.Checkpoint(t.Context())
	if err != nil || head.Count != 3 || !head.At.Equal(noon) {
		t.Fatalf("%+v %v", head, err)
	}
	fill(t, l, 2)
	if err := os.RemoveAll(l.Dir); err != nil {
		t.Fatal(err)
	}
	if head, err := l.Checkpoint(t.Context()); head != (Head{}) || err != nil {
		t.Errorf("without a log: %+v %v", head, err)
	}
	fill(t, l, 5) // written anew, it is whole, but another
	if r := verify(t, l); r.Break != nil {
		t.Error(r.Break)
	}
	if now, err := l.Checkpoint(t.Context()); now.Count != 5 || now.Hash == head.Hash || err != nil {
		t.Errorf("written anew: %+v %v", now, err)
	}
}

// TestATornLastLineIsMendedAndReported cuts the last line at every byte.
func TestATornLastLineIsMendedAndReported(t *testing.T) {
	l := newLog(t)
	fill(t, l, 3)
	data, err := os.ReadFile(l.path(current))
	if err != nil {
		t.Fatal(err)
	}
	begin := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	for cut := begin + 1; cut < len(data); cut += 7 {
		if err := os.WriteFile(l.path(current), data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, l); r.Break != nil || r.Entries != 2 || r.Unfinished != int64(cut-begin) {
			t.Fatalf("cut at %d: %+v", cut, r)
		}
		fill(t, l, 2)
		r := verify(t, l)
		if r.Break != nil || r.Entries != 5 || r.Unfinished != 0 || len(r.Torn) != 1 || r.Torn[0].Line != 3 {
			t.Fatalf("cut at %d and mended: %+v %v", cut, r, r.Break)
		}
	}
	// Zeros, as a file system may leave after a loss of power; in a file that has nothing else; and twice.
	for _, left := range []string{string(data[:begin]) + strings.Repeat("\x00", 20000), strings.Repeat("\x00", 100), "x"} {
		if err := os.WriteFile(l.path(current), []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		fill(t, l, 1)
		mended, err := os.ReadFile(l.path(current))
		if err != nil {
			t.Fatal(err)
		}
		if r := verify(t, l); r.Break != nil || len(r.Torn) != 1 {
			t.Errorf("%.20q: %+v %v", left, r, r.Break)
		}
		end := bytes.Index(mended, []byte(`,"torn"`))
		if err := os.WriteFile(l.path(current), mended[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		fill(t, l, 1)
		if r := verify(t, l); r.Break != nil || len(r.Torn) != 1 {
			t.Errorf("%.20q twice: %+v %v", left, r, r.Break)
		}
	}
}

// TestACrashAtAnyStepLeavesAWholeChain dies before and after each step of appends that rotate.
func TestACrashAtAnyStepLeavesAWholeChain(t *testing.T) {
	died := errors.New("died")
	for _, after := range []bool{false, true} {
		for step := 0; ; step++ {
			l := newLog(t)
			l.Size, l.Files = 1500, 2
			n := 0
			l.Disk.Around = func(s durable.Step, change func() error) error {
				if n++; n-1 != step {
					if n > step {
						return died // it is dead
					}
					return change()
				}
				if after {
					if err := change(); err != nil {
						t.Fatal(err)
					}
				}
				return died
			}
			written, failed := 0, false
			for i := 0; i < 20 && !failed; i++ {
				failed = l.Append(t.Context(), decision("echo "+strconv.Itoa(i))) != nil
				if !failed {
					written++
				}
			}
			if !failed {
				if step < 30 {
					t.Fatalf("only %d steps", step)
				}
				break
			}
			l.Disk = durable.Disk{}
			if r := verify(t, l); r.Break != nil {
				t.Fatalf("step %d, after %v: %v", step, after, r.Break)
			}
			entries := all(t, l)
			if n := len(entries); written > 0 && (n == 0 || int(entries[n-1].Seq) < written) {
				t.Fatalf("step %d, after %v: %d were written and the last is %d", step, after, written, entries[n-1].Seq)
			}
			for i := range 12 {
				if err := l.Append(t.Context(), decision("echo again "+strconv.Itoa(i))); err != nil {
					t.Fatalf("step %d, after %v: %v", step, after, err)
				}
			}
			if r := verify(t, l); r.Break != nil {
				t.Fatalf("step %d, after %v, and on: %v", step, after, r.Break)
			}
			if closed, err := l.closed(); err != nil || len(closed) > 2 {
				t.Fatalf("step %d, after %v: %v %v", step, after, closed, err)
			}
		}
	}
}

func TestManyProcessesWriteOneChain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var running []*exec.Cmd
	for i := range 200 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "LEDGER_WRITER="+dir, "LEDGER_NAME=p"+strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	l := Log{Dir: dir}
	if r := verify(t, l); r.Break != nil || r.Entries != 600 || len(r.Torn) != 0 {
		t.Fatalf("%+v %v", r, r.Break)
	}
	next := make(map[string]int)
	for _, e := range all(t, l) {
		var name string
		var i int
		if _, err := fmt.Sscanf(e.Line, "echo %s %d", &name, &i); err != nil || next[name] != i {
			t.Fatalf("%q comes after %d of its own: %v", e.Line, next[name], err)
		}
		next[name]++
	}
	if closed, err := l.closed(); err != nil || len(closed) < 10 {
		t.Errorf("%d files, %v", len(closed), err)
	}
}

func TestAWriterDoesNotWaitForEver(t *testing.T) {
	l := newLog(t)
	fill(t, l, 1)
	lock, err := durable.AcquireLock(t.Context(), l.path(lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	l.Wait = 20 * time.Millisecond
	e := decision("x")
	if err := l.Append(t.Context(), e); !errors.Is(err, durable.ErrLocked) || e.ID == "" {
		t.Errorf("%v, id %q", err, e.ID)
	}
}

func TestWhatIsNoFileIsAnError(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("/dev/null", path) },
		"a pipe":      func(path string) error { return exec.Command("mkfifo", path).Run() },
	} {
		l := newLog(t)
		if err := os.Mkdir(l.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := put(l.path(current)); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), decision("x")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l := Log{Dir: filepath.Join(b.TempDir(), "log")}
	for b.Loop() {
		if err := l.Append(b.Context(), decision("cd /srv/project && git commit -m 'what was done' && go test ./...")); err != nil {
			b.Fatal(err)
		}
	}
}
