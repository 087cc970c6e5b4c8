package reconcile

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/manifest"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// set returns the entries of a small live tree in which one file has the given content.
func set(content string) []manifest.Entry {
	digest := fmt.Sprintf("%064x", len(content)*1000+int(content[0]))
	return []manifest.Entry{
		{Path: "policy", Type: manifest.Dir, Mode: 0o755, CTime: now.Add(-time.Hour)},
		{Path: "policy/gate.yaml", Type: manifest.File, Mode: 0o644, Size: int64(len(content)), SHA256: digest, CTime: now.Add(-time.Hour)},
	}
}

func generation(content string) *manifest.Generation {
	if content == "" {
		return nil
	}
	return manifest.NewGeneration("claude", set(content))
}

// claimOf is what an honest publisher says a minute ago.
func claimOf(entries []manifest.Entry) *manifest.Manifest {
	at := now.Add(-time.Minute)
	return &manifest.Manifest{Gate: "claude", BootID: "b1", Sequence: uint64(at.UnixMilli()), PublishedAt: at,
		Entries: entries, Tree: manifest.Tree(entries)}
}

func TestJudgeFollowsTheDirectionTable(t *testing.T) {
	drift := manifest.Fingerprint("claude", manifest.Diff(set("a"), set("b")))
	for _, row := range []struct {
		name                 string
		live, accepted, head string
		state                state
		want                 Result
		next                 string
		fingerprint          bool
	}{
		{name: "all the same", live: "a", accepted: "a", head: "a", want: InSync},
		{name: "live changed", live: "b", accepted: "a", head: "a", want: Drifted, next: "warden accept " + DriftID(drift), fingerprint: true},
		{name: "live changed and rejected", live: "b", accepted: "a", head: "a", want: Rejected, next: "gate restore", fingerprint: true,
			state: state{Rejected: map[string]rejection{drift: {Why: "no", By: "ann"}}}},
		{name: "live is what a deploy replaced", live: "b", accepted: "a", head: "a", want: Behind, next: "gate restore",
			state: state{Replaced: replacement{Tree: manifest.Tree(set("b")), By: manifest.Tree(set("a"))}}},
		{name: "what an earlier deploy replaced is a drift like any other", live: "b", accepted: "a", head: "a", want: Drifted,
			next: "warden accept " + DriftID(drift), fingerprint: true,
			state: state{Replaced: replacement{Tree: manifest.Tree(set("b")), By: manifest.Tree(set("c"))}}},
		{name: "a reviewed change was merged", live: "a", accepted: "a", head: "c", want: Behind, next: "warden deploy claude"},
		{name: "live and git moved together", live: "c", accepted: "a", head: "c", want: Behind, next: "warden deploy claude"},
		{name: "all three differ", live: "b", accepted: "a", head: "c", want: Diverged, next: "warden deploy claude", fingerprint: true},
		{name: "nothing accepted yet", live: "a", want: Drifted, fingerprint: true,
			next: "warden accept " + DriftID(manifest.Fingerprint("claude", manifest.Diff(nil, set("a"))))},
		{name: "git has it, this host has not accepted anything", live: "a", head: "a", want: Behind, next: "warden deploy claude"},
		{name: "git has another branch checked out", live: "a", accepted: "a", want: Behind},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := facts{accepted: generation(row.accepted), head: generation(row.head), claim: claimOf(set(row.live))}
			r := judge("claude", f, &row.state, time.Hour, now)
			if r.Result != row.want {
				t.Fatalf("result = %s, want %s: %+v", r.Result, row.want, r.Findings)
			}
			if row.want != InSync && r.Findings[0].Next != row.next {
				t.Errorf("next = %q, want %q", r.Findings[0].Next, row.next)
			}
			if got := r.Fingerprint != ""; got != row.fingerprint {
				t.Errorf("fingerprint %q", r.Fingerprint)
			}
			if (r.Result == InSync) != (r.Result.Code() == 0) {
				t.Errorf("exit code %d for %s", r.Result.Code(), r.Result)
			}
		})
	}
}

func TestJudgeNeverCallsAnEmptyHostInSync(t *testing.T) {
	r := judge("claude", facts{claim: claimOf(nil)}, new(state), time.Hour, now)
	if r.Result != Missing {
		t.Errorf("nothing live and nothing accepted is %s, want %s", r.Result, Missing)
	}
}

func TestJudgeWithoutAClaim(t *testing.T) {
	for want, err := range map[Result]error{
		Missing: fmt.Errorf("open export: %w", fs.ErrNotExist),
		Error:   errors.New("not valid"),
	} {
		r := judge("claude", facts{accepted: generation("a"), head: generation("a"), claimErr: err}, new(state), time.Hour, now)
		if r.Result != want || r.Complete() {
			t.Errorf("%v: %s (complete %v), want %s", err, r.Result, r.Complete(), want)
		}
	}
	var zero Report
	if zero.Complete() || zero.Result.Code() != 2 {
		t.Error("the zero report counts as an answer")
	}
}

func TestJudgeRefusesTheOrderOfAnOlderManifest(t *testing.T) {
	seen := publication{Sequence: uint64(now.Add(-time.Minute).UnixMilli()), Digest: "d1", Boots: []string{"b0", "b1"}, ArrivedAt: now}
	at := func(change func(*manifest.Manifest)) *manifest.Manifest {
		m := claimOf(set("a"))
		change(m)
		return m
	}
	for _, row := range []struct {
		name   string
		m      *manifest.Manifest
		digest string
		want   bool
	}{
		{"the one that was seen", at(func(m *manifest.Manifest) {}), "d1", false},
		{"a newer one", at(func(m *manifest.Manifest) { m.Sequence++ }), "d2", false},
		{"a newer one after a reboot", at(func(m *manifest.Manifest) { m.Sequence++; m.BootID = "b2" }), "d2", false},
		{"an older one", at(func(m *manifest.Manifest) { m.Sequence-- }), "d0", true},
		{"another one with the same number", at(func(m *manifest.Manifest) {}), "d2", true},
		{"one of an earlier boot", at(func(m *manifest.Manifest) { m.Sequence++; m.BootID = "b0" }), "d2", true},
		{"the largest number there is", at(func(m *manifest.Manifest) { m.Sequence = 1<<64 - 1 }), "d2", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &state{Publication: seen}
			r := judge("claude", facts{accepted: generation("a"), head: generation("a"), claim: row.m, digest: row.digest}, s, time.Hour, now)
			if got := r.Result == Replayed; got != row.want {
				t.Errorf("result %s", r.Result)
			}
		})
	}
}

func TestPublicationNeverTakesAForgedSequence(t *testing.T) {
	var p publication
	honest := claimOf(set("a"))
	p = p.next(honest, "d1", "b1", now)
	forged := claimOf(set("a"))
	forged.Sequence = 1 << 63
	if p.order(forged, "d2", now) == nil {
		t.Fatal("a sequence far ahead of the clock is in order")
	}
	later := claimOf(set("a"))
	later.Sequence = uint64(now.Add(time.Hour).UnixMilli())
	if f := p.order(later, "d3", now.Add(time.Hour)); f != nil {
		t.Errorf("the honest manifest after it: %s", f.Reason)
	}
}

// Otherwise nothing would be in order until the clock is where it once was.
func TestAMarkOfAClockThatWasWrongCountsForNothing(t *testing.T) {
	wrong := now.Add(365 * 24 * time.Hour)
	m := claimOf(set("a"))
	m.Sequence = uint64(wrong.UnixMilli())
	p := publication{}.next(m, "d1", "b1", wrong)
	m.Sequence = uint64(now.UnixMilli())
	if f := p.order(m, "d2", now); f != nil {
		t.Fatalf("the first manifest by the right clock: %s", f.Reason)
	}
	p = p.next(m, "d2", "b1", now)
	m.Sequence--
	if p.order(m, "d3", now) == nil {
		t.Error("and from then on an older one is in order")
	}
}

func TestOverdueIsJudgedByArrivalAndNotByTheClaim(t *testing.T) {
	m := claimOf(set("a"))
	m.PublishedAt = now.Add(100 * time.Hour) // a lie
	p := publication{Sequence: m.Sequence, ArrivedAt: now.Add(-3 * time.Hour)}
	if p.overdue(m, time.Hour, now) == nil {
		t.Error("a manifest that arrived three intervals ago is not overdue")
	}
	p.ArrivedAt = now.Add(-time.Hour)
	m.PublishedAt = now.Add(-100 * time.Hour)
	if f := p.overdue(m, time.Hour, now); f != nil {
		t.Errorf("a manifest that arrived one interval ago: %s", f.Reason)
	}
}

func TestWitness(t *testing.T) {
	changed := func(ctime time.Time) []manifest.Entry {
		e := set("b")
		e[1].CTime = ctime
		return e
	}
	without := func(ctime time.Time) []manifest.Entry {
		e := set("a")[:1]
		e[0].CTime = ctime
		return e
	}
	for _, row := range []struct {
		name    string
		witness manifest.Snapshot
		state   state
		claimed time.Time
		want    Result
	}{
		{name: "equal", witness: manifest.Snapshot{Entries: set("a")}, want: InSync},
		{name: "changed after it was published", witness: manifest.Snapshot{Entries: changed(now.Add(-time.Second))}, want: Unpublished},
		{name: "changed before", witness: manifest.Snapshot{Entries: changed(now.Add(-time.Hour))}, want: PublisherDisagrees},
		{name: "changed before, and the claim is dated back", witness: manifest.Snapshot{Entries: changed(now.Add(-time.Hour))},
			claimed: now.Add(-24 * time.Hour), state: state{Publication: publication{SeenAt: now.Add(-10 * time.Minute)}}, want: PublisherDisagrees},
		{name: "changed just now, and the claim is from the future", witness: manifest.Snapshot{Entries: changed(now)},
			claimed: now.Add(24 * time.Hour), want: Unpublished},
		{name: "removed after", witness: manifest.Snapshot{Entries: without(now.Add(-time.Second))}, want: Unpublished},
		{name: "removed before", witness: manifest.Snapshot{Entries: without(now.Add(-time.Hour))}, want: PublisherDisagrees},
		{name: "the live root is gone, first seen now", want: Unpublished, state: state{Gone: map[string]time.Time{"policy": now}}},
		{name: "the live root was gone already", want: PublisherDisagrees, state: state{Gone: map[string]time.Time{"policy": now.Add(-time.Hour)}}},
		{name: "what neither could judge is no disagreement", want: Refused, witness: manifest.Snapshot{Entries: set("a")[:1],
			Refused: []manifest.Refusal{{Path: "policy/gate.yaml", Reason: "links"}}}},
		{name: "in flux", want: InFlux, witness: manifest.Snapshot{Entries: set("a")[:1],
			Refused: []manifest.Refusal{{Path: "policy/gate.yaml", Reason: "in flux: it changed"}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := claimOf(set("a"))
			if !row.claimed.IsZero() {
				m.PublishedAt = row.claimed
			}
			r := judge("claude", facts{accepted: generation("a"), head: generation("a"), claim: m, witness: &row.witness}, &row.state, time.Hour, now)
			if r.Result != row.want {
				t.Errorf("result = %s, want %s: %+v", r.Result, row.want, r.Findings)
			}
			if r.Complete() != (row.want == InSync) {
				t.Errorf("complete = %v for %s", r.Complete(), r.Result)
			}
		})
	}
}

func TestAcceptableOnlyWhatWasShown(t *testing.T) {
	r := judge("claude", facts{accepted: generation("a"), head: generation("a"), claim: claimOf(set("b"))}, new(state), time.Hour, now)
	if err := acceptable(&r, r.Fingerprint, true); err != nil {
		t.Errorf("the drift that is there: %v", err)
	}
	for name, change := range map[string]func(*Report){
		"another fingerprint":  func(r *Report) { r.Fingerprint = "0" + r.Fingerprint[1:] },
		"back in sync":         func(r *Report) { r.Findings, r.Fingerprint = nil, "" },
		"a mismatch":           func(r *Report) { r.add(Mismatch, "", "") },
		"a lying publisher":    func(r *Report) { r.add(PublisherDisagrees, "", "") },
		"something unjudged":   func(r *Report) { r.add(Refused, "", "") },
		"a replayed manifest":  func(r *Report) { r.add(Replayed, "", "") },
		"unpublished changes":  func(r *Report) { r.add(Unpublished, "", "") },
		"still changing":       func(r *Report) { r.add(InFlux, "", "") },
		"an error":             func(r *Report) { r.add(Error, "", "") },
		"an unknown result":    func(r *Report) { r.add("", "", "") },
		"a reviewed change":    func(r *Report) { r.add(Behind, "", "") },
		"a three-way conflict": func(r *Report) { r.add(Diverged, "", "") },
	} {
		changed := r
		changed.Findings = append([]Finding{}, r.Findings...)
		change(&changed)
		if err := acceptable(&changed, r.Fingerprint, true); !errors.Is(err, ErrNotAcceptable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPickNamesWhatIsWrongWithAnID(t *testing.T) {
	open := []Drift{
		{Gate: Gate{Name: "a"}, Report: Report{Fingerprint: "0123456789abcdef"}},
		{Gate: Gate{Name: "b"}, Report: Report{Fingerprint: "0123456789ffffff"}},
	}
	for id, want := range map[string]string{
		"":               "no such drift: 2 are open, name one: d-0123456789ab (gate a), d-0123456789ff (gate b)",
		"d-01234567":     "no such drift: d-01234567 is the beginning of more than one: d-0123456789ab (gate a), d-0123456789ff (gate b)",
		"d-0123456789a":  "",
		"0123456789FF":   "",
		"d-0123":         `"d-0123" is too short: give 8 or more digits of the fingerprint`,
		"c-0123456789ab": "c-0123456789ab is a decision of the gate; a drift's id begins with d-",
		"d-ffffffffff":   "no such drift: d-ffffffffff is not open; open now: d-0123456789ab (gate a), d-0123456789ff (gate b)",
		"hello":          `"hello" is no drift: give 8 or more digits of its fingerprint, as "warden status" shows it`,
	} {
		_, err := pick(open, id)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", id, diff)
		}
	}
}

// A path may hold what stands between a path and its reason.
func TestManifestsThatRefuseOtherThingsAreTwo(t *testing.T) {
	one := &manifest.Manifest{Sequence: 1, Refused: []manifest.Refusal{{Path: "policy/a", Reason: "b} {policy/c d"}}}
	other := &manifest.Manifest{Sequence: 1, Refused: []manifest.Refusal{{Path: "policy/a", Reason: "b"}, {Path: "policy/c", Reason: "d"}}}
	if claimDigest(one) == claimDigest(other) {
		t.Error("they have one digest")
	}
}
