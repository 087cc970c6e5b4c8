package server

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"gatehouse/exchange/jetstream"
)

// A fleet is nodes and hosts in this process.
type fleet struct {
	mu    sync.Mutex
	nodes []*Server
	hosts []Host
	seeds map[string][]byte
	ca    []byte
}

func newFleet(t testing.TB, hosts ...string) *fleet {
	f := &fleet{seeds: make(map[string][]byte)}
	for _, name := range hosts {
		seed, public := newKey(t)
		f.seeds[name] = seed
		f.hosts = append(f.hosts, Host{name, public})
	}
	return f
}

func newKey(t testing.TB) (seed []byte, public string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = pair.Seed(); err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return seed, public
}

// single starts one node on loopback, without TLS.
func single(t *testing.T, hosts ...string) *fleet {
	t.Helper()
	f := newFleet(t, hosts...)
	admin, _ := newKey(t)
	f.run(t, Node{Name: "one", Listen: "127.0.0.1:0", Store: t.TempDir(), Size: 512 << 20, Admin: admin})
	return f
}

// run starts the only node.
func (f *fleet) run(t *testing.T, node Node) {
	t.Helper()
	s := start(t, node, f.hosts)
	f.nodes = []*Server{s}
	if err := s.MakeStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, node Node, hosts []Host) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Start(ctx, node, hosts, func(line string) {
		if testing.Verbose() && testing.Short() {
			fmt.Println(node.Name, line)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func (f *fleet) options(host string) jetstream.Options {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := jetstream.Options{Host: host, CA: f.ca, Seed: f.seeds[host], Tries: time.Second}
	scheme := "nats://"
	if f.ca != nil {
		scheme = "tls://"
	}
	for _, s := range f.nodes {
		o.Servers = append(o.Servers, scheme+s.Addr().String())
	}
	return o
}

func (f *fleet) connect(t testing.TB, host string) *jetstream.Exchange {
	t.Helper()
	return connect(t, f.options(host))
}

func connect(t testing.TB, o jetstream.Options) (x *jetstream.Exchange) {
	t.Helper()
	eventually(t, o.Host+" connects", func() (err error) { // which a busy machine has no time for at first
		x, err = jetstream.Connect(t.Context(), o)
		return err
	})
	t.Cleanup(x.Close)
	return x
}

// patient is a context for what a busy machine takes long for.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
