package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gatehouse/config"
	"gatehouse/exchange"
	"gatehouse/exchange/server"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/notify"
	"gatehouse/peer"
)

// peerHost is one of several hosts on this machine, each with a configuration and a state of its own.
type peerHost struct {
	t      *testing.T
	name   string
	dir    string
	config string
}

// run runs a command of this host's warden.
func (h *peerHost) run(args ...string) (code int, out string) {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(string) string { return "" }}
	code = Main(h.t.Context(), append([]string{"--config", h.config}, args...), streams)
	return code, stdout.String() + stderr.String()
}

// do runs a command and wants an exit code.
func (h *peerHost) do(code int, args ...string) string {
	h.t.Helper()
	got, out := h.run(args...)
	if got != code {
		h.t.Fatalf("%s: warden %s: exit %d, want %d\n%s", h.name, strings.Join(args, " "), got, code, out)
	}
	return out
}

// pass makes a pass and says so.
func (h *peerHost) pass() {
	h.t.Helper()
	h.run("reconcile")
	h.run("beat")
}

// age lets time go by for what this host remembers of others.
func (h *peerHost) age(by time.Duration) {
	h.t.Helper()
	dir := filepath.Join(h.dir, "state", "peers")
	memory, err := peer.LoadMemory(dir)
	if err != nil {
		h.t.Fatal(err)
	}
	memory.Read.Monotonic -= by
	memory.Seen.Monotonic -= by
	if err := memory.Save(durable.Disk{}, dir); err != nil {
		h.t.Fatal(err)
	}
}

func (h *peerHost) writeConfig(exchange, hook, more string) {
	h.t.Helper()
	text := fmt.Sprintf(`version: 1
host: %s
repository: %[2]s/repo
state: %[2]s/state
index: %[2]s/gates.json
gates:
  - {name: claude, user: root, export: %[2]s/export, live: [{name: policy, root: %[2]s/live}]}
notify:
  webhook: {url: "%[3]s"}
  journal: false
peers:
  exchange: %[4]s
%[5]s`, h.name, h.dir, hook, exchange, more)
	if err := os.WriteFile(h.config, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// channel is the receiver that all hosts of a test tell.
type channel struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newChannel(t *testing.T) *channel {
	c := &channel{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Errorf("a message that cannot be read: %v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, n := range m.Notices {
			if n.Kind == "peer" {
				c.got = append(c.got, fmt.Sprintf("%s %s %s", n.State, n.Subject, n.Gate))
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *channel) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

// threeHosts makes hosts that share an exchange, each with the key of all.
func threeHosts(t *testing.T, hook string, exchange func(name string) string) []*peerHost {
	if os.Geteuid() != 0 {
		t.Skip("needs root: the export of a gate belongs to another user than the warden's")
	}
	var hosts []*peerHost
	var keys strings.Builder
	keys.WriteString("  hosts:\n")
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		dir, err := os.MkdirTemp("/dev/shm", "gatehouse-peers-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		h := &peerHost{t: t, name: name, dir: dir, config: filepath.Join(dir, "warden.yaml")}
		if err := os.Mkdir(filepath.Join(dir, "live"), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "init", "-q", filepath.Join(dir, "repo")).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v\n%s", err, out)
		}
		h.writeConfig(exchange(name), hook, "")
		key := h.do(0, "peers", "key")
		if again := h.do(0, "peers", "key"); !strings.HasPrefix(key, again) {
			t.Fatalf("the key changed: %q, %q", key, again)
		}
		keys.WriteString("    " + strings.SplitAfter(key, "\n")[0])
		hosts = append(hosts, h)
	}
	for _, h := range hosts {
		h.writeConfig(exchange(h.name), hook, keys.String())
	}
	return hosts
}

// live lets time go by for hosts that are alive: a pass and a look each half an hour.
func live(hosts []*peerHost, steps int, each func(step int)) {
	for step := range steps {
		for _, h := range hosts {
			h.age(30 * time.Minute)
			h.pass()
		}
		if each != nil {
			each(step)
		}
	}
}

// killAndHeal is the story of a host that dies and comes back.
func killAndHeal(t *testing.T, hosts []*peerHost, told *channel, during func(step int)) {
	a, b, c := hosts[0], hosts[1], hosts[2]
	for _, h := range hosts {
		h.do(2, "reconcile") // nothing is published here: a result, and a completed pass
		h.do(0, "beat")
	}
	live(hosts, 3, nil)
	if got := told.take(); got != nil {
		t.Fatalf("all are well: %q", got)
	}
	live(hosts[:2], 7, during)
	if diff := cmp.Diff([]string{"open silent host-c"}, told.take()); diff != "" {
		t.Errorf("one dies (-want +got):\n%s", diff)
	}
	for _, h := range []*peerHost{a, b} {
		out := h.do(1, "peers")
		if first := strings.Split(out, "\n")[3]; !strings.HasPrefix(first, "host-c  silent") {
			t.Errorf("%s shows\n%s", h.name, out)
		}
		h.do(0, "peers", "--exit-zero")
		h.do(1, "beat")
	}
	c.pass()
	live(hosts, 2, nil)
	if diff := cmp.Diff([]string{"closed silent host-c"}, told.take()); diff != "" {
		t.Errorf("it comes back (-want +got):\n%s", diff)
	}
	for _, h := range hosts {
		h.do(0, "peers")
	}
}

// makeExchange makes an exchange of a directory, as docs/exchange.md says.
func makeExchange(t *testing.T, place string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(place, 0o755), os.WriteFile(filepath.Join(place, exchange.Marker), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestThreeWardensOverADirectory(t *testing.T) {
	told := newChannel(t)
	place := filepath.Join(t.TempDir(), "exchange")
	makeExchange(t, place)
	hosts := threeHosts(t, told.URL, func(string) string { return fmt.Sprintf("{directory: %s}", place) })
	killAndHeal(t, hosts, told, nil)

	t.Run("maintenance is announced at once", func(t *testing.T) {
		out := hosts[2].do(0, "maintenance", "--for", "2h", "--why", "kernel upgrade")
		if !regexp.MustCompile(`host-c may be silent for (2h|1h59m\d+s) more`).MatchString(out) { // some of it has gone by
			t.Errorf("got %q", out)
		}
		live(hosts[:2], 8, nil)
		if got := told.take(); got != nil {
			t.Errorf("within what it announced: %q", got)
		}
		if out := hosts[0].do(0, "peers"); !strings.Contains(out, "kernel upgrade") && !strings.Contains(out, "well") {
			t.Errorf("got\n%s", out)
		}
		if out := hosts[2].do(0, "maintenance", "--end"); !strings.Contains(out, "it is over") {
			t.Errorf("got %q", out)
		}
		hosts[0].do(0, "beat")
		if out := hosts[0].do(0, "peers"); strings.Contains(out, "kernel upgrade") {
			t.Errorf("it is over, and still shown:\n%s", out)
		}
	})

	t.Run("what is forged is reported and not believed", func(t *testing.T) {
		beats := filepath.Join(place, "beats")
		mine, err := os.ReadFile(filepath.Join(beats, "host-b"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(beats, "host-c"), mine, 0o644); err != nil {
			t.Fatal(err)
		}
		hosts[0].do(1, "beat")
		var view peersView
		if err := json.Unmarshal([]byte(hosts[0].do(1, "peers", "--json")), &view); err != nil {
			t.Fatal(err)
		}
		if p := view.Peers[0]; view.Schema != peersSchema || p.Host != "host-c" || p.Finding != peer.BadSignature || p.Findings[0].Next == "" {
			t.Errorf("got %+v", view)
		}
		hosts[1].do(1, "beat")
		if diff := cmp.Diff([]string{"open bad-signature host-c"}, told.take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		hosts[2].do(0, "beat") // puts its own back
		hosts[0].do(0, "beat")
		if diff := cmp.Diff([]string{"closed bad-signature host-c"}, told.take()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("an old one that is put back is reported, and forgotten by hand", func(t *testing.T) {
		old, err := os.ReadFile(filepath.Join(place, "beats", "host-c"))
		if err != nil {
			t.Fatal(err)
		}
		hosts[2].pass()
		hosts[0].do(0, "beat")
		if err := os.WriteFile(filepath.Join(place, "beats", "host-c"), old, 0o644); err != nil {
			t.Fatal(err)
		}
		hosts[0].do(1, "beat")
		if out := hosts[0].do(1, "peers"); !strings.Contains(out, "warden peers forget host-c") {
			t.Errorf("got\n%s", out)
		}
		if out := hosts[0].do(2, "peers", "forget", "host-d"); !strings.Contains(out, "did you mean") {
			t.Errorf("got %q", out)
		}
		hosts[0].do(0, "peers", "forget", "host-c")
		hosts[0].do(0, "beat")
	})

	t.Run("an exchange that is away clears nothing and is said", func(t *testing.T) {
		if err := os.Rename(place, place+".away"); err != nil {
			t.Fatal(err)
		}
		out := hosts[0].do(2, "beat")
		if strings.Count(out, "unavailable") != 1 || !strings.Contains(out, "of host-a waits for the exchange\n") || !strings.Contains(out, place) {
			t.Errorf("got %q", out)
		}
		if out := hosts[0].do(2, "peers"); !strings.Contains(out, "exchange  unavailable") {
			t.Errorf("got\n%s", out)
		}
		if err := os.Rename(place+".away", place); err != nil {
			t.Fatal(err)
		}
		if out := hosts[0].do(0, "beat"); !strings.Contains(out, "of host-a is in the exchange\n") {
			t.Errorf("got %q", out)
		}
	})

	t.Run("a host key that is not the one in the list is said", func(t *testing.T) {
		if err := os.Remove(filepath.Join(hosts[2].dir, "state", "peers", "host.key")); err != nil {
			t.Fatal(err)
		}
		if out := hosts[2].do(2, "beat"); !strings.Contains(out, "peers key") {
			t.Errorf("without a key: %q", out)
		}
		if out := hosts[2].do(2, "peers", "key"); !strings.Contains(out, "peers.hosts has another key for host-c") {
			t.Errorf("got %q", out)
		}
	})
}

func TestThreeWardensOverAClusterOfThree(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster: not short")
	}
	told := newChannel(t)
	c := startCluster(t, "host-a", "host-b", "host-c")
	hosts := threeHosts(t, told.URL, func(name string) string {
		return fmt.Sprintf("{nats: {servers: [%s], ca: %s, seed: file:%s}}", strings.Join(c.servers, ", "), c.ca, c.seeds[name])
	})
	killAndHeal(t, hosts, told, func(step int) {
		if step == 2 {
			c.nodes[1].Stop() // and nothing of it is noticed by the hosts
		}
	})
}

// natsCluster is three nodes in this process.
type natsCluster struct {
	nodes   []*server.Server
	servers []string
	ca      string
	seeds   map[string]string // files
}

func startCluster(t *testing.T, hosts ...string) *natsCluster {
	t.Helper()
	c := &natsCluster{seeds: make(map[string]string)}
	dir := filepath.Join(t.TempDir(), "home")
	var plan server.Plan
	for i := range 3 {
		plan.Nodes = append(plan.Nodes, server.NodePlan{Name: fmt.Sprintf("ex%d", i), Host: "127.0.0.1", Listen: "127.0.0.1", Port: freePort(t), Route: freePort(t)})
	}
	home, err := server.Init(durable.Disk{}, dir, plan, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hosts {
		seed, public, err := server.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		if err := home.Add(server.Host{Name: name, Key: public}, time.Now()); err != nil {
			t.Fatal(err)
		}
		c.seeds[name] = filepath.Join(t.TempDir(), name+".seed")
		if err := os.WriteFile(c.seeds[name], seed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known, err := home.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	c.ca = filepath.Join(dir, "ca.pem")
	c.nodes = make([]*server.Server, len(plan.Nodes))
	var starting sync.WaitGroup
	for i, p := range plan.Nodes {
		node, err := home.Node(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		c.servers = append(c.servers, fmt.Sprintf("\"tls://127.0.0.1:%d\"", p.Port))
		starting.Go(func() {
			s, err := server.Start(t.Context(), node, known, func(string) {})
			if err != nil {
				t.Error(err)
				return
			}
			c.nodes[i] = s
			t.Cleanup(s.Stop)
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if err := c.nodes[0].MakeStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// freePort is a port of this test's: it is bound, which keeps the kernel from giving it to who listens anywhere or connects to
// it while nobody listens, and he who names it can listen all the same.
func freePort(t *testing.T) int {
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

func TestPingIsAskedForOnceForEachCompletedPass(t *testing.T) {
	told := newChannel(t)
	place := filepath.Join(t.TempDir(), "exchange")
	makeExchange(t, place)
	h := threeHosts(t, told.URL, func(string) string { return fmt.Sprintf("{directory: %s}", place) })[0]
	asked, status := 0, http.StatusOK
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Method != http.MethodGet || r.URL.Path != "/secret-part" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, "OK")
	}))
	defer outside.Close()
	address := filepath.Join(t.TempDir(), "ping")
	if err := os.WriteFile(address, []byte(outside.URL+"/secret-part\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.writeConfig(fmt.Sprintf("{directory: %s}", place), told.URL, "ping: file:"+address+"\n")

	want := func(n int, what string) {
		t.Helper()
		if asked != n {
			t.Errorf("%s: asked %d times, want %d", what, asked, n)
		}
	}
	h.do(0, "beat")
	want(0, "before a pass")
	h.run("reconcile", "claude")
	h.do(0, "beat")
	h.run("reconcile")
	h.do(0, "beat")
	want(2-1, "after a pass over all gates")
	h.do(0, "beat")
	want(1, "without another pass")
	for _, status = range []int{http.StatusInternalServerError, http.StatusFound} {
		h.run("reconcile")
		before := asked
		out := h.do(0, "beat") // a warning, and no finding
		want(before+1, "it fails")
		if !strings.Contains(out, "warden: ping: the answer is ") || strings.Contains(out, "secret-part") {
			t.Errorf("got %q", out)
		}
		if out := h.do(0, "peers"); !strings.Contains(out, "ping  warning: the answer is") {
			t.Errorf("got\n%s", out)
		}
	}
	status = http.StatusOK
	before := asked
	h.do(0, "beat")
	want(before+1, "tried again for the same pass")
	if out := h.do(0, "peers"); !strings.Contains(out, "ping  answered at") {
		t.Errorf("got\n%s", out)
	}
	outside.Close()
	h.run("reconcile")
	if out := h.do(0, "beat"); !strings.Contains(out, "ping:") || strings.Contains(out, "secret-part") {
		t.Errorf("got %q", out)
	}
}

func TestAHostWithoutPeersSaysSo(t *testing.T) {
	dir := t.TempDir()
	h := &peerHost{t: t, name: "alone", dir: dir, config: filepath.Join(dir, "warden.yaml")}
	text := fmt.Sprintf("version: 1\nhost: alone\nrepository: %[1]s/r\nstate: %[1]s/s\nindex: %[1]s/i\n"+
		"gates: [{name: claude, user: root, export: %[1]s/e, live: [{name: p, root: %[1]s/l}]}]\n", dir)
	if err := os.WriteFile(h.config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"peers"}, {"beat"}, {"peers", "key"}, {"peers", "forget", "x"}, {"maintenance"}} {
		if out := h.do(2, args...); !strings.Contains(out, "docs/peers.md") {
			t.Errorf("%v: %q", args, out)
		}
	}
	for _, args := range [][]string{
		{"maintenance", "--for", "48h", "--why", "x"}, {"maintenance", "--for", "1h"}, {"maintenance", "--why", "x"},
		{"maintenance", "--for", "1h", "--why", "a\nb"}, {"maintenance", "--for", "1h", "--end"}, {"peers", "forget"},
	} {
		h.do(2, args...)
	}
}

// Without units the service itself speaks to others: after each pass, and every five minutes.
func TestServeBeatsAfterEachPassAndEveryFewMinutes(t *testing.T) {
	told := newChannel(t)
	place := filepath.Join(t.TempDir(), "exchange")
	makeExchange(t, place)
	hosts := threeHosts(t, told.URL, func(string) string { return fmt.Sprintf("{directory: %s}", place) })
	a, b := hosts[0], hosts[1]
	a.run("reconcile")
	a.run("beat")
	b.run("reconcile")
	left := func(name string) bool {
		_, err := os.Stat(filepath.Join(place, "beats", name))
		return err == nil
	}
	seen := func() uint64 {
		memory, err := peer.LoadMemory(filepath.Join(b.dir, "state", "peers"))
		if err != nil {
			t.Fatal(err)
		}
		if h := memory.Hosts["host-a"]; h != nil && h.Beat != nil {
			return h.Beat.Sequence
		}
		return 0
	}
	synctest.Test(t, func(t *testing.T) {
		later := &globals{streams: quiet(), config: b.config}
		later.streams.Getenv = func(name string) string { return map[string]string{"GATEHOUSE_BEAT": "later"}[name] }
		later.serveBeats(t.Context(), nil) // a unit does it: it returns at once

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		passes := make(chan struct{})
		g := &globals{streams: quiet(), config: b.config}
		ended := make(chan struct{})
		go func() { g.serveBeats(ctx, passes); close(ended) }()
		passes <- struct{}{}
		time.Sleep(time.Minute)
		if !left("host-b") || seen() != 1 {
			t.Errorf("after a pass: left %v, seen %d", left("host-b"), seen())
		}
		a.run("reconcile")
		a.run("beat")
		time.Sleep(3 * time.Minute)
		if seen() != 1 {
			t.Error("it looked too soon")
		}
		time.Sleep(2 * time.Minute)
		if seen() != 2 {
			t.Errorf("after five minutes: seen %d", seen())
		}
		cancel()
		<-ended
	})
}

func TestWhatTheUnitThatSpeaksNeeds(t *testing.T) {
	text := func(more string) string {
		return "version: 1\nhost: h\nrepository: /r\nstate: /s\ngates: [{name: claude, user: root, live: [{name: p, root: /p}]}]\n" + more
	}
	for name, test := range map[string]struct {
		config      string
		peers       bool
		credentials []string
		paths       []string
	}{
		"alone":       {"", false, nil, nil},
		"only a ping": {"ping: credential:ping\n", true, []string{"ping"}, nil},
		"a directory": {"peers: {exchange: {directory: /srv/ex}}\n", true, nil, []string{"/srv/ex"}},
		"nats": {"peers: {key: credential:host-key, exchange: {nats: {servers: [\"tls://n:1\"], seed: credential:nats-seed}}}\nping: https://x/y\n", true,
			[]string{"host-key", "nats-seed"}, nil},
		"one that notices use too": {"peers: {exchange: {directory: /srv/ex}}\nnotify: {slack: {channel: c, token: credential:x}}\nping: credential:x\n", true, nil, []string{"/srv/ex"}},
	} {
		c, err := config.Parse("w.yaml", []byte(text(test.config)))
		if err != nil {
			t.Fatal(err)
		}
		in := &installation{config: c}
		h := in.host()
		var names []string
		for _, credential := range h.PeerCredentials {
			names = append(names, credential.Name)
		}
		if h.Peers != test.peers || !slices.Equal(names, test.credentials) || !slices.Equal(h.PeerPaths, test.paths) {
			t.Errorf("%s: peers %v, credentials %q, paths %q", name, h.Peers, names, h.PeerPaths)
		}
	}
}
