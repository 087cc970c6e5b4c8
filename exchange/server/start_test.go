package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"gatehouse/exchange"
)

// Whoever types "serve" again beside a unit must neither touch the data of the one that runs nor wait for long.
func TestASecondServerStaysAwayFromTheData(t *testing.T) {
	t.Parallel()
	f := single(t, "a")
	again := f.nodes[0].node
	again.Listen = f.nodes[0].Addr().String()
	f.fails(t, again, "it runs already")

	x, key := f.connect(t, "a"), exchange.Key{Kind: exchange.Beats, Host: "a"}
	if err := x.Put(t.Context(), key, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if e, err := x.Get(t.Context(), key); err != nil || string(e.Value) != "one" {
		t.Errorf("get: %q, %v", e.Value, err)
	}
	f.nodes[0].Stop()
	start(t, again, f.hosts) // which could not, had it left the data locked
}

func TestAPortThatIsTakenIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	f := single(t)
	other := f.nodes[0].node
	other.Store, other.Listen = t.TempDir(), f.nodes[0].Addr().String()
	f.fails(t, other, "address already in use")
}

// fails starts a node that must not start, and must say so long before it would be given up.
func (f *fleet) fails(t *testing.T, node Node, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Start(ctx, node, f.hosts, func(string) {})
	if err == nil {
		s.Stop()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("start: %v, want an error with %q", err, want)
	}
}
