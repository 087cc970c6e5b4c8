package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

// Nor does a watch miss any, and of fifty hosts that claim one alert at once, one holds it.
func TestNothingAcknowledgedIsLostWhenNodesDie(t *testing.T) {
	t.Parallel()
	hosts := []string{"a", "b", "c", "d"}
	claimers := slices.Clone(hosts)
	for i := len(claimers); i < 50; i++ {
		claimers = append(claimers, fmt.Sprint("host", i))
	}
	c := newCluster(t, claimers...)
	c.oneHolds(t, claimers)
	var mu sync.Mutex
	acked := make(map[string]string)
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acked)
	}
	for _, host := range hosts {
		x := c.connect(t, host)
		wg.Go(func() {
			for n := 0; writing.Err() == nil; n++ {
				key := exchange.Key{Kind: exchange.Told, Host: host, Rest: fmt.Sprint("alert-", n)}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				err := x.Put(ctx, key, []byte(key.String()))
				cancel()
				if err == nil {
					mu.Lock()
					acked[key.String()] = key.String()
					mu.Unlock()
				}
			}
		})
	}
	// Somebody looks through it all, and sees what is there, or that it cannot be seen.
	watching, leave := context.WithCancel(t.Context())
	watcher := c.connect(t, "d")
	wg.Go(func() {
		for watching.Err() == nil {
			before, seen, whole := count(), 0, true
			for e, err := range watcher.List(watching, exchange.Key{Kind: exchange.Told}) {
				if err := errors.Join(err, e.Err); err != nil && !errors.Is(err, exchange.ErrUnavailable) && watching.Err() == nil {
					t.Errorf("the list says %+v, %v", e, err)
				}
				whole = whole && err == nil
				seen++
			}
			if whole && seen < before {
				t.Errorf("a list has %d of %d values that were acknowledged before it", seen, before)
			}
		}
	})
	more := func(n int) {
		t.Helper()
		want := count() + n
		eventually(t, fmt.Sprintf("%d more acknowledged", n), func() error {
			if got := count(); got < want {
				return fmt.Errorf("%d of %d", got, want)
			}
			return nil
		})
	}
	more(200)
	first := c.leader(t, jetstream.ToldStream)
	c.nodes[first].Stop()
	more(200)
	c.start(t, first)
	// The other must not go before this one is back.
	eventually(t, "the node comes back", func() error { return c.current(first) })
	second := (first + 1) % 3
	c.nodes[second].Stop()
	more(200)
	eventually(t, "status says that a node is missing", func() error {
		if c.current(first) == nil {
			return errors.New("all is well")
		}
		return nil
	})
	stop()
	leave()
	wg.Wait()

	got := collect(t, c.connect(t, "a"), exchange.Key{Kind: exchange.Told})
	lost := 0
	for key, value := range acked {
		if got[key] != value {
			lost++
		}
	}
	if lost != 0 {
		t.Errorf("%d of %d acknowledged are lost", lost, len(acked))
	}
	t.Logf("%d acknowledged, %d there", len(acked), len(got))
}

// oneHolds lets all hosts claim one alert at once.
func (c *cluster) oneHolds(t *testing.T, hosts []string) {
	t.Helper()
	var wg sync.WaitGroup
	got := make([]exchange.Claim, len(hosts))
	for i, host := range hosts {
		x := c.connect(t, host)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var err error
			if got[i], err = x.Claim(ctx, "silent-x.1", 10*time.Minute); err != nil {
				t.Error(err)
			}
			x.Close()
		})
	}
	wg.Wait()
	mine := 0
	for _, claim := range got {
		if claim.Mine {
			mine++
		}
		if claim.Holder != got[0].Holder {
			t.Errorf("%q holds it, and %q", claim.Holder, got[0].Holder)
		}
	}
	if mine != 1 {
		t.Errorf("%d of %d hosts hold it, want one", mine, len(hosts))
	}
}

func TestAPartitionIsNoticedAndHeals(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "a", "b")
	cutOff := (c.leader(t, jetstream.BeatsStream) + 1) % 3 // a follower, which has the data
	at := func(host string, i int) *jetstream.Exchange {
		o := c.options(host)
		o.Servers = []string{o.Servers[i]}
		return connect(t, o)
	}
	inside, outside := at("b", (cutOff+1)%3), at("a", cutOff)
	put(t, inside, beat("b"), "0")
	if got := collect(t, outside, exchange.Key{Kind: exchange.Beats}); got["beats/b"] != "0" {
		t.Fatalf("before: %v", got)
	}

	c.isolate(cutOff, true)
	eventually(t, "the others go on", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return inside.Put(ctx, beat("b"), []byte("1"))
	})
	c.refusesStrangersAsNodes(t)
	// The node that is cut off has an old value and must not pass it off as the newest.
	short, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	for e, err := range outside.List(short, exchange.Key{Kind: exchange.Beats}) {
		if !errors.Is(err, exchange.ErrUnavailable) {
			t.Errorf("a list where a node is cut off yields %q, %v; want ErrUnavailable", e.Value, err)
		}
	}
	short, cancel = context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if e, err := outside.Get(short, beat("b")); !errors.Is(err, exchange.ErrUnavailable) || errors.Is(err, exchange.ErrNotFound) {
		t.Errorf("Get there: %q, %v; want ErrUnavailable", e.Value, err)
	}
	short, cancel = context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if err := outside.Put(short, beat("a"), []byte("x")); !errors.Is(err, exchange.ErrUnavailable) {
		t.Errorf("Put there: %v, want ErrUnavailable", err)
	}
	if claim, err := outside.Claim(short, "x", time.Minute); !errors.Is(err, exchange.ErrUnavailable) {
		t.Errorf("Claim there: %+v, %v; want ErrUnavailable", claim, err)
	}
	put(t, inside, beat("b"), "2")

	c.isolate(cutOff, false)
	eventually(t, "a sees what b wrote meanwhile", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if e, err := outside.Get(ctx, beat("b")); err != nil || string(e.Value) != "2" {
			return fmt.Errorf("%q, %v", e.Value, err)
		}
		return nil
	})
	eventually(t, "a writes again", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return outside.Put(ctx, beat("a"), []byte("y"))
	})
	if got := collect(t, inside, exchange.Key{Kind: exchange.Beats}); got["beats/a"] != "y" || got["beats/b"] != "2" {
		t.Errorf("after all: %v", got)
	}
}
