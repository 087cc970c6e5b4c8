package fleet_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/fleet"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/notify"
	"gatehouse/peer"
	"gatehouse/reconcile"
	vendorgate "gatehouse/vendor-gate"
)

const gateName = "claude"

func testLimits() manifest.Limits {
	return manifest.Limits{Entries: 100, File: 1 << 20, Total: 4 << 20}
}

// A world is an exchange in a directory, and the time.
type world struct {
	t   testing.TB
	dir string
	now time.Time

	connect func(host string) exchange.Exchange // nil for a directory
}

func newWorld(t testing.TB) *world {
	t.Helper()
	// In memory where that is possible: these tests flush a file system thousands of times.
	dir, err := os.MkdirTemp("/dev/shm", "gatehouse-")
	if err != nil {
		dir, err = os.MkdirTemp("", "gatehouse-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, now: time.Now().UTC().Truncate(time.Second)}
	if err := errors.Join(os.MkdirAll(w.path("exchange"), 0o755), os.WriteFile(filepath.Join(w.path("exchange"), exchange.Marker), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

// must is for what only a broken machine makes fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// key is the private key of a host.
func (w *world) key(host string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, host)
	return ed25519.NewKeyFromSeed(seed)
}

func (w *world) seal(host string) fleet.Seal {
	return func(domain string, payload []byte) ([]byte, error) { return peer.Seal(w.key(host), domain, payload) }
}

func (w *world) open(domain, host string, envelope []byte) ([]byte, error) {
	return peer.Open(envelope, domain, w.key(host).Public().(ed25519.PublicKey))
}

func (w *world) exchange(host string) exchange.Exchange {
	if w.connect != nil {
		return w.connect(host)
	}
	return must(exchange.OpenDirectory(durable.Disk{}, w.path("exchange"), host, nil))
}

// A remote is a host whose agent publishes, and whose warden exports.
type remote struct {
	w    *world
	name string
}

func (w *world) host(name string) *remote {
	h := &remote{w, name}
	h.write("gate.yaml", "allow: [git status]\n")
	h.write("rules.yaml", "rules: []\n")
	return h
}

func (w *world) hosts(n int) []*remote {
	var list []*remote
	for i := range n {
		list = append(list, w.host(fmt.Sprintf("agent-%02d", i+1)))
	}
	return list
}

func names(hosts []*remote) []string {
	var list []string
	for _, h := range hosts {
		list = append(list, h.name)
	}
	return list
}

func (h *remote) path(elem ...string) string {
	return h.w.path(append([]string{"hosts", h.name}, elem...)...)
}

func (h *remote) write(name, content string) {
	h.w.t.Helper()
	if err := os.MkdirAll(h.path("live"), 0o755); err != nil {
		h.w.t.Fatal(err)
	}
	if err := os.WriteFile(h.path("live", name), []byte(content), 0o644); err != nil {
		h.w.t.Fatal(err)
	}
}

func (h *remote) source() manifest.Source {
	return manifest.Source{Owner: uint32(os.Getuid()), Live: []manifest.Live{{Name: "policy", Root: h.path("live")}}, Limits: testLimits()}
}

func (h *remote) publish() {
	h.w.t.Helper()
	p := manifest.Publisher{Gate: gateName, Host: h.name, Source: h.source(), Export: h.path("export")}
	must(p.Publish(context.Background(), h.w.now))
}

func (h *remote) exporter() *fleet.Exporter {
	return &fleet.Exporter{Exchange: h.w.exchange(h.name), Host: h.name, Seal: h.w.seal(h.name), Open: h.w.open, Dir: h.path("sent")}
}

func (h *remote) exportSource() fleet.Source {
	return fleet.Source{Gate: gateName, Export: h.path("export"), Owner: uint32(os.Getuid()), Limits: testLimits()}
}

// send publishes and exports.
func (h *remote) send() {
	h.w.t.Helper()
	h.publish()
	must(h.exporter().Export(context.Background(), h.exportSource(), h.w.now))
}

func (h *remote) drift(content string) {
	h.w.t.Helper()
	h.write("gate.yaml", content)
	h.send()
}

// A hub is the host that reconciles the others.
type hub struct {
	w     *world
	name  string
	sink  *mailbox
	hosts []string
	own   *reconcile.Gate
}

func (w *world) hub(hosts []string) *hub {
	w.t.Helper()
	h := &hub{w: w, name: "hub", sink: new(mailbox), hosts: hosts}
	if err := os.MkdirAll(h.path(), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := vendorgate.Init(h.path("repo")); err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (h *hub) path(elem ...string) string { return h.w.path(append([]string{h.name}, elem...)...) }

func (h *hub) git(args ...string) string {
	h.w.t.Helper()
	return gitIn(h.w.t, h.path("repo"), args...)
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Operator", "-c", "user.email=operator@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// wardenOf is a fresh warden, as a new process would have it.
func (w *world) wardenOf(dir, name string, disk durable.Disk, sinks ...notify.Sink) (*reconcile.Warden, error) {
	repository, err := vendorgate.Open(filepath.Join(dir, "repo"), "vendor-gate")
	if err != nil {
		return nil, err
	}
	repository.Disk = disk
	state := filepath.Join(dir, "state")
	return &reconcile.Warden{Host: name, BootID: "0", State: state, Program: "warden", Repository: repository, Disk: disk,
		Now: func() time.Time { return w.now }, LockFor: 5 * time.Second, Compile: compileTest,
		Outbox: &notify.Outbox{Dir: filepath.Join(state, "notices"), Disk: disk, Host: name, Sinks: sinks}}, nil
}

// compileTest takes everything but a policy that says so.
func compileTest(paths []string, open func(string) (io.ReadCloser, error)) ([]byte, error) {
	var compiled []byte
	for _, path := range paths {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(file)
		file.Close()
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(data), "broken") {
			return nil, fmt.Errorf("%s: broken", path)
		}
		compiled = append(compiled, data...)
	}
	return compiled, nil
}

func (h *hub) warden(disk durable.Disk) *reconcile.Warden {
	h.w.t.Helper()
	return must(h.w.wardenOf(h.path(), h.name, disk, h.sink))
}

func (h *hub) fleet() reconcile.Fleet {
	return reconcile.Fleet{Gate: gateName, Hosts: h.hosts, Interval: time.Hour, Limits: testLimits(), Own: h.own}
}

func (h *hub) fetcher(ex exchange.Exchange, disk durable.Disk) *fleet.Hub {
	return &fleet.Hub{Exchange: ex, Open: h.w.open, Objects: reconcile.RemoteObjects(h.path("state")), Dir: h.path("state", "fetched"), Disk: disk}
}

// fetch fetches from the exchange.
func (h *hub) fetch() []reconcile.Remote {
	h.w.t.Helper()
	return must(h.fetchFrom(context.Background(), h.w.exchange(h.name), durable.Disk{}))
}

func (h *hub) fetchFrom(ctx context.Context, ex exchange.Exchange, disk durable.Disk) ([]reconcile.Remote, error) {
	warden, err := h.w.wardenOf(h.path(), h.name, disk)
	if err != nil {
		return nil, err
	}
	known, wants, err := warden.FleetWants(h.fleet())
	if err != nil {
		return nil, err
	}
	f := h.fetcher(ex, disk)
	got, err := f.Fetch(ctx, f.Sweep(ctx, gateName), fleet.Wish{Gate: gateName, Hosts: h.hosts, Limits: testLimits(), Known: known, Wants: wants}, h.w.now)
	if err != nil {
		return nil, err
	}
	return got.Remotes, nil
}

// pass fetches and makes a pass, and returns the reports by host.
func (h *hub) pass() map[string]reconcile.Report {
	h.w.t.Helper()
	return h.judge(h.fetch())
}

func (h *hub) judge(remotes []reconcile.Remote) map[string]reconcile.Report {
	h.w.t.Helper()
	pass := must(h.warden(durable.Disk{}).ReconcileFleet(context.Background(), h.fleet(), remotes))
	return byHost(pass.Reports)
}

func byHost(reports []reconcile.Report) map[string]reconcile.Report {
	m := make(map[string]reconcile.Report)
	for _, r := range reports {
		m[r.Host] = r
	}
	return m
}

// results are the results by host.
func results(reports map[string]reconcile.Report) map[string]reconcile.Result {
	m := make(map[string]reconcile.Result)
	for host, r := range reports {
		m[host] = r.Result
	}
	return m
}

// accept accepts the drift of a host for all that have it, and returns their names.
func (h *hub) accept(fingerprint string) []string {
	h.w.t.Helper()
	_, hosts, _, err := h.warden(durable.Disk{}).AcceptFleet(context.Background(), h.fleet(), h.fetch(), fingerprint, ann())
	if err != nil {
		h.w.t.Fatal(err)
	}
	return hosts
}

func ann() reconcile.Decision { return reconcile.Decision{By: "ann", Why: "reviewed"} }

// settled is a hub whose hosts all have what is accepted.
func settled(t testing.TB, n int) (*world, []*remote, *hub) {
	w := newWorld(t)
	hosts := w.hosts(n)
	for _, h := range hosts {
		h.send()
	}
	hub := w.hub(names(hosts))
	r := hub.pass()[hosts[0].name]
	if r.Result != reconcile.Drifted {
		t.Fatalf("first pass: %+v", r.Findings)
	}
	hub.accept(r.Fingerprint)
	for host, r := range hub.pass() {
		if r.Result != reconcile.InSync {
			t.Fatalf("%s after the first acceptance: %+v", host, r.Findings)
		}
	}
	hub.sink.messages = nil
	return w, hosts, hub
}

func (w *world) later(d time.Duration) { w.now = w.now.Add(d) }

// A mailbox is a sink that keeps what it is sent.
type mailbox struct{ messages []notify.Message }

func (m *mailbox) Name() string { return "mailbox" }

func (m *mailbox) Send(_ context.Context, message notify.Message) error {
	m.messages = append(m.messages, message)
	return nil
}

// of returns the notices of a kind and state, and forgets all.
func (m *mailbox) take(kind string, state notify.State) []notify.Notice {
	var list []notify.Notice
	for _, message := range m.messages {
		for _, n := range message.Notices {
			if n.Kind == kind && n.State == state {
				list = append(list, n)
			}
		}
	}
	m.messages = nil
	return list
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func mkfifo(t testing.TB, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}
