package reconcile

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse/internal/durable"
	vendorgate "gatehouse/vendor-gate"
)

func TestStuckGateTakesItsShareOfTheTimeAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		free := make(chan struct{}) // the system call comes back when the test is over, or the bubble would not end
		start := time.Now()
		_, err := bounded(ctx, 5, func(context.Context) (*looked, error) {
			<-free
			return nil, nil
		})
		if !errors.Is(err, ErrStuck) {
			t.Errorf("error %v, want %v", err, ErrStuck)
		}
		if got, want := time.Since(start), (time.Minute-reserve)/5+patience; got != want {
			t.Errorf("it took %v, want %v", got, want)
		}
		close(free)
	})
}

func TestSlowGateThatHeedsItsDeadlineIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := bounded(ctx, 1, func(ctx context.Context) (*looked, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if errors.Is(err, ErrStuck) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// A review that is merged after the comparison and before the commit must not be undone by the commit.
func TestMergeDuringAnAcceptanceIsNotUndone(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.drift("allow: [curl]\n")
	r := h.expect(Drifted)
	merged := false
	w, err := h.warden(durable.Disk{Around: func(s durable.Step, change func() error) error {
		if s.Name == h.path("state/intents/claude.json") && !merged {
			merged = true
			if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/rules.yaml"), []byte("rules: [reviewed]\n"), 0o644); err != nil {
				return err
			}
			h.git("commit", "-qam", "review")
		}
		return change()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.Is(err, vendorgate.ErrMoved) {
		t.Fatalf("accept: %v, want %v", err, vendorgate.ErrMoved)
	}
	if got := h.git("log", "-1", "--format=%s"); got != "review\n" {
		t.Errorf("HEAD is %q", got)
	}
	h.expect(Diverged)
}

func TestRepositoryThatCannotBeOpenedIsReportedOnce(t *testing.T) {
	received := newReceiver(t)
	h := newHost(t, received.URL)
	h.publish()
	h.accept()
	for range 3 {
		w := h.must()
		w.Repository, w.RepositoryErr = nil, errors.New("repository /srv/gate: no such directory")
		pass, err := w.Reconcile(context.Background(), []Gate{h.gate()})
		if err != nil || pass.Reports[0].Result != Error {
			t.Fatalf("%+v %v", pass.Reports, err)
		}
	}
	if got := received.count("error", "open"); got != 1 {
		t.Errorf("announced %d times", got)
	}
	h.expect(InSync)
	if got := received.count("error", "closed"); got != 1 {
		t.Errorf("closed %d times", got)
	}
}
