package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
	"gatehouse/internal/cli"
)

// screen is what a program writes; it may be read meanwhile.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func run(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out screen
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(string) string { return "" }}
	if code := Main(t.Context(), args, streams); code != want {
		t.Fatalf("warden-exchange %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out.String())
	}
	return out.String()
}

// freePort is a port of this test's: it is bound, which keeps the kernel from giving it to who listens anywhere or connects to
// it while nobody listens, and he who names it can listen all the same.
func freePort(t *testing.T) string {
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
	return fmt.Sprint(at.(*unix.SockaddrInet4).Port)
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain: " + what)
		}
	}
}

// What docs/exchange.md tells an operator to do, on one machine.
func TestAnExchangeFromInitToRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "exchange")
	if got := run(t, 2, "status", "--dir", dir); !strings.Contains(got, "make one with: warden exchange init\n") {
		t.Errorf("status of nothing says %q", got)
	}
	run(t, 0, "init", "--dir", dir, "--port", freePort(t), "--size", "512")
	if got := run(t, 2, "init", "--dir", dir); !strings.Contains(got, "already") {
		t.Errorf("a second init says %q", got)
	}
	if got := run(t, 2, "status", "--dir", dir); !strings.Contains(got, "serve running?") {
		t.Errorf("status without a node says %q", got)
	}

	var log screen
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	g := &globals{dir: dir, streams: cli.Streams{Out: &log, Err: &log}}
	go func() { ended <- runServe(ctx, g, serveOptions{check: 20 * time.Millisecond}) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	eventually(t, "the node comes up", func() bool { return strings.Contains(log.String(), "the streams are there") })

	got := run(t, 0, "add", "agent-1", "--dir", dir)
	seed := regexp.MustCompile(`(?m)^SU[A-Z2-7]+$`).FindString(got)
	server := regexp.MustCompile(`nats://127\.0\.0\.1:\d+`).FindString(got)
	if seed == "" || server == "" || !strings.Contains(got, "seed: credential:nats-seed") {
		t.Fatalf("add says %q", got)
	}
	options := jetstream.Options{Host: "agent-1", Servers: []string{server}, Seed: []byte(seed)}
	var x *jetstream.Exchange
	eventually(t, "the host is let in", func() bool {
		var err error
		x, err = jetstream.Connect(t.Context(), options)
		return err == nil
	})
	defer x.Close()
	if err := x.Put(t.Context(), exchange.Key{Kind: exchange.Beats, Host: "agent-1"}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := x.Put(t.Context(), exchange.Key{Kind: exchange.Exports, Host: "agent-1", Rest: "g"}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := run(t, 0, "status", "--dir", dir, "--usage"); !strings.Contains(got, "all is well") || !strings.Contains(got, "agent-1") {
		t.Errorf("status says %q", got)
	}
	var r report
	if err := json.Unmarshal([]byte(run(t, 0, "status", "--dir", dir, "--json")), &r); err != nil || r.Hosts != 1 || len(r.Streams) != 5 {
		t.Errorf("status --json: %+v, %v", r, err)
	}

	// A broken list changes nothing.
	bad := filepath.Join(dir, "hosts", "bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node says so", func() bool { return strings.Contains(log.String(), "what was in force stays") })
	if err := x.Put(t.Context(), exchange.Key{Kind: exchange.Beats, Host: "agent-1"}, []byte("y")); err != nil {
		t.Error(err)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}

	if got := run(t, 0, "remove", "agent-1", "--dir", dir); !strings.Contains(got, "is emptied") {
		t.Errorf("remove says %q", got)
	}
	eventually(t, "the host is cut off", func() bool {
		again, err := jetstream.Connect(t.Context(), options)
		if err == nil {
			again.Close()
		}
		return err != nil
	})
	if got := run(t, 2, "remove", "agent-1", "--dir", dir); !strings.Contains(got, `no host "agent-1"`) || strings.Contains(got, "lstat") {
		t.Errorf("a second remove says %q", got)
	}
	if got := run(t, 0, "renew", "--dir", dir); !strings.Contains(got, "no certificate to renew") || strings.Contains(got, "copy") {
		t.Errorf("renew without TLS says %q", got)
	}
}

func TestAClusterIsExplained(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "exchange")
	got := run(t, 0, "init", "--dir", dir, "--node", "ex1=10.0.0.1", "--node", "ex2=10.0.0.2", "--node", "ex3=ex3.example")
	for _, want := range []string{"nodes/ex2} root@10.0.0.2:", "authority/ca.key somewhere else"} {
		if !strings.Contains(got, want) {
			t.Errorf("init does not say %q:\n%s", want, got)
		}
	}
	seed := filepath.Join(t.TempDir(), "seed")
	got = run(t, 0, "add", "agent.example", "--dir", dir, "--seed-file", seed)
	for _, want := range []string{"[tls://10.0.0.1:4222, tls://10.0.0.2:4222, tls://ex3.example:4222]", "ca: /etc/gatehouse/exchange-ca.pem", "hosts/ root@ex3.example:"} {
		if !strings.Contains(got, want) {
			t.Errorf("add does not say %q:\n%s", want, got)
		}
	}
	if info, err := os.Stat(seed); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the seed: %v, %v", info, err)
	}
	if regexp.MustCompile(`(?m)^SU`).MatchString(got) {
		t.Error("the seed is printed, and was to be in a file")
	}
	run(t, 2, "add", "agent.example", "--dir", dir, "--seed-file", seed)
	run(t, 2, "serve", "--dir", dir) // three nodes are here: which?
	if got := run(t, 0, "renew", "--dir", dir); !strings.Contains(got, "/nodes/ex2/node.pem root@10.0.0.2:") {
		t.Errorf("renew says %q", got)
	}
	for _, args := range [][]string{
		{"init", "--dir", dir + "x", "--node", "ex1"},
		{"init", "--dir", dir + "x", "--node", "a=b", "--node", "c=d"},
		{"init", "--dir", dir + "x", "--listen", "0.0.0.0"},
		{"init", "--dir", dir + "x", "--size", "1"},
		{"add", "UPPER", "--dir", dir},
		{"add", "a", "--dir", dir, "--key", "x"},
		{"add", "a", "--dir", dir, "--key", "x", "--seed-file", "y"},
		{"remove", "../x", "--dir", dir},
	} {
		run(t, 2, args...)
	}
	if _, err := os.Lstat(dir + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an init that was refused leaves %v", err)
	}
}

// TestHelpAndDocs parses the examples, and the command lines of docs/exchange.md, which must name every command and flag.
func TestHelpAndDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/exchange.md")
	if err != nil {
		t.Fatal(err)
	}
	streams := cli.Streams{Out: new(screen), Err: new(screen), Getenv: os.Getenv}
	parses := func(line string) {
		t.Helper()
		words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(line, "warden-exchange"), "warden exchange"))
		cmd, args, err := newRoot(streams).Find(words)
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err == nil && cmd.Args != nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil || cmd.Name() == "warden-exchange" {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, cmd := range newRoot(streams).Commands() {
		if cmd.Name() == "exit-codes" {
			continue
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: its help is not whole", cmd.Name())
		}
		for line := range strings.Lines(cmd.Example) {
			parses(strings.TrimSpace(line))
		}
		if !bytes.Contains(page, []byte("warden exchange "+cmd.Name())) {
			t.Errorf("docs/exchange.md does not show %s", cmd.Name())
		}
	}
	lines := regexp.MustCompile(`(?m)^(?:\w+# )?(warden exchange .*)$`).FindAllSubmatch(page, -1)
	for _, line := range lines {
		parses(string(line[1]))
	}
	if len(lines) < 7 {
		t.Errorf("docs/exchange.md has %d command lines", len(lines))
	}
}
