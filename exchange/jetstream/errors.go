package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gatehouse/exchange"
)

// Codes of the server's errors that mean something here.
const (
	codeMessageTooLarge jetstream.ErrorCode = 10054
	codeStoreFailed     jetstream.ErrorCode = 10077 // a limit of the stream
	codeWrongLast       jetstream.ErrorCode = 10071
	codeWrongLastConst  jetstream.ErrorCode = 10164
)

// meaning says what an error of the library means to who uses an exchange.
func meaning(err error) error {
	api, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exchange.ErrForbidden), errors.Is(err, exchange.ErrUnavailable):
		return err
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrPermissionViolation), errors.Is(err, nats.ErrAuthExpired):
		return fmt.Errorf("%w: %w", exchange.ErrForbidden, err)
	case errors.Is(err, nats.ErrMaxPayload), api != nil && api.ErrorCode == codeMessageTooLarge:
		return fmt.Errorf("%w: %w", exchange.ErrTooLarge, err)
	case api != nil && api.ErrorCode == codeStoreFailed:
		return fmt.Errorf("%w: the exchange is full: %w", exchange.ErrUnavailable, err)
	default:
		return fmt.Errorf("%w: %w", exchange.ErrUnavailable, err)
	}
}

// refusals end requests that the server does not permit. It says so beside the request, which would otherwise wait for
// its deadline.
type refusals struct {
	mu      sync.Mutex
	waiting map[*request]struct{}
}

type request struct {
	subject string
	cancel  context.CancelCauseFunc
}

// await returns a context that ends when the server refuses subject.
func (r *refusals) await(ctx context.Context, subject string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	waits := &request{subject, cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(map[*request]struct{})
	}
	r.waiting[waits] = struct{}{}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, waits)
	}
}

// note reads what the server said about some request, which it names in quotes.
func (r *refusals) note(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	text := strings.ToLower(err.Error())
	r.mu.Lock()
	defer r.mu.Unlock()
	for waits := range r.waiting {
		if strings.Contains(text, strings.ToLower(`"`+waits.subject+`"`)) {
			waits.cancel(fmt.Errorf("%w: %w", exchange.ErrForbidden, err))
		}
	}
}
