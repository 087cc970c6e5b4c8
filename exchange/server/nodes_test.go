package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// A link carries the routes from one node to another, and can be cut.
type link struct {
	to       string
	listener net.Listener

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newLink(t testing.TB, to string) *link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{to: to, listener: l}
	t.Cleanup(func() { l.Close(); k.set(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go k.carry(c)
		}
	}()
	return k
}

func (k *link) carry(from net.Conn) {
	to, err := net.Dial("tcp", k.to)
	if err != nil {
		from.Close()
		return
	}
	k.mu.Lock()
	k.conns = append(k.conns, from, to)
	cut := k.cut
	k.mu.Unlock()
	if cut {
		from.Close()
		to.Close()
		return
	}
	go func() {
		io.Copy(to, from)
		to.Close()
	}()
	io.Copy(from, to)
	from.Close()
}

func (k *link) set(cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut
	if cut {
		for _, c := range k.conns {
			c.Close()
		}
		k.conns = nil
	}
}

// A cluster is a fleet with three nodes, which the operator's home describes.
type cluster struct {
	*fleet
	home  *Home
	links map[[2]int]*link
	plans []Node
}

// freePort is a port of this test's: it is bound, which keeps the kernel from giving it to who listens anywhere or connects to
// it while nobody listens, and he who names it can listen all the same.
func freePort(t testing.TB) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return at.(*unix.SockaddrInet4).Port
}

func newCluster(t testing.TB, hosts ...string) *cluster {
	t.Helper()
	c := &cluster{fleet: newFleet(t, hosts...), links: make(map[[2]int]*link)}
	var plan Plan
	plan.Size = 2 << 30
	for i := range 3 {
		plan.Nodes = append(plan.Nodes, NodePlan{
			Name: fmt.Sprintf("ex%d", i), Host: "127.0.0.1", Listen: "127.0.0.1", Port: freePort(t), Route: freePort(t),
		})
	}
	dir := filepath.Join(t.TempDir(), "home")
	var err error
	if c.home, err = Init(durable.Disk{}, dir, plan, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, host := range c.hosts { // Add reads all others each time, which is for one host at a time
		data, err := json.Marshal(hostFile{host.Name, host.Key, time.Now()})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "hosts", host.Name+".json"), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if c.ca, err = os.ReadFile(filepath.Join(dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	for i, p := range plan.Nodes {
		node, err := c.home.Node(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		node.Cluster.Routes, node.Cluster.Advertise = nil, "127.0.0.1:1" // nobody finds another way
		for j, other := range plan.Nodes {
			if i != j {
				k := newLink(t, fmt.Sprintf("127.0.0.1:%d", other.Route))
				c.links[[2]int{i, j}] = k
				node.Cluster.Routes = append(node.Cluster.Routes, k.listener.Addr().String())
			}
		}
		c.plans = append(c.plans, node)
		c.nodes = append(c.nodes, nil)
		c.start(t, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // with the race detector on a busy machine
	defer cancel()
	if err := c.nodes[0].MakeStreams(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) start(t testing.TB, i int) {
	t.Helper()
	hosts, err := c.home.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, c.plans[i], hosts)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = s
}

// isolate cuts all links of a node, or mends them.
func (c *cluster) isolate(i int, cut bool) {
	for pair, k := range c.links {
		if slices.Contains(pair[:], i) {
			k.set(cut)
		}
	}
}

// leader is the node that leads a stream.
func (c *cluster) leader(t testing.TB, stream string) (node int) {
	t.Helper()
	eventually(t, "the stream "+stream+" has a leader", func() error {
		nc, err := c.nodes[0].admin()
		if err != nil {
			return err
		}
		defer nc.Close()
		js, err := client.New(nc)
		if err != nil {
			return err
		}
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			return err
		}
		leader := s.CachedInfo().Cluster.Leader
		if node = slices.IndexFunc(c.plans, func(n Node) bool { return n.Name == leader }); node < 0 {
			return fmt.Errorf("%q leads", leader)
		}
		return nil
	})
	return node
}

// eventually repeats what may fail while a leader is found.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// current reports whether all streams have this node's replica, and the others, up to date.
func (c *cluster) current(i int) error {
	nc, err := c.nodes[i].admin()
	if err != nil {
		return err
	}
	defer nc.Close()
	status, err := ReadStatus(context.Background(), nc)
	if err != nil {
		return err
	}
	for _, s := range status {
		if s.Problem != "" {
			return fmt.Errorf("%s: %s", s.Name, s.Problem)
		}
	}
	return nil
}
