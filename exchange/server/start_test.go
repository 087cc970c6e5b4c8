package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse/exchange"
)

// Whoever types "serve" again beside a unit must neither touch the data of the one that runs nor wait for long.
func TestASecondServerStaysAwayFromTheData(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	admin, _ := newKey(t)
	again := Node{Name: "one", Listen: fmt.Sprint("127.0.0.1:", freePort(t)), Store: t.TempDir(), Size: 512 << 20, Admin: admin}
	f.run(t, again)
	f.fails(t, again, "it runs already")

	x, key := f.connect(t, "a"), exchange.Key{Kind: exchange.Beats, Host: "a"}
	if err := x.Put(patient(t), key, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if e, err := x.Get(patient(t), key); err != nil || string(e.Value) != "one" {
		t.Errorf("get: %q, %v", e.Value, err)
	}
	f.nodes[0].Stop()
	start(t, again, f.hosts) // which could not, had it left the data locked
}

// A reload cuts off who is just coming in, be it the operator who makes the streams.
func TestWhoIsCutOffWhileMakingTheStreamsComesAgain(t *testing.T) {
	t.Parallel()
	admin, _ := newKey(t)
	node := Node{Name: "one", Listen: "127.0.0.1:0", Store: t.TempDir(), Size: 512 << 20, Admin: admin}
	refused := make(chan struct{}, 1)
	s, err := Start(t.Context(), node, nil, func(line string) {
		if strings.Contains(line, "authentication error") {
			select {
			case refused <- struct{}{}:
			default: // it was said before
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	node.Admin, _ = newKey(t)
	strange, err := options(node, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	strange.Port = s.Addr().Port
	strange.WriteDeadline = 100 * time.Millisecond // of the refusal, which a pipe takes only from who reads it
	if err := s.srv.ReloadOptions(strange); err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() { made <- s.MakeStreams(t.Context()) }()
	select {
	case err := <-made:
		t.Fatalf("after the first refusal: %v", err)
	case <-refused:
	}
	if err := s.Reload(nil); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
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
