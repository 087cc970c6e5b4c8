package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
	"gatehouse/internal/durable"
)

func plan(t *testing.T) Plan {
	return Plan{Size: 512 << 20, Nodes: []NodePlan{{Name: "ex1", Host: "127.0.0.1", Listen: "0.0.0.0", Port: freePort(t)}}}
}

func home(t *testing.T, p Plan) (*Home, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	h, err := Init(durable.Disk{}, dir, p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return h, dir
}

func TestPlansThatCannotBe(t *testing.T) {
	ok := NodePlan{Name: "a", Host: "a.example", Listen: "0.0.0.0", Port: 1}
	three := func(change func(*NodePlan)) Plan {
		var p Plan
		for i := range 3 {
			n := ok
			n.Name, n.Route = fmt.Sprint("n", i), 6222
			change(&n)
			p.Nodes = append(p.Nodes, n)
		}
		return p
	}
	one := func(change func(*NodePlan)) Plan {
		n := ok
		change(&n)
		return Plan{Nodes: []NodePlan{n}}
	}
	for name, p := range map[string]Plan{
		"no node":         {},
		"two nodes":       {Nodes: []NodePlan{ok, {Name: "b", Host: "b", Listen: "::", Port: 1}}},
		"two of one name": three(func(n *NodePlan) { n.Name = "n" }),
		"no route":        three(func(n *NodePlan) { n.Route = 0 }),
		"a route alone":   one(func(n *NodePlan) { n.Route = 1 }),
		"a bad name":      one(func(n *NodePlan) { n.Name = "../x" }),
		"a bad host":      one(func(n *NodePlan) { n.Host = `a"` }),
		"no address":      one(func(n *NodePlan) { n.Listen = "a.example" }),
		"no port":         one(func(n *NodePlan) { n.Port = 70000 }),
		"a negative size": {Size: -1, Nodes: []NodePlan{ok}},
	} {
		dir := filepath.Join(t.TempDir(), "home")
		if _, err := Init(durable.Disk{}, dir, p, time.Now()); err == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s leaves a directory: %v", name, err)
		}
	}
}

func TestAHomeIsReadAsItWasMade(t *testing.T) {
	h, dir := home(t, plan(t))
	if _, err := Init(durable.Disk{}, dir, plan(t), time.Now()); err == nil {
		t.Error("a second init takes the place of the first")
	}
	again, err := Open(durable.Disk{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.Plan(), again.Plan()); diff != "" {
		t.Error(diff)
	}
	for name, mode := range map[string]fs.FileMode{
		"authority/ca.key": 0o600, "nodes/ex1/node.pem": 0o600, "nodes/ex1/admin.seed": 0o600, ".": 0o700, "ca.pem": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
	for _, text := range []string{`{"version":1,"nodes":[],"more":1}`, `{} {}`, `{"version":2}`, ``, strings.Repeat(" ", maxFile+1)} {
		if err := os.WriteFile(filepath.Join(dir, "exchange.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(durable.Disk{}, dir); err == nil {
			t.Errorf("%.40q is accepted", text)
		}
	}
}

func TestTheListOfHosts(t *testing.T) {
	h, dir := home(t, plan(t))
	_, first := newKey(t)
	_, second := newKey(t)
	add := func(name, key string) error { return h.Add(Host{name, key}, time.Now()) }
	if err := errors.Join(add("a", first), add("b.example", second)); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a key of another host": add("c", first), "no key": add("c", "x"), "a bad name": add("../c", second), "a seed": add("c", "SUA"),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	hosts, err := h.Hosts()
	if diff := cmp.Diff([]Host{{"a", first}, {"b.example", second}}, hosts); diff != "" || err != nil {
		t.Error(diff, err)
	}
	before, err := h.State("ex1")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if after, err := h.State("ex1"); err != nil || after == before {
		t.Errorf("a host that is removed changes nothing that a node looks at: %v", err)
	}
	if err := h.Remove("a"); err == nil {
		t.Error("a second time is no error")
	}
	for name, text := range map[string]string{
		"c.json": `{"host":"d","nkey":"` + first + `"}`, "d.json": `{"host":"d","nkey":"` + second + `"}`, "e.json": `{"host":"e"}`, "f.json": `{"x":1}`, "g": ``,
	} {
		file := filepath.Join(dir, "hosts", name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Hosts(); err == nil {
			t.Errorf("%s with %q is accepted", name, text)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// With TLS a node lets in who trusts its CA and has a key, and takes up new certificates and hosts while it runs.
func TestANodeWithTLS(t *testing.T) {
	t.Parallel()
	h, dir := home(t, plan(t))
	f := newFleet(t, "a", "b")
	if err := h.Add(f.hosts[0], time.Now()); err != nil {
		t.Fatal(err)
	}
	node, err := h.Node("ex1")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := h.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, node, hosts)
	if err := s.MakeStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.ca, err = os.ReadFile(filepath.Join(dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	options := func(host string) jetstream.Options {
		o := jetstream.Options{Host: host, Servers: h.Servers(), CA: f.ca, Seed: f.seeds[host]}
		return o
	}
	a := connect(t, options("a"))
	put(t, a, beat("a"), "x")

	address := strings.TrimPrefix(h.Servers()[0], "tls://")
	if nc, err := nats.Connect("nats://"+address, nats.Timeout(time.Second)); err == nil {
		nc.Close()
		t.Error("it is spoken to without TLS")
	}
	_, elsewhere := home(t, plan(t))
	o := options("a")
	if o.CA, err = os.ReadFile(filepath.Join(elsewhere, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	for name, ca := range map[string][]byte{"another": o.CA, "the system's": nil} {
		o.CA = ca
		if _, err := jetstream.Connect(t.Context(), o); !errors.Is(err, exchange.ErrUnavailable) {
			t.Errorf("with %s CA: %v", name, err)
		}
	}
	if err := refusal(t, options("b")); !errors.Is(err, exchange.ErrForbidden) {
		t.Errorf("b, who is not let in yet: %v", err)
	}

	serial := func() string {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(f.ca)
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, ServerName: "localhost"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if v := c.ConnectionState().Version; v != tls.VersionTLS13 {
			t.Errorf("TLS %x", v)
		}
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	old := serial()
	if err := errors.Join(h.Renew(time.Now()), h.Add(f.hosts[1], time.Now())); err != nil {
		t.Fatal(err)
	}
	if hosts, err = h.Hosts(); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(hosts); err != nil {
		t.Fatal(err)
	}
	if serial() == old {
		t.Error("the renewed certificate is not used")
	}
	put(t, a, beat("a"), "y")
	put(t, connect(t, options("b")), exchange.Key{Kind: exchange.Exports, Host: "b", Rest: "g"}, "x")

	// The operator sees and empties.
	nc, err := h.Dial("ex1")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status, err := ReadStatus(ctx, nc)
	if err != nil || len(status) != len(jetstream.Streams()) {
		t.Fatal(status, err)
	}
	for _, stream := range status {
		if stream.Problem != "" {
			t.Errorf("%s: %s", stream.Name, stream.Problem)
		}
	}
	used, err := ReadUsage(ctx, nc)
	if diff := cmp.Diff([]Usage{{Host: "b", Statements: 1}}, used); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := Forget(ctx, nc, "b"); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, a, exchange.Key{Kind: exchange.Exports}); len(got) > 0 {
		t.Errorf("after it is forgotten: %v", got)
	}
	if got := collect(t, a, exchange.Key{Kind: exchange.Beats}); got["beats/a"] != "y" {
		t.Errorf("the others: %v", got)
	}
	until, err := h.Until("ex1")
	if left := time.Until(until); err != nil || left < 397*24*time.Hour || left > 399*24*time.Hour {
		t.Errorf("the certificate is good until %v, %v", until, err)
	}
}

func TestCertificatesEndBeforeTheirCA(t *testing.T) {
	now := time.Now()
	ca, key, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	late := now.AddDate(authorityYears, 0, -10)
	data, _, err := newCertificate(ca, key, "n", []string{"a.example", "192.0.2.1"}, late)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := parseCertificate(data)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := parseCertificate(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	for _, name := range []string{"a.example", "192.0.2.1"} {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: late}); err != nil {
			t.Error(err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "b.example", Roots: pool, CurrentTime: late}); err == nil {
		t.Error("it is good for another name")
	}
	if cert.IsCA || !cert.NotAfter.Equal(authority.NotAfter) {
		t.Errorf("CA: %v, until %v; the CA's own end is %v", cert.IsCA, cert.NotAfter, authority.NotAfter)
	}
}

// Only with a node's certificate does one become a node.
func (c *cluster) refusesStrangersAsNodes(t *testing.T) {
	t.Helper()
	for _, send := range []string{"CONNECT {}\r\nPING\r\n", "INFO {\"server_id\":\"x\",\"version\":\"2.15.3\",\"cluster\":\"gatehouse\"}\r\nPING\r\n"} {
		conn, err := net.Dial("tcp", c.plans[0].Cluster.Listen)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(conn, send)
		r := bufio.NewReader(conn)
		for {
			line, err := r.ReadString('\n')
			if strings.HasPrefix(line, "PONG") {
				t.Errorf("%q is answered", send)
			}
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Errorf("after %q the connection stays open", send)
			}
			if err != nil {
				break
			}
		}
		conn.Close()
	}
}
