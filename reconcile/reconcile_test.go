package reconcile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

func TestLoopFromFirstAcceptanceToTheNext(t *testing.T) {
	r := newReceiver(t)
	h := newHost(t, r.URL)
	h.expect(Missing)
	h.publish()
	h.accept()
	for range 3 {
		h.expect(InSync)
	}
	h.drift("allow: [git status, curl]\n")
	for range 10 {
		h.expect(Drifted)
	}
	if got := r.count("drift", "open"); got != 2 { // the first acceptance and this one
		t.Errorf("%d drifts were announced, want 2", got)
	}
	h.accept()
	h.expect(InSync)
	if got := r.count("drift", "closed"); got != 2 {
		t.Errorf("%d drifts were closed, want 2", got)
	}
	if got := h.git("log", "--format=%s"); strings.Count(got, "\n") != 2 {
		t.Errorf("log:\n%s", got)
	}
	if got := h.git("status", "--porcelain"); got != "" {
		t.Errorf("status:\n%s", got)
	}
	if got := h.git("show", "HEAD:vendor-gate/claude/files/policy/gate.yaml"); got != "allow: [git status, curl]\n" {
		t.Errorf("committed: %q", got)
	}
	events, err := h.must().History("claude")
	if err != nil || len(events) != 2 || events[1].By != "ann" || events[1].Why != "reviewed" {
		t.Errorf("history: %+v %v", events, err)
	}
}

func TestReviewedChangeIsDeployedAndRestored(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	old := manifestTree(t, h)

	// A reviewer edits a vendored file with plain git and leaves the manifest alone.
	reviewed := h.path("repo/vendor-gate/claude/files/policy/gate.yaml")
	if err := os.WriteFile(reviewed, []byte("allow: [git log]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.git("commit", "-qam", "review: allow git log")
	r := h.expect(Behind)
	if len(r.Changes) != 1 || r.Changes[0].Path != "policy/gate.yaml" {
		t.Errorf("changes: %+v", r.Changes)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), manifest.Fingerprint("claude", r.Changes), Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accepting what would undo a review: %v", err)
	}

	pass, err := h.must().Deploy(context.Background(), h.gate(), Decision{By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	after := pass.Reports[0]
	if after.Result != Behind || !after.Restorable || after.Tree != old {
		t.Fatalf("after the deploy: %+v", after)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), manifest.Fingerprint("claude", after.Changes), Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accepting what a deploy replaced: %v", err)
	}

	stored, err := manifest.OpenGeneration(h.path("state/accepted/claude"), h.gate().Source.Limits)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	if _, err := manifest.Restore(context.Background(), durable.Disk{}, stored, h.gate().Source, false); err != nil {
		t.Fatal(err)
	}
	h.publish()
	h.expect(InSync)

	// And back: the rollback commits the earlier state, and the live files are behind again.
	commit, pass, err := h.must().Rollback(context.Background(), h.gate(), "", Decision{By: "ann", Why: "too narrow"})
	if err != nil {
		t.Fatal(err)
	}
	if after := pass.Reports[0]; after.Result != Behind || !after.Restorable || after.Accepted != old {
		t.Errorf("after the rollback: %+v", after)
	}
	if head := strings.TrimSpace(h.git("rev-parse", "HEAD")); head != commit {
		t.Errorf("HEAD is %s, the rollback %s", head, commit)
	}
	h.fsck()
}

func TestDivergedIsNotAccepted(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/gate.yaml"), []byte("allow: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.git("commit", "-qam", "review")
	h.drift("allow: [curl]\n")
	r := h.expect(Diverged)
	if len(r.HeadChanges) != 1 || len(r.Changes) != 1 {
		t.Errorf("not shown three-way: %+v", r)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accept: %v", err)
	}
	if _, err := h.must().Deploy(context.Background(), h.gate(), Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	h.expect(Drifted)
}

func TestRejectedStaysAFindingUntilLiveIsAsAccepted(t *testing.T) {
	r := newReceiver(t)
	h := newHost(t, r.URL)
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	drift := h.expect(Drifted)
	pass, err := h.must().Reject(context.Background(), h.gate(), drift.Fingerprint, Decision{By: "ann", Why: "no curl"})
	if err != nil {
		t.Fatal(err)
	}
	if got := pass.Reports[0].Result; got != Rejected {
		t.Errorf("after the rejection: %s", got)
	}
	for range 3 {
		h.expect(Rejected)
	}
	if got := r.count("drift", "changed"); got != 1 {
		t.Errorf("the rejection was announced %d times", got)
	}
	h.drift("allow: [git status]\n")
	h.expect(InSync)
	if got := r.count("drift", "closed"); got != 2 {
		t.Errorf("%d closing lines, want 2", got)
	}
	h.drift("allow: [curl]\n")
	h.expect(Drifted) // the same change again is for a person to look at again
}

func TestForgedObjectIsAMismatchAndStagesNothing(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	forge(t, h, "policy/gate.yaml")
	r := h.expect(Mismatch)
	if names, err := os.ReadDir(h.path("state/staged")); err != nil || len(names) != 0 {
		t.Errorf("staged: %v %v", names, err)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accept: %v", err)
	}
	h.publish() // an object that changed since the last manifest is written again
	h.expect(Drifted)
}

func TestStagedBytesThatChangedAreNotAccepted(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	r := h.expect(Drifted)
	staged := filepath.Join(h.path("state/staged"), r.Fingerprint, r.Changes[0].New.SHA256)
	if err := os.WriteFile(staged, []byte("allow: [rm]\n\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"})
	if !errors.Is(err, ErrNotAcceptable) || !strings.Contains(err.Error(), "changed after it was staged") {
		t.Fatalf("accept: %v", err)
	}
	h.accept() // it is staged anew by the next pass
}

func TestLiveThatMovedOnIsNotAccepted(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	shown := h.expect(Drifted)
	h.drift("allow: [curl, rm]\n")
	_, _, err := h.must().Accept(context.Background(), h.gate(), shown.Fingerprint, Decision{By: "ann"})
	if !errors.Is(err, ErrNotAcceptable) {
		t.Fatalf("accept: %v", err)
	}
	now := h.expect(Drifted)
	if !strings.Contains(err.Error(), DriftID(now.Fingerprint)) {
		t.Errorf("the refusal does not name the new drift %s: %v", DriftID(now.Fingerprint), err)
	}
	// Changed on disk and not published: also refused, whatever the export says.
	h.write("gate.yaml", "allow: [dd]\n")
	if _, _, err := h.must().Accept(context.Background(), h.gate(), now.Fingerprint, Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accept of unpublished live files: %v", err)
	}
}

func TestLyingPublisherIsTheWorstFinding(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.write("gate.yaml", "allow: [everything]\n")
	time.Sleep(2 * clockGrain) // the lie below has to be younger than the file by more than the clock's grain
	republishOld(t, h)
	h.expect(PublisherDisagrees)
}

func TestReplayedManifest(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	old, err := os.ReadFile(h.path("export/manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	h.accept()
	h.publish()
	h.expect(InSync)
	if err := os.WriteFile(h.path("export/manifest.json"), old, 0o644); err != nil {
		t.Fatal(err)
	}
	h.expect(Replayed)
	h.publish()
	h.expect(InSync)
}

func TestPauseHoldsNoticesAndNotFindings(t *testing.T) {
	r := newReceiver(t)
	h := newHost(t, r.URL)
	h.publish()
	h.accept()
	if err := h.must().HoldNotices(context.Background(), h.gate(), time.Now().Add(time.Hour), Decision{By: "ann", Why: "upgrade"}); err != nil {
		t.Fatal(err)
	}
	h.drift("allow: [curl]\n")
	h.expect(Drifted)
	if got := r.count("drift", "open"); got != 1 {
		t.Errorf("%d announcements during the pause, want only the one before it", got)
	}
	if err := h.must().HoldNotices(context.Background(), h.gate(), time.Time{}, Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	h.expect(Drifted)
	if got := r.count("drift", "open"); got != 2 {
		t.Errorf("%d announcements after the pause, want 2", got)
	}
}

func TestCorruptStateIsAnErrorAndIsKept(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	path := h.path("state/gates/claude.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.expect(Error)
	if !strings.Contains(r.Findings[0].Reason, path) {
		t.Errorf("reason: %s", r.Findings[0].Reason)
	}
	kept, err := os.ReadFile(path)
	if err != nil || string(kept) != string(data) {
		t.Error("the corrupt file was overwritten")
	}
}

func TestDriftOnTopOfADeployThatNeverArrivedIsNotAccepted(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/gate.yaml"), []byte("allow: [git log]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.git("commit", "-qam", "review")
	h.drift("allow: [git status, mine]\n") // from the state before the review
	h.expect(Diverged)
	if _, err := h.must().Deploy(context.Background(), h.gate(), Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	r := h.expect(Drifted)
	if len(r.Undoes) != 1 || r.Undoes[0] != "policy/gate.yaml" {
		t.Errorf("undoes %q", r.Undoes)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Fatalf("accept: %v", err)
	}
	// Rejecting it first is no way around.
	if _, err := h.must().Reject(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann", Why: "no"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("accept of the rejected: %v", err)
	}
	// Once live has had the deployed state, the same edit is a drift like any other.
	h.drift("allow: [git log]\n")
	h.expect(InSync)
	h.drift("allow: [git status, mine]\n")
	h.accept()
}

func TestWhatNobodyCanJudgeIsNeitherThereNorGone(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	if err := os.Link(h.path("live/rules.yaml"), h.path("elsewhere")); err != nil {
		t.Fatal(err)
	}
	h.publish()
	r := h.expect(Refused)
	if len(r.Changes) != 0 || r.Fingerprint != "" {
		t.Errorf("a file with two links is shown as changed: %+v", r.Changes)
	}
}

func TestBrokenManifestIsTheExportsFault(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	if err := os.WriteFile(h.path("export/manifest.json"), []byte(`{"schema":"x","schema":"y"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := h.expect(Refused); r.Complete() {
		t.Error("it counts as a comparison")
	}
}

func TestDeployOfWhatIsInForceChangesNothing(t *testing.T) {
	received := newReceiver(t)
	h := newHost(t, received.URL)
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	h.expect(Drifted)
	if _, err := h.must().Deploy(context.Background(), h.gate(), Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if open, closed := received.count("drift", "open"), received.count("drift", "closed"); open != 2 || closed != 1 {
		t.Errorf("%d opened, %d closed", open, closed)
	}
}

func TestCorruptNoticeStopsNoPass(t *testing.T) {
	received := newReceiver(t)
	h := newHost(t, received.URL)
	h.publish()
	h.expect(Drifted)
	files, err := filepath.Glob(h.path("state/notices/drift*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	pass, err := h.must().Reconcile(context.Background(), []Gate{h.gate()})
	if err != nil || pass.Reports[0].Result != Drifted || len(pass.Delivery.Warnings) == 0 {
		t.Fatalf("%+v %v", pass, err)
	}
	if got := received.count("drift", "open"); got != 2 { // it is not known what was said: better twice than never
		t.Errorf("announced %d times", got)
	}
}

func TestStateThatOthersCanWriteIsNotBelieved(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	for name, spoil := range map[string]func(string) error{
		"open to all": func(dir string) error { return os.Chmod(dir, 0o777) },
		"of somebody else": func(dir string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(dir, 0o777)
			}
			return os.Chown(dir, 31337, 31337)
		},
	} {
		for _, dir := range []string{"state", "state/accepted", "state/gates"} {
			info, err := os.Stat(h.path(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(h.path(dir)); err != nil {
				t.Fatal(err)
			}
			if _, err := h.must().Reconcile(context.Background(), []Gate{h.gate()}); err == nil || !strings.Contains(err.Error(), h.path(dir)) {
				t.Errorf("%s %s: %v", dir, name, err)
			}
			if err := errors.Join(os.Chown(h.path(dir), os.Geteuid(), os.Getegid()), os.Chmod(h.path(dir), info.Mode())); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.expect(InSync)
}

// A pass that finishes a deploy and then fails must not forget what the deploy replaced.
func TestFailedPassKeepsWhatItSettled(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/gate.yaml"), []byte("allow: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.git("commit", "-qam", "review")
	h.expect(Behind)
	cut, err := h.warden(durable.Disk{Around: func(s durable.Step, change func() error) error {
		if s.Op == "symlink" || s.Name == h.path("state/gates/claude.json") {
			return errInjected // cut short right after the intent
		}
		return change()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Deploy(context.Background(), h.gate(), Decision{By: "ann"}); !errors.Is(err, errInjected) {
		t.Fatalf("deploy: %v", err)
	}
	w := h.must()
	w.Repository, w.RepositoryErr = nil, errors.New("the repository is away")
	if _, err := w.Reconcile(context.Background(), []Gate{h.gate()}); err != nil {
		t.Fatal(err)
	}
	if r := h.expect(Behind); !r.Restorable {
		t.Errorf("it is forgotten that live is what the deploy replaced: %+v", r)
	}
}
