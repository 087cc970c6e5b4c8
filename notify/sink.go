package notify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// A Sink is one place where notices go. Its name stands in the records: it stays the same from run to run.
type Sink interface {
	Name() string
	// Send returns nil when the receiver took the message.
	Send(ctx context.Context, m Message) error
}

// A Finder is a Sink that can tell whether a message of which the outcome is unknown has arrived.
type Finder interface {
	Find(ctx context.Context, id string, since time.Time) (bool, error)
}

// A SendError says what a failed Send means. An error that is none is a passing fault with an unknown outcome.
type SendError struct {
	Err        error
	Refused    bool          // the receiver surely did not take the message
	Permanent  bool          // it never will, until somebody changes something
	RetryAfter time.Duration // how long the receiver asked to be left alone
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// judge returns err as a SendError.
func judge(err error) *SendError {
	var known *SendError
	if errors.As(err, &known) {
		return known
	}
	var op *net.OpError
	return &SendError{Err: err, Refused: errors.As(err, &op) && op.Op == "dial"}
}

// statusError says what an HTTP status that is no success means.
func statusError(code int, retryAfter time.Duration, err error) *SendError {
	e := &SendError{Err: err, RetryAfter: retryAfter}
	switch {
	case code >= 500: // the receiver may have got it before it broke
	case code == http.StatusTooManyRequests:
		e.Refused = true
		if retryAfter <= 0 {
			e.RetryAfter = 30 * time.Second
		}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly:
		e.Refused = true
	default:
		e.Refused, e.Permanent, e.RetryAfter = true, true, 0
	}
	return e
}

// httpClient returns a client that waits 10 s and follows no redirect, which would carry the message, and what proves
// who we are, to a place that nobody configured. transport may be nil.
func httpClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:       10 * time.Second,
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
