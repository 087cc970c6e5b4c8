package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/notify"
	vendorgate "gatehouse/vendor-gate"
)

// A host is a machine in a temporary directory: live files, an export, a real git repository, and root's state.
type host struct {
	t   *testing.T
	dir string
	url string // of the webhook that takes the notices, empty for none
}

func newHost(t *testing.T, url string) *host {
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
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	h := &host{t, dir, url}
	for _, name := range []string{"live", "export"} {
		if err := os.Mkdir(h.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.write("gate.yaml", "allow: [git status]\n")
	h.write("rules.yaml", "rules: []\n")
	if err := vendorgate.Init(h.path("repo")); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.path("live"), name), []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) git(args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", h.path("repo"), "-c", "user.name=Operator", "-c", "user.email=operator@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// fsck holds the whole repository to git's own rules. Where there are no such files, git would start two more processes to
// look for them.
func (h *host) fsck() {
	h.t.Helper()
	h.git("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false", "fsck", "--strict")
}

func (h *host) gate() Gate {
	return Gate{Name: "claude", GroupID: -1, Export: h.path("export"), Witness: true, ByAccepted: true, Interval: time.Hour,
		Source: manifest.Source{Owner: uint32(os.Getuid()), Live: []manifest.Live{{Name: "policy", Root: h.path("live")}},
			Limits: manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20}}}
}

// warden returns a fresh warden, as a new process would have it.
func (h *host) warden(disk durable.Disk) (*Warden, error) {
	repository, err := vendorgate.Open(h.path("repo"), "vendor-gate")
	if err != nil {
		return nil, err
	}
	repository.Disk = disk
	var sinks []notify.Sink
	if h.url != "" {
		sinks = append(sinks, notify.NewWebhook(h.url, "", nil))
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	return &Warden{Host: "host", BootID: strings.TrimSpace(string(bootID)), State: h.path("state"), Program: "warden", Repository: repository, Disk: disk, Now: time.Now,
		LockFor: 5 * time.Second, Compile: compileTest, Outbox: &notify.Outbox{Dir: h.path("state/notices"), Disk: disk, Host: "host", Sinks: sinks}}, nil
}

// compileTest joins the files, as a compiler that takes everything.
func compileTest(paths []string, open func(string) (io.ReadCloser, error)) ([]byte, error) {
	var compiled []byte
	for _, path := range paths {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		compiled = append(compiled, data...)
	}
	return compiled, nil
}

func (h *host) must() *Warden {
	h.t.Helper()
	w, err := h.warden(durable.Disk{})
	if err != nil {
		h.t.Fatal(err)
	}
	return w
}

func (h *host) publish() {
	h.t.Helper()
	g := h.gate()
	publisher := manifest.Publisher{Gate: g.Name, Host: "host", Source: g.Source, Export: g.Export}
	if _, err := publisher.Publish(context.Background(), time.Now()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) pass() Report {
	h.t.Helper()
	pass, err := h.must().Reconcile(context.Background(), []Gate{h.gate()})
	if err != nil {
		h.t.Fatal(err)
	}
	return pass.Reports[0]
}

// expect makes a pass and fails the test if the result is another one.
func (h *host) expect(want Result) Report {
	h.t.Helper()
	r := h.pass()
	if r.Result != want {
		h.t.Fatalf("result = %s, want %s: %+v", r.Result, want, r.Findings)
	}
	return r
}

func (h *host) accept() string {
	h.t.Helper()
	r := h.expect(Drifted)
	commit, pass, err := h.must().Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann", Why: "reviewed"})
	if err != nil {
		h.t.Fatal(err)
	}
	if pass.Reports[0].Result != InSync {
		h.t.Fatalf("after the acceptance: %+v", pass.Reports[0])
	}
	return commit
}

// drift makes the live files differ from what is accepted, and publishes them.
func (h *host) drift(content string) {
	h.t.Helper()
	h.write("gate.yaml", content)
	h.publish()
}

// A receiver is a webhook that keeps what it is told, each message once.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	notices  map[string]received // by id
}

type received struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	State string `json:"state"`
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{notices: make(map[string]received)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var message struct {
			Notices []received `json:"messages"`
		}
		if err = errors.Join(err, json.Unmarshal(body, &message)); err != nil || len(message.Notices) == 0 {
			http.Error(w, "not understood", http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests++
		for _, n := range message.Notices {
			r.notices[n.ID] = n
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// count returns how many different notices of a kind and state have arrived.
func (r *receiver) count(kind, state string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, notice := range r.notices {
		if notice.Kind == kind && notice.State == state {
			n++
		}
	}
	return n
}
