package fleet_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/fleet"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/peer"
	"gatehouse/reconcile"
	vendorgate "gatehouse/vendor-gate"
)

// A follower is a host that takes over what the hub accepts, with a repository of its own.
type follower struct {
	*remote
	sink *mailbox
}

func (w *world) follower(h *remote) *follower {
	w.t.Helper()
	if err := vendorgate.Init(h.path("repo")); err != nil {
		w.t.Fatal(err)
	}
	return &follower{h, new(mailbox)}
}

func (f *follower) warden(disk durable.Disk) *reconcile.Warden {
	return must(f.w.wardenOf(f.path(), f.name, disk, f.sink))
}

func (f *follower) gate() reconcile.Gate {
	return reconcile.Gate{Name: gateName, GroupID: -1, Export: f.path("export"), Witness: true, Interval: time.Hour, Source: f.source(), Follows: "hub"}
}

func (f *follower) follow(ex exchange.Exchange, disk durable.Disk) *fleet.Follower {
	return &fleet.Follower{Exchange: ex, Hub: "hub", Open: f.w.open, Dir: f.path("state", "followed", "objects"), Disk: disk}
}

// pull fetches and adopts, as two processes do it.
func (f *follower) pull(disk durable.Disk) (commit string, err error) {
	if err := f.fetch(f.w.exchange(f.name), disk); err != nil {
		return "", err
	}
	return f.adopt(disk)
}

func (f *follower) fetch(ex exchange.Exchange, disk durable.Disk) error {
	w, err := f.w.wardenOf(f.path(), f.name, disk, f.sink)
	if err != nil {
		return err
	}
	after, err := w.FollowedSequence(f.gate(), "hub")
	if err != nil {
		return err
	}
	_, err = f.follow(ex, disk).Fetch(context.Background(), gateName, testLimits(), after, func(string) bool { return false })
	return err
}

func (f *follower) adopt(disk durable.Disk) (string, error) {
	w, err := f.w.wardenOf(f.path(), f.name, disk, f.sink)
	if err != nil {
		return "", err
	}
	a, err := f.follow(nil, disk).Load(gateName, testLimits(), func(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist })
	if err != nil || a == nil {
		return "", err
	}
	commit, _, err := w.Adopt(context.Background(), f.gate(), *a)
	return commit, err
}

func (f *follower) git(args ...string) string { return gitIn(f.w.t, f.path("repo"), args...) }

func (f *follower) acceptedTree() string {
	return must(f.warden(durable.Disk{}).AcceptedTree(f.gate()))
}

// announce puts what the hub accepted into the exchange.
func (h *hub) announce() {
	h.w.t.Helper()
	a := must(h.warden(durable.Disk{}).InForce(reconcile.Gate{Name: gateName, Source: manifest.Source{Limits: testLimits()}}))
	defer a.Close()
	e := &fleet.Exporter{Exchange: h.w.exchange(h.name), Host: h.name, Seal: h.w.seal(h.name), Open: h.w.open, Dir: h.path("sent")}
	must(e.Announce(context.Background(), fleet.Accepted{Generation: a.Generation, Open: a.Open, Commit: a.Commit, By: a.By, At: a.At}, h.w.now))
}

func (w *world) acceptedFile() string { return w.path("exchange", "accepted", "hub", gateName) }

// following is a settled hub that announced what it accepted, and a follower that took it over.
func following(t testing.TB) (*world, []*remote, *hub, *follower) {
	w, hosts, hub := settled(t, 3)
	hub.announce()
	f := w.follower(hosts[0])
	if _, err := f.pull(durable.Disk{}); err != nil {
		t.Fatal(err)
	}
	return w, hosts, hub, f
}

// acceptNext has two of the hosts drift, accepts that and announces it.
func (h *hub) acceptNext(hosts []*remote, content string) {
	h.w.t.Helper()
	h.w.later(time.Hour)
	for _, host := range hosts[1:] {
		host.drift(content)
	}
	hosts[0].send()
	h.accept(h.pass()["agent-02"].Fingerprint)
	h.announce()
}

func TestAFollowerTakesOverWhatTheHubAccepted(t *testing.T) {
	_, hosts, hub, f := following(t)
	hubTree := must(hub.warden(durable.Disk{}).AcceptedTree(reconcile.Gate{Name: gateName, Source: manifest.Source{Limits: testLimits()}}))
	if f.acceptedTree() != hubTree {
		t.Fatalf("accepted tree %.12s, the hub's is %.12s", f.acceptedTree(), hubTree)
	}
	f.git("fsck", "--strict")
	hub.acceptNext(hosts, "allow: [git log]\n")
	commit, err := f.pull(durable.Disk{})
	if err != nil || commit == "" {
		t.Fatalf("pull: %q, %v", commit, err)
	}
	message := f.git("log", "-1", "--format=%B")
	hubCommit := strings.TrimSpace(hub.git("rev-parse", "HEAD"))
	for _, want := range []string{"Hub: hub\n", "Hub-Commit: " + hubCommit, "Accepted-by: ann", "Host: agent-01\n"} {
		if !strings.Contains(message, want) {
			t.Errorf("the commit does not say %q:\n%s", want, message)
		}
	}
	if got := f.git("show", "HEAD:vendor-gate/claude/files/policy/gate.yaml"); got != "allow: [git log]\n" {
		t.Errorf("committed %q", got)
	}
	// The live files are still the old ones: that is for a restore, and nobody can accept it back.
	pass, err := f.warden(durable.Disk{}).Reconcile(t.Context(), []reconcile.Gate{f.gate()})
	if err != nil {
		t.Fatal(err)
	}
	if r := pass.Reports[0]; r.Result != reconcile.Behind || !r.Restorable {
		t.Errorf("%s: %+v", r.Result, r.Findings)
	}
	if again, err := f.pull(durable.Disk{}); err != nil || again != "" {
		t.Errorf("a second pull: %q, %v", again, err)
	}
	f.remote.drift("allow: [git log]\n")
	for host, r := range hub.pass() {
		if r.Result != reconcile.InSync {
			t.Errorf("%s on the hub: %+v", host, r.Findings)
		}
	}
}

func TestAFollowerTakesNothingThatTheHubDidNotSignAsNewest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, envelope, before []byte) []byte
		want   error
	}{
		"unsigned":            {func(_ *world, e, _ []byte) []byte { return e[strings.IndexByte(string(e), '\n')+1:] }, fleet.ErrForged},
		"truncated":           {func(_ *world, e, _ []byte) []byte { return e[:len(e)-1] }, fleet.ErrForged},
		"older":               {func(_ *world, _, before []byte) []byte { return before }, fleet.ErrOlder},
		"signed by a host":    {sealedAs("agent-02", "gatehouse/accepted/v1", ""), fleet.ErrForged},
		"of another kind":     {sealedAs("hub", "gatehouse/export/v1", ""), fleet.ErrForged},
		"of another gate":     {sealedAs("hub", "gatehouse/accepted/v1", `"gate":"claude"->"gate":"codex"`), fleet.ErrForged},
		"of another hub":      {sealedAs("hub", "gatehouse/accepted/v1", `"host":"hub"->"host":"agent-02"`), fleet.ErrForged},
		"with another list":   {sealedAs("hub", "gatehouse/accepted/v1", `"tree":"->"tree":"0`), fleet.ErrForged},
		"naming what is gone": {func(w *world, e, _ []byte) []byte { os.RemoveAll(w.path("exchange", "objects", "hub")); return e }, fleet.ErrIncomplete},
		"with other bytes": {func(w *world, e, _ []byte) []byte {
			digest := digestOf([]byte("allow: [git log]\n"))
			w.tamper(w.path("exchange", "objects", "hub", digest), func([]byte) []byte { return []byte("allow: [all]\n") })
			return e
		}, exchange.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			w, hosts, hub, f := following(t)
			before, tree, commits := must(os.ReadFile(w.acceptedFile())), f.acceptedTree(), f.git("rev-list", "--count", "HEAD")
			hub.acceptNext(hosts, "allow: [git log]\n")
			if name == "older" { // it has to have been seen to be older than something
				if _, err := f.pull(durable.Disk{}); err != nil {
					t.Fatal(err)
				}
				tree, commits = f.acceptedTree(), f.git("rev-list", "--count", "HEAD")
			}
			w.tamper(w.acceptedFile(), func(e []byte) []byte { return c.change(w, e, before) })
			if _, err := f.pull(durable.Disk{}); !errors.Is(err, c.want) {
				t.Errorf("pull: %v, want %v", err, c.want)
			}
			if _, err := f.adopt(durable.Disk{}); err != nil {
				t.Errorf("the next pass: %v", err)
			}
			if f.acceptedTree() != tree || f.git("rev-list", "--count", "HEAD") != commits {
				t.Error("something was taken over")
			}
		})
	}
}

// sealedAs signs the payload again, with "old->new" in it replaced.
func sealedAs(host, domain, change string) func(*world, []byte, []byte) []byte {
	return func(w *world, e, _ []byte) []byte {
		_, payload, _ := strings.Cut(string(e), "\n")
		if old, fresh, ok := strings.Cut(change, "->"); ok {
			payload = strings.Replace(payload, old, fresh, 1)
			if strings.HasPrefix(old, `"tree"`) { // one digit in, one digit out
				at := strings.Index(payload, `"tree":"`) + len(`"tree":"`)
				payload = payload[:at+64] + payload[at+65:]
			}
		}
		return must(peer.Seal(w.key(host), domain, []byte(payload)))
	}
}

func TestWhatWasFetchedIsVerifiedAgainWhereItIsTakenOver(t *testing.T) {
	for name, spoil := range map[string]func(f *follower, digest string){
		"signature": func(f *follower, _ string) {
			f.w.tamper(f.path("state", "followed", "objects", "claude.signed"), func(e []byte) []byte { e[len(e)-5] ^= 1; return e })
		},
		"content": func(f *follower, digest string) {
			f.w.tamper(f.path("state", "followed", "objects", "claude.objects", digest), func(e []byte) []byte { return []byte("allow: [gitXlog]\n") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, hosts, hub, f := following(t)
			hub.acceptNext(hosts, "allow: [git log]\n")
			if err := f.fetch(w.exchange(f.name), durable.Disk{}); err != nil {
				t.Fatal(err)
			}
			tree := f.acceptedTree()
			spoil(f, digestOf([]byte("allow: [git log]\n")))
			if commit, _ := f.adopt(durable.Disk{}); commit != "" {
				t.Error("taken over")
			}
			if f.acceptedTree() != tree {
				t.Error("something else is in force")
			}
			// What the exchange has is good, so the next fetch mends it.
			if commit, err := f.pull(durable.Disk{}); err != nil || commit == "" {
				t.Errorf("afterwards: %q, %v", commit, err)
			}
		})
	}
}

func TestAPolicyThatDoesNotCompileIsNotTakenOver(t *testing.T) {
	w, hosts, hub, f := following(t)
	w.later(time.Hour)
	for _, h := range hosts[1:] {
		h.drift("allow: [git log]\n")
	}
	hosts[0].send()
	hub.accept(hub.pass()["agent-02"].Fingerprint)
	// The hub is of a release that takes it, and this host's is not.
	w.later(time.Minute)
	g := must(hub.warden(durable.Disk{}).InForce(reconcile.Gate{Name: gateName, Source: manifest.Source{Limits: testLimits()}}))
	defer g.Close()
	body := []byte("broken\n")
	entries := append([]manifest.Entry(nil), g.Generation.Entries...)
	for i := range entries {
		if entries[i].Path == "policy/gate.yaml" {
			entries[i].SHA256, entries[i].Size = digestOf(body), int64(len(body))
		}
	}
	e := &fleet.Exporter{Exchange: w.exchange("hub"), Host: "hub", Seal: w.seal("hub"), Open: w.open, Dir: hub.path("sent")}
	_, err := e.Announce(t.Context(), fleet.Accepted{Generation: manifest.NewGeneration(gateName, entries), Commit: g.Commit, By: g.By, At: g.At,
		Open: func(path string) (io.ReadCloser, error) {
			if path == "policy/gate.yaml" {
				return io.NopCloser(strings.NewReader(string(body))), nil
			}
			return g.Open(path)
		}}, w.now)
	if err != nil {
		t.Fatal(err)
	}
	tree := f.acceptedTree()
	policy := new(reconcile.PolicyError)
	if _, err := f.pull(durable.Disk{}); !errors.As(err, &policy) {
		t.Errorf("pull: %v", err)
	}
	if f.acceptedTree() != tree {
		t.Error("something else is in force")
	}
	pass, err := f.warden(durable.Disk{}).Reconcile(t.Context(), []reconcile.Gate{f.gate()})
	if err != nil || !pass.Reports[0].Has(reconcile.Unfollowed) || pass.Reports[0].Result.Code() != 1 {
		t.Errorf("the pass: %v, %+v", err, pass.Reports)
	}
}

func TestAHostsOwnReviewedChangeIsNotOverwritten(t *testing.T) {
	_, hosts, hub, f := following(t)
	hub.acceptNext(hosts, "allow: [git log]\n")
	file := f.path("repo", "vendor-gate", "claude", "files", "policy", "gate.yaml")
	if err := os.WriteFile(file, []byte("allow: [make]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.git("commit", "-qam", "reviewed here")
	head := f.git("rev-parse", "HEAD")
	if _, err := f.pull(durable.Disk{}); !errors.Is(err, reconcile.ErrNotAcceptable) {
		t.Errorf("pull: %v", err)
	}
	if f.git("rev-parse", "HEAD") != head {
		t.Error("the branch has moved")
	}
}

func TestAHubWithoutItsStateStillCountsUp(t *testing.T) {
	w, hosts, hub, f := following(t)
	if err := os.RemoveAll(hub.path("sent")); err != nil {
		t.Fatal(err)
	}
	w.later(-24 * time.Hour) // nor does a clock that was set back make it count down
	hub.announce()
	w.later(24 * time.Hour)
	hub.acceptNext(hosts, "allow: [git log]\n")
	if commit, err := f.pull(durable.Disk{}); err != nil || commit == "" {
		t.Errorf("pull: %q, %v", commit, err)
	}
}
