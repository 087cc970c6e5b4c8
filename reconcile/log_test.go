package reconcile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/manifest"
)

func head(n uint64, name string) *manifest.Log {
	return &manifest.Log{Head: fmt.Sprintf("%064x", name), Count: n, LastAt: now, PolicyTree: strings.Repeat("1", 64)}
}

func TestALogHasToGoOnFromWhatWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		then, now *manifest.Log
		broken    string
	}{
		"the first time":                   {nil, head(7, "a"), ""},
		"never one":                        {nil, nil, ""},
		"the same":                         {head(7, "a"), head(7, "a"), ""},
		"more of it":                       {head(7, "a"), head(9, "b"), ""},
		"gone":                             {head(7, "a"), nil, "it is gone; it had 7 records"},
		"shorter":                          {head(7, "a"), head(1, "b"), "it has 1 record; it had 7"},
		"shorter with the same end":        {head(7, "a"), head(6, "a"), "it has 6 records; it had 7"},
		"another of the same length":       {head(7, "a"), head(7, "b"), "its record 7 is another one than was seen"},
		"longer and yet with the same end": {head(7, "a"), head(9, "a"), "it says that it has 9 records, and its last one is number 7"},
	} {
		seen := decisionLog{}.next(c.then, now.Add(-time.Hour))
		after := seen.next(c.now, now)
		if got := seen.broken(c.now); got != c.broken {
			t.Errorf("%s: %q, want %q", name, got, c.broken)
		}
		finding := after.finding("claude")
		if (finding != nil) != (c.broken != "") {
			t.Errorf("%s: finding %+v", name, finding)
		}
		if again := after.next(c.now, now.Add(time.Hour)); !cmp.Equal(again, after) {
			t.Errorf("%s: the same publication again changes what is remembered:\n%s", name, cmp.Diff(after, again))
		}
		if finding != nil && (finding.Next != "warden accept --log claude" || !strings.Contains(finding.Items[0].Text, c.broken)) {
			t.Errorf("%s: finding %+v", name, finding)
		}
	}
}

func TestAnAgentCannotMakeRootRememberBreaksWithoutEnd(t *testing.T) {
	var log decisionLog
	for i := range 3 * maxBreaks {
		log = log.next(head(uint64(1000-i), fmt.Sprint(i)), now)
	}
	if len(log.Breaks) != maxBreaks {
		t.Errorf("%d breaks, want %d", len(log.Breaks), maxBreaks)
	}
	if log.Count != 1000-3*maxBreaks+1 {
		t.Errorf("the log to go on from has %d records", log.Count)
	}
}

func TestDecisionsAreToBeMadeByTheAcceptedPolicy(t *testing.T) {
	accepted := generation("a")
	for name, c := range map[string]struct {
		tree       string
		last       time.Time
		byAccepted bool
		want       string
	}{
		"by the accepted one":         {accepted.Tree, now, true, ""},
		"by another":                  {strings.Repeat("2", 64), now, true, "by the policy 222222222222, and the accepted policy is"},
		"by none":                     {strings.Repeat("0", 64), now, true, "by no policy at all"},
		"where the live files decide": {strings.Repeat("2", 64), now, false, ""},
		"before the acceptance":       {strings.Repeat("2", 64), now.Add(-2 * time.Hour), true, ""},
		"while it was accepted":       {strings.Repeat("2", 64), now.Add(-time.Hour + takeover/2), true, ""},
	} {
		f := facts{accepted: accepted, head: accepted, claim: claimOf(set("a")), byAccepted: c.byAccepted}
		f.claim.Log = &manifest.Log{Head: strings.Repeat("a", 64), Count: 3, LastAt: c.last, PolicyTree: c.tree}
		s := &state{InForce: force{accepted.Tree, now.Add(-time.Hour)}}
		r := judge("claude", f, s, time.Hour, now)
		if got := r.Has(OtherPolicy); got != (c.want != "") {
			t.Errorf("%s: %+v", name, r.Findings)
		} else if got && !strings.Contains(r.Findings[0].Reason, c.want) {
			t.Errorf("%s: %q", name, r.Findings[0].Reason)
		}
		if r.Files() != InSync {
			t.Errorf("%s: it changes how the files stand: %s", name, r.Files())
		}
	}
}

// publishLog publishes with a log that ends there.
func (h *host) publishLog(log *manifest.Log) {
	h.t.Helper()
	h.publish()
	lie(h.t, h, func(m *manifest.Manifest) { m.Log = log })
}

func TestABrokenLogIsToldOnceUntilAPersonKnows(t *testing.T) {
	r := newReceiver(t)
	h := newHost(t, r.URL)
	h.publish()
	h.accept()
	h.publishLog(head(7, "a"))
	h.expect(InSync)
	h.publishLog(nil)
	if report := h.expect(LogRewound); report.Files() != InSync || report.Result.Code() != 1 {
		t.Errorf("files %s, code %d", report.Files(), report.Result.Code())
	}
	h.expect(LogRewound)
	h.publishLog(head(2, "b"))
	h.expect(LogRewound)
	if n := r.count("log-rewound", "open"); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
	// A review goes on beside it.
	h.write("gate.yaml", "allow: [git log]\n")
	h.publishLog(head(3, "c"))
	report := h.expect(Drifted)
	if _, _, err := h.must().Accept(context.Background(), h.gate(), report.Fingerprint, Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	h.publishLog(head(1, "d"))
	h.expect(LogRewound)
	if n := r.count("log-rewound", "changed"); n != 1 {
		t.Errorf("the second break was told %d times, want once", n)
	}
	breaks, _, err := h.must().AcceptLog(context.Background(), h.gate(), Decision{By: "ann", Why: "the home was restored"})
	if err != nil || len(breaks) != 2 {
		t.Fatalf("accept --log: %d breaks, %v", len(breaks), err)
	}
	h.expect(InSync)
	if n := r.count("log-rewound", "closed"); n != 1 {
		t.Errorf("told %d times that it is over, want once", n)
	}
	if _, _, err := h.must().AcceptLog(context.Background(), h.gate(), Decision{By: "ann"}); err == nil {
		t.Error("what nobody has to know of can be accepted")
	}
	events, err := h.must().History("claude")
	if err != nil || events[len(events)-1].Action != "accept-log" || events[len(events)-1].Why != "the home was restored" {
		t.Errorf("history: %+v %v", events, err)
	}
}
