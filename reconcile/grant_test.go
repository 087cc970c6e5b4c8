package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// wanted is an exception as it is asked for.
func (h *host) wanted(line, digit string) Grant {
	h.t.Helper()
	tree, err := h.must().AcceptedTree(h.gate())
	if err != nil {
		h.t.Fatal(err)
	}
	return Grant{Decision: "c-0123456789ab", Subject: strings.Repeat(digit, 64), Line: line, Cwd: "/home/agent/p", PolicyTree: tree}
}

func TestAGrantIsAFileForTheGateUntilItsTimeIsUp(t *testing.T) {
	r := newReceiver(t)
	h := newHost(t, r.URL)
	h.publish()
	h.accept()
	gate := h.gate()
	w := h.must()
	made, _, err := w.Grant(context.Background(), gate, h.wanted("git push --force", "a"), 10*time.Minute, Decision{By: "ann", Why: "the branch is mine"})
	if err != nil {
		t.Fatal(err)
	}
	path := h.path("state/grants/claude/" + made.Subject + ".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"schema": "gatehouse/grant/v1", "gate": "claude", "decision": "c-0123456789ab", "subject": made.Subject,
		"line": "git push --force", "cwd": "/home/agent/p", "by": "ann", "boot_id": w.BootID,
		"granted_at": made.GrantedAt.Format(time.RFC3339), "expires_at": made.GrantedAt.Add(10 * time.Minute).Format(time.RFC3339)} {
		if file[key] != want {
			t.Errorf("%s: %v, want %v", key, file[key], want)
		}
	}
	for name, perm := range map[string]os.FileMode{path: 0o644, h.path("state/grants/claude"): 0o755, h.path("state/grants"): 0o755} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if n := r.count("grant", "open"); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
	if _, _, err := w.Grant(context.Background(), gate, h.wanted("make deploy", "b"), time.Hour, Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	h.expect(InSync)
	if grants, err := w.Grants(gate); err != nil || len(grants) != 2 || grants[0].Line != "git push --force" {
		t.Fatalf("in force: %+v %v", grants, err)
	}
	if status, err := w.Status(gate); err != nil || len(status.Grants) != 2 {
		t.Errorf("status: %+v %v", status, err)
	}

	// The time of the first is up; then the host starts anew.
	w.Now = func() time.Time { return time.Now().Add(11 * time.Minute) }
	if grants, err := w.Grants(gate); err != nil || len(grants) != 1 {
		t.Errorf("after its time: %+v %v", grants, err)
	}
	if _, err := w.Reconcile(context.Background(), []Gate{gate}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("what is over is still there")
	}
	if n := r.count("grant", "closed"); n != 0 {
		t.Errorf("told %d times that all are over", n)
	}
	w.Now, w.BootID = time.Now, "another"
	if grants, err := w.Grants(gate); err != nil || len(grants) != 0 {
		t.Errorf("after a restart: %+v %v", grants, err)
	}
	if _, err := w.Reconcile(context.Background(), []Gate{gate}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(h.path("state/grants/claude")); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if n := r.count("grant", "closed"); n != 1 {
		t.Errorf("told %d times that all are over, want once", n)
	}
}

func TestAGrantFromTheFutureDoesNotCount(t *testing.T) {
	g := Grant{BootID: "b", GrantedAt: now, ExpiresAt: now.Add(time.Hour)}
	for name, c := range map[string]struct {
		boot string
		at   time.Time
		want bool
	}{
		"in time":                      {"b", now.Add(time.Minute), true},
		"at once":                      {"b", now, true},
		"at its end":                   {"b", now.Add(time.Hour), false},
		"by a clock that was set back": {"b", now.Add(-time.Second), false},
		"in another boot":              {"c", now.Add(time.Minute), false},
	} {
		if got := g.counts(c.boot, c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatIsNotGranted(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	gate := h.gate()
	other := h.wanted("ls", "a")
	other.PolicyTree = strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		grant   Grant
		lasting time.Duration
	}{
		"for no time":       {h.wanted("ls", "a"), 0},
		"for too long":      {h.wanted("ls", "a"), LongestGrant + time.Second},
		"of another policy": {other, time.Minute},
	} {
		if _, _, err := h.must().Grant(context.Background(), gate, c.grant, c.lasting, Decision{By: "ann"}); !errors.Is(err, ErrNotGranted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gate.ByAccepted = false
	if _, _, err := h.must().Grant(context.Background(), gate, h.wanted("ls", "a"), time.Minute, Decision{By: "ann"}); !errors.Is(err, ErrNotGranted) {
		t.Errorf("where the live files decide: %v", err)
	}
}

func TestRevoke(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	w := h.must()
	for _, digit := range []string{"a", "b"} {
		if _, _, err := w.Grant(context.Background(), h.gate(), h.wanted("ls "+digit, digit), time.Hour, Decision{By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{
		"g-cccccccc":     "no exception g-cccccccc is in force",
		"c-0123456789ab": "is the beginning of 2 exceptions",
		"g-aaaa":         "give g- and 8 digits or more",
		"d-0123456789ab": "a drift's id begins with d-",
	} {
		if _, _, err := w.Revoke(context.Background(), []Gate{h.gate()}, id, Decision{By: "ann"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	gone, _, err := w.Revoke(context.Background(), []Gate{h.gate()}, "g-aaaaaaaaaaaa", Decision{By: "bob", Why: "done"})
	if err != nil || gone.Line != "ls a" {
		t.Fatalf("%+v %v", gone, err)
	}
	if grants, err := w.Grants(h.gate()); err != nil || len(grants) != 1 || grants[0].Line != "ls b" {
		t.Errorf("in force: %+v %v", grants, err)
	}
	events, err := w.History("claude")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events[1:] {
		got = append(got, e.Action+" "+e.Grant+" "+e.Call+" "+e.By)
	}
	want := []string{"grant g-aaaaaaaaaaaa ls a ann", "grant g-bbbbbbbbbbbb ls b ann", "revoke g-aaaaaaaaaaaa ls a bob"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No exception is in force that the history does not have, whatever fails, and one that is told to have failed is in
// force or not, but not in part.
func TestAGrantStandsInTheHistoryBeforeItCounts(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	grant := h.wanted("ls", "a")
	injected := errors.New("injected")
	for n := 0; ; n++ {
		for _, done := range []bool{false, true} {
			step := 0
			w, err := h.warden(durable.Disk{Around: func(_ durable.Step, change func() error) error {
				if step++; step-1 != n {
					return change()
				}
				if done {
					return errors.Join(change(), injected)
				}
				return injected
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = w.Grant(context.Background(), h.gate(), grant, time.Hour, Decision{By: "ann"})
			if err == nil && step > n {
				t.Errorf("step %d failed and nobody said so", n)
			}
			grants, readErr := h.must().Grants(h.gate())
			events, historyErr := h.must().History("claude")
			if readErr != nil || historyErr != nil {
				t.Fatal(readErr, historyErr)
			}
			recorded := len(events) > 0 && events[len(events)-1].Action == "grant"
			if len(grants) > 0 && !recorded {
				t.Errorf("step %d: it counts, and the history does not have it", n)
			}
			if err := os.RemoveAll(h.path("state/grants/claude")); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(h.path("state/history.jsonl")); err != nil {
				t.Fatal(err)
			}
			if step <= n {
				return
			}
		}
	}
}
