package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"gatehouse/exchange"
)

// A server says beside a request that it refuses it.
func TestARefusalEndsTheRequestsItIsAbout(t *testing.T) {
	r := new(refusals)
	mine, done := r.await(t.Context(), Root+".beats.a")
	defer done()
	other, finished := r.await(t.Context(), Root+".beats.ab")
	r.note(errors.New("something else"))
	r.note(fmt.Errorf("%w: Permissions Violation for Publish to %q", nats.ErrPermissionViolation, Root+".beats.a"))
	if err := context.Cause(mine); !errors.Is(err, exchange.ErrForbidden) {
		t.Errorf("the request that is refused: %v, want ErrForbidden", err)
	}
	if err := other.Err(); err != nil {
		t.Errorf("another request: %v", err)
	}
	finished()
	if len(r.waiting) != 1 {
		t.Errorf("%d requests wait, want the one that is not done", len(r.waiting))
	}
}

func TestMeaning(t *testing.T) {
	for err, want := range map[error]error{
		nats.ErrAuthorization:       exchange.ErrForbidden,
		nats.ErrMaxPayload:          exchange.ErrTooLarge,
		nats.ErrTimeout:             exchange.ErrUnavailable,
		nats.ErrNoServers:           exchange.ErrUnavailable,
		context.DeadlineExceeded:    exchange.ErrUnavailable,
		errors.New("unheard of"):    exchange.ErrUnavailable,
		exchange.ErrForbidden:       exchange.ErrForbidden,
		nats.ErrPermissionViolation: exchange.ErrForbidden,
	} {
		if got := meaning(err); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("meaning(%v) = %v, want %v", err, got, want)
		}
	}
	if meaning(nil) != nil {
		t.Error("no error means something")
	}
}
