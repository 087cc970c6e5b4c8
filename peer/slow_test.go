package peer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/exchange"
	"gatehouse/notify"
)

// mute is an exchange that is there and does not answer.
type mute struct{ exchange.Exchange }

func (mute) fault(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", exchange.ErrUnavailable, ctx.Err())
}

func (m mute) Put(ctx context.Context, _ exchange.Key, _ []byte) error { return m.fault(ctx) }

func (m mute) Get(ctx context.Context, _ exchange.Key) (exchange.Entry, error) {
	return exchange.Entry{}, m.fault(ctx)
}

func (m mute) List(ctx context.Context, _ exchange.Key) iter.Seq2[exchange.Entry, error] {
	return func(yield func(exchange.Entry, error) bool) { yield(exchange.Entry{}, m.fault(ctx)) }
}

// claimless answers, but for claims.
type claimless struct{ exchange.Exchange }

func (c claimless) Claim(ctx context.Context, _ string, _ time.Duration) (exchange.Claim, error) {
	return exchange.Claim{}, mute(c).fault(ctx)
}

// online is a receiver that cannot be reached when the time is over.
type online struct{ notify.Sink }

func (o online) Send(ctx context.Context, m notify.Message) error {
	return errors.Join(ctx.Err(), o.Sink.Send(ctx, m))
}

// An exchange that keeps a watcher waiting must not take the time in which it tells.
func TestAnExchangeThatDoesNotAnswerIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(exchange.Exchange) exchange.Exchange
		after time.Duration
		want  string
	}{
		"it does not answer at all": {func(x exchange.Exchange) exchange.Exchange { return mute{x} }, 20 * time.Minute, "open unavailable exchange by a"},
		"claims are not answered":   {func(x exchange.Exchange) exchange.Exchange { return claimless{x} }, 3 * time.Hour, "open silent b by a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, "a", "b")
				f.run(2*time.Hour, inOrder(), nil)
				a := f.hosts["a"]
				f.hosts["b"].dead = true
				a.Exchange = test.spoil(a.Exchange)
				a.Shared.Sinks[0] = online{a.Shared.Sinks[0]}
				for range test.after / f.every {
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					if _, err := a.Watch(ctx, nil); err != nil {
						t.Error(err)
					}
					cancel()
					f.now += f.every
				}
				if diff := cmp.Diff([]string{test.want}, f.told.take()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAHostSpeaksWhateverItsClockWas(t *testing.T) {
	for name, change := range map[string]func(*Heartbeat){
		"a pass before 1970":         func(h *Heartbeat) { h.At = -5 },
		"a notice of half a century": func(h *Heartbeat) { h.Pending = Pending{Count: 1, Oldest: 56 * 365 * 24 * 3600} },
		"a notice of the future":     func(h *Heartbeat) { h.Pending = Pending{Count: 1, Oldest: -7, Since: 1 << 41} },
	} {
		value := sealed(t, beatOf("a", 1, change), "a")
		if _, err := ParseHeartbeat("a", publicOf(keyOf("a")), value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A directory takes beats of any name.
func TestWhatStrangersSayIsNotKept(t *testing.T) {
	f := newFleet(t, "a", "b")
	f.beat()
	for i := range 50 {
		f.store.values[exchange.Key{Kind: exchange.Beats, Host: fmt.Sprintf("made-up-%d", i)}] = []byte(strings.Repeat("x", 100))
	}
	look, strange := f.hosts["a"].look(t.Context())
	if len(look.Beats) != 1 || len(strange) != shownStrange {
		t.Errorf("kept %d values, and %d names", len(look.Beats), len(strange))
	}
}
