package vendorgate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLog(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.commitNothing("before")
	a := g.accept(first)
	g.write("file", "x\n")
	g.commitAll("unrelated")
	b := g.accept(second)
	g.git("switch", "-qc", "review")
	g.write(gateDir+"/files/policy/gate.yaml", "version: 3\n")
	g.git("add", "-A")
	g.git("commit", "-qm", "review: version 3\n\nReviewed-by: someone\nwith a line that is no trailer")
	c := g.line("rev-parse", "HEAD")
	g.git("switch", "-q", "main")
	g.commitNothing("meanwhile")
	g.git("merge", "-q", "--no-ff", "-m", "merge the review", "review")
	g.commitNothing("after")

	got, err := g.open().Log(gateName, 10)
	if err != nil {
		t.Fatal(err)
	}
	who := Identity{"Op Erator", "op@example"}
	when := time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 3600))
	trailers := [][2]string{{"Gate", gateName}, {"Fingerprint", "1234"}, {"Accepted-by", "op"}}
	want := []LogEntry{
		{c, time.Time{}, who, "review: version 3", nil},
		{b, when, who, "accept drift d-1234 of claude", trailers},
		{a, when, who, "accept drift d-1234 of claude", trailers},
	}
	for i := range got {
		if got[i].Commit == c {
			got[i].When = time.Time{}
		}
	}
	// The commits of this test have times that go back and forth; git sorts them in the same way.
	if diff := cmp.Diff(ids(want), ids(got)); diff != "" || len(got) != 3 {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
	byID := func(entries []LogEntry) map[string]LogEntry {
		m := make(map[string]LogEntry)
		for _, e := range entries {
			m[e.Commit] = e
		}
		return m
	}
	if diff := cmp.Diff(byID(want), byID(got)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if listed := g.line("log", "--format=%H", "--", gateDir); listed != strings.Join(ids(got), "\n") {
		t.Errorf("git log lists\n%s, Log\n%s", listed, strings.Join(ids(got), "\n"))
	}
	if few, err := g.open().Log(gateName, 2); err != nil || len(few) != 2 {
		t.Errorf("at most 2: got %v, %v", few, err)
	}
	if none, err := g.open().Log("other", 10); err != nil || len(none) != 0 {
		t.Errorf("another gate: got %v, %v", none, err)
	}
}

func ids(entries []LogEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Commit)
	}
	return all
}

func TestLogOfAnUnbornBranchIsEmpty(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	if got, err := g.open().Log(gateName, 10); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, ok, err := g.open().FindTrailer("Fingerprint", "1234", 10); ok || err != nil {
		t.Errorf("FindTrailer: %v, %v", ok, err)
	}
}

func TestFindTrailer(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	accepted := g.accept(first)
	g.git("switch", "-qc", "theirs")
	g.commitNothing("theirs\n\nFingerprint: 99\nGate: x")
	theirs := g.line("rev-parse", "HEAD")
	g.git("switch", "-q", "main")
	for i := range 3 {
		g.commitNothing(fmt.Sprint(i))
	}
	g.git("merge", "-q", "--no-ff", "-m", "merge", "theirs")
	for _, test := range []struct {
		key, value string
		max        int
		want       string
	}{
		{"Fingerprint", "1234", 10, accepted},
		{"Fingerprint", "1234", 3, ""},
		{"Fingerprint", "123", 10, ""},
		{"fingerprint", "1234", 10, ""},
		{"Fingerprint", "99", 10, theirs},
		{"Subject", "1", 10, ""},
	} {
		got, ok, err := g.open().FindTrailer(test.key, test.value, test.max)
		if err != nil || got != test.want || ok != (test.want != "") {
			t.Errorf("%s: %s in %d: got %q, %v, %v; want %q", test.key, test.value, test.max, got, ok, err, test.want)
		}
	}
}

func TestParseTrailers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message string
		want    [][2]string
	}{
		{"subject\n", nil},
		{"Subject: like a trailer\n", nil},
		{"subject\n\nbody\n", nil},
		{"subject\n\nA: b\n", [][2]string{{"A", "b"}}},
		{"subject\n\nbody\n\nA: b\nC-d:e\n", [][2]string{{"A", "b"}, {"C-d", "e"}}},
		{"subject\n\nbody\n\nA: b\n folded\n", [][2]string{{"A", "b folded"}}},
		{"subject\n\nA: b\n\nbody\n", nil},
		{"subject\n\nA: b\nno trailer\n", nil},
		{"subject\n\nsee http://x\n", nil},
		{"", nil},
	} {
		if diff := cmp.Diff(test.want, parseTrailers(test.message)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.message, diff)
		}
	}
}

// A message comes back from git as it was given, whatever its parts look like.
func TestMessage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change Change
		want   string
	}{
		{Change{Subject: "s"}, "s\n"},
		{Change{Subject: " s ", Body: "\n\nb\n\nc\n\n"}, "s\n\nb\n\nc\n"},
		{Change{Subject: "s", Trailers: [][2]string{{"A", "b"}}}, "s\n\nA: b\n"},
		{Change{Subject: "s", Body: "---\ndiff", Trailers: [][2]string{{"A", "b"}}}, "s\n\n ---\ndiff\n\nA: b\n"},
		{Change{Subject: "s", Body: "# no comment\nFake: trailer", Trailers: [][2]string{{"A", "b"}}}, "s\n\n# no comment\nFake: trailer\n\nA: b\n"},
	} {
		got := test.change.message()
		if got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if diff := cmp.Diff(test.change.Trailers, parseTrailers(got)); diff != "" {
			t.Errorf("%q: trailers (-want +got):\n%s", got, diff)
		}
		cmd := gitCommand(".", "interpret-trailers", "--parse")
		cmd.Stdin = strings.NewReader(got)
		out, err := cmd.Output()
		want := ""
		for _, trailer := range test.change.Trailers {
			want += trailer[0] + ": " + trailer[1] + "\n"
		}
		if err != nil || string(out) != want {
			t.Errorf("%q: git sees the trailers %q, %v; want %q", got, out, err, want)
		}
	}
}
