package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

func TestWhoIsNotAHostIsNotLetIn(t *testing.T) {
	t.Parallel()
	f := single(t, "a", "b")
	url := "nats://" + f.nodes[0].Addr().String()
	seed, public := newKey(t)
	wrong, err := nkeys.FromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]nats.Option{
		"without a key":                      nil,
		"with a password":                    {nats.UserInfo("a", "a")},
		"with a token":                       {nats.Token("a")},
		"with a key of its own":              {nats.Nkey(public, wrong.Sign)},
		"with a's key and its own signature": {nats.Nkey(f.hosts[0].Key, wrong.Sign)},
	} {
		nc, err := nats.Connect(url, append(opts, nats.Timeout(time.Minute))...)
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, want an authorization violation", name, err)
		}
		if err == nil {
			nc.Close()
		}
	}
	o := f.options("a")
	o.Seed = seed
	if err := refusal(t, o); !errors.Is(err, exchange.ErrForbidden) {
		t.Errorf("Connect with another key: %v, want ErrForbidden", err)
	}
	o = f.options("a")
	o.Host = "b"
	if err := refusal(t, o); !errors.Is(err, exchange.ErrForbidden) || !strings.Contains(err.Error(), "seed is not that of") {
		t.Errorf("a, who says that it is b: %v, want ErrForbidden", err)
	}
}

// refusal is what a node that is there says to somebody who connects.
func refusal(t *testing.T, o jetstream.Options) (refusal error) {
	t.Helper()
	eventually(t, "a node answers "+o.Host, func() error { // which a busy machine has no time for at first
		x, err := jetstream.Connect(t.Context(), o)
		if err == nil {
			x.Close()
		} else if errors.Is(err, exchange.ErrUnavailable) {
			return err
		}
		refusal = err
		return nil
	})
	return refusal
}

// Whoever does not speak the protocol is cut off, and holds up nobody.
func TestGarbageIsCutOff(t *testing.T) {
	t.Parallel()
	f := single(t, "a")
	for name, send := range map[string]string{
		"http":           "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"a long line":    "PUB " + strings.Repeat("x", 64<<10) + "\r\n",
		"a huge payload": "CONNECT {}\r\nPUB x 999999999\r\n",
	} {
		c, err := net.Dial("tcp", f.nodes[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(c, send)
		r := bufio.NewReader(c)
		for err == nil {
			_, err = r.ReadString('\n')
		}
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
		c.Close()
	}
	put(t, f.connect(t, "a"), beat("a"), "x")
}

// One connection has few subscriptions, and a server that refuses more goes on.
func TestAStormOfSubscriptionsIsRefused(t *testing.T) {
	t.Parallel()
	f := single(t, "a", "b")
	a := f.attack(t)
	for range 1000 {
		if _, err := a.SubscribeSync(a.NewInbox()); err != nil {
			break // the server has cut it off
		}
	}
	select {
	case err := <-a.violations:
		if !strings.Contains(strings.ToLower(err.Error()), "maximum subscriptions") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a thousand subscriptions are not refused")
	}
	put(t, f.connect(t, "b"), beat("b"), "x")
}

func TestAHostThatIsRemovedIsCutOff(t *testing.T) {
	t.Parallel()
	f := single(t, "a", "b")
	a, b := f.connect(t, "a"), f.connect(t, "b")
	put(t, a, beat("a"), "x")
	put(t, b, beat("b"), "x")
	seed, public := newKey(t)
	f.seeds["c"] = seed
	if err := f.nodes[0].Reload([]Host{f.hosts[1], {"c", public}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := a.Put(ctx, beat("a"), []byte("y")); err == nil {
		t.Error("a host that was removed still writes")
	}
	if err := refusal(t, f.options("a")); !errors.Is(err, exchange.ErrForbidden) {
		t.Errorf("it connects: %v, want ErrForbidden", err)
	}
	put(t, b, beat("b"), "y")
	put(t, f.connect(t, "c"), beat("c"), "x")
	if got := collect(t, b, exchange.Key{Kind: exchange.Beats}); got["beats/a"] != "x" || got["beats/b"] != "y" || got["beats/c"] != "x" {
		t.Errorf("the beats are %v", got)
	}
}
