package notify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlanSaysWhatAReportChanges(t *testing.T) {
	for _, test := range []struct {
		name, before, report string
		want                 reason
		introduced           []int
	}{
		{"first report", "", "ab", opened, []int{1, 1}},
		{"the same again", "ab", "ab", unchanged, []int{1, 1}},
		{"one more", "ab", "abc", grew, []int{1, 1, 2}},
		{"one less", "ab", "b", revised, []int{1}},
		{"one for another", "ab", "bc", grew, []int{1, 2}},
		{"all others", "ab", "cd", grew, []int{2, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var last *Record
			if test.before != "" {
				last, _ = plan(nil, drift(test.before), t0())
			}
			got, why := plan(last, drift(test.report), t0().Add(time.Hour))
			if why != test.want {
				t.Errorf("reason %q, want %q", why, test.want)
			}
			if diff := cmp.Diff(test.introduced, got.Introduced); diff != "" {
				t.Error(diff)
			}
			if why == unchanged && got != last {
				t.Error("an unchanged record is another one")
			}
		})
	}
}

func TestPlanLeavesTheOldRecordAlone(t *testing.T) {
	last, _ := plan(nil, drift("a"), t0())
	last.Sinks["slack"] = SinkState{Revision: 1}
	before := *last
	next, _ := plan(last, drift("ab"), t0())
	next.Sinks["slack"] = SinkState{Revision: 2}
	over := next.clear("accepted", t0())
	over.Sinks["slack"] = SinkState{Revision: 3}
	if diff := cmp.Diff(before, *last); diff != "" || last.Sinks["slack"].Revision != 1 || next.Sinks["slack"].Revision != 2 {
		t.Error("a later step changed an earlier record", diff)
	}
}

func TestOtherWordsForTheSameChangesAreKeptButNotAnnounced(t *testing.T) {
	last, _ := plan(nil, drift("a"), t0())
	e := drift("a")
	e.Detail = []string{"-old", "+new"}
	next, why := plan(last, e, t0())
	if _, news := next.news(1); why != revised || news || len(next.Detail) != 2 {
		t.Errorf("reason %q, news %v, detail %q", why, news, next.Detail)
	}
}

func TestWithoutChangesTheFingerprintIsTheChange(t *testing.T) {
	e := Event{Kind: "loaded", Gate: "claude", Subject: "gateway.service", Fingerprint: "one"}
	first, err := e.clean()
	if err != nil {
		t.Fatal(err)
	}
	e.Fingerprint = "two"
	second, err := e.clean()
	if err != nil {
		t.Fatal(err)
	}
	record, _ := plan(nil, first, t0())
	if _, why := plan(record, first, t0()); why != unchanged {
		t.Errorf("the same fingerprint: %q", why)
	}
	if _, why := plan(record, second, t0()); why != grew {
		t.Errorf("another fingerprint: %q", why)
	}
}

func TestNewsDependsOnWhatTheSinkWasTold(t *testing.T) {
	// Revisions: 1 has a and b, 2 only b, 3 b, c and a again, 4 is over.
	one, _ := plan(nil, drift("ab"), t0())
	two, _ := plan(one, drift("b"), t0())
	three, _ := plan(two, drift("bca"), t0())
	four := three.clear("accepted", t0())
	for _, test := range []struct {
		record *Record
		told   int
		want   string
	}{
		{one, 0, "open:ab"}, {one, 1, ""},
		{two, 0, "open:b"}, {two, 1, ""}, {two, 2, ""},
		{three, 0, "open:bca"}, {three, 1, "changed:ca"}, {three, 2, "changed:ca"}, {three, 3, ""},
		{four, 0, "closed:bca"}, {four, 1, "closed:ca"}, {four, 3, "closed:"}, {four, 4, ""},
	} {
		var box mailbox
		if n, ok := test.record.news(test.told); ok {
			box.got = []Message{{Notices: []Notice{n}}}
		}
		if got := strings.Join(box.says(), " "); got != test.want {
			t.Errorf("revision %d told to a sink at %d: %q, want %q", test.record.Revision, test.told, got, test.want)
		}
	}
}

func TestEventsAreRefusedOrMadeHarmlessAsTheyComeIn(t *testing.T) {
	for name, spoil := range map[string]func(*Event){
		"no kind":             func(e *Event) { e.Kind = "" },
		"slash in the gate":   func(e *Event) { e.Gate = "a/b" },
		"plus in the subject": func(e *Event) { e.Subject = "a+b" },
		"dot first":           func(e *Event) { e.Kind = ".drift" },
		"no UTF-8":            func(e *Event) { e.Gate = "a\xff" },
		"no subject":          func(e *Event) { e.Subject = "" },
		"newline":             func(e *Event) { e.Gate = "a\nb" },
		"too long":            func(e *Event) { e.Gate = strings.Repeat("a", maxID) },
		"change without id":   func(e *Event) { e.Changes = []Change{{Text: "x"}} },
	} {
		e := drift("a")
		spoil(&e)
		if _, err := e.clean(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	e := drift("aab")
	e.Summary, e.Detail = "x\ny", slices.Repeat([]string{"+\tline"}, maxDetail+7)
	got, err := e.clean()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 2 || got.Summary != `"x\ny"` || got.Detail[0] != "+    line" ||
		got.DetailTotal != maxDetail+7 || len(got.Detail) != maxDetail {
		t.Errorf("%d changes, summary %s, %d of %d lines", len(got.Changes), got.Summary, len(got.Detail), got.DetailTotal)
	}
}

func TestQuoteShowsWhatIsNotPlain(t *testing.T) {
	for in, want := range map[string]string{
		"policy/gate.yaml": "policy/gate.yaml", "Grüße 世界 <&>": "Grüße 世界 <&>", "": "",
		"a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "a\u202eb": `"a\u202eb"`, "\xff": `"\xff"`, "a\u200bb": `"a\u200bb"`,
		"tab\t": `"tab\t"`, "nbsp\u00a0": `"nbsp\u00a0"`, "\u2028": `"\u2028"`, "\x7f": `"\x7f"`, "\x9b": `"\x9b"`,
		"git\ufe0f push": `"git\ufe0f push"`, "ü\u3164\n": `"\u00fc\u3164\n"`, "\u034f": `"\u034f"`, "\u2800": `"\u2800"`, "\u115f": `"\u115f"`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
	if got := cut("ääää", 3); got != "ä…" {
		t.Errorf("cut = %q", got)
	}
}
