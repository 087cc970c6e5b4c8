package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse/internal/cli"
	"gatehouse/page"
)

func TestListenTakesOnlyAddressesThatWereMeant(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:0":        "",
		"[::1]:0":            "",
		"127.0.0.2:0":        "",
		"0.0.0.0:0":          "can be reached from other machines",
		"[::]:0":             "can be reached from other machines",
		":0":                 "is no address",
		"192.0.2.1:80":       "can be reached from other machines",
		"[fe80::1%lo]:80":    "can be reached from other machines",
		"localhost:0":        "write 127.0.0.1:0",
		"127.0.0.1":          "write ADDRESS:PORT",
		"127.0.0.1:http":     "the port is a number",
		"127.0.0.1:65536":    "the port is a number",
		"systemd":            "is for a service with a socket unit",
		"127.0.0.1:0:0":      "write ADDRESS:PORT",
		"[::ffff:8.8.8.8]:0": "can be reached from other machines",
	} {
		listener, err := listenOptions{address: address}.open(t.Context(), func(string) string { return "" })
		if err == nil {
			listener.Close()
		}
		if want == "" && err != nil && !strings.Contains(err.Error(), "cannot assign requested address") ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	listener, err := listenOptions{address: "0.0.0.0:0", anywhere: true}.open(t.Context(), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}

// shown answers from a site that is made in the test.
func shown(t *testing.T) *pages {
	return &pages{
		look: func() *page.Site {
			return &page.Site{Host: "agent-1", At: time.Now(), Gates: []page.Gate{{Name: "claude", Result: "in-sync"}}}
		},
		now: time.Now, said: t.Output(), names: []string{"localhost", "agent-1"},
	}
}

func TestRequestsAreAnswered(t *testing.T) {
	server := shown(t)
	type request struct {
		method, target, host, body string
		status                     int
		kind, part                 string
	}
	const plain = "text/plain; charset=utf-8"
	for _, r := range []request{
		{"GET", "/", "127.0.0.1:9477", "", 200, "text/html; charset=utf-8", "<h1><bdi class=\"host\">agent-1"},
		{"HEAD", "/", "127.0.0.1:9477", "", 200, "text/html; charset=utf-8", ""},
		{"GET", "/?refresh=60", "localhost", "", 200, "text/html; charset=utf-8", `<meta http-equiv="refresh" content="60"/>`},
		{"GET", "/?refresh=1", "localhost", "", 200, "text/html; charset=utf-8", `<a href="/?refresh=60">`},
		{"GET", "/?x=<script>", "LOCALHOST.:9000", "", 200, "text/html; charset=utf-8", `<a href="/?refresh=60">`},
		{"GET", "/metrics", "[::1]:9477", "", 200, page.MetricsType, "gatehouse_gate_code{gate=\"claude\"} 0\n"},
		{"GET", "/healthz", "agent-1", "", 200, plain, "ok\n"},
		{"GET", "/", "evil.example", "", 421, plain, `this server is not "evil.example"`},
		{"GET", "/metrics", "evil.example:9477", "", 421, plain, "--listen-name"},
		{"GET", "/", "127.0.0.1.evil.example", "", 421, plain, "is not"},
		{"GET", "/", "localhost.evil.example", "", 421, plain, "is not"},
		{"GET", "/", "", "", 421, plain, "is not"},
		{"GET", "/", "a\u202e\"<b>", "", 421, plain, `"a\u202e\"<b>"`},
		{"GET", "http://evil.example/", "evil.example", "", 421, plain, "is not"},
		{"POST", "/", "localhost", "x=1", 405, plain, "only shows"},
		{"PUT", "/metrics", "localhost", "", 405, plain, "only shows"},
		{"DELETE", "/", "localhost", "", 405, plain, "only shows"},
		{"OPTIONS", "/", "localhost", "", 405, plain, "only shows"},
		{"TRACE", "/", "localhost", "", 405, plain, "only shows"},
		{"GET", "/", "localhost", "a body", 400, plain, "nothing may be sent along"},
		{"GET", "/favicon.ico", "localhost", "", 404, plain, "there is / and /metrics"},
		{"GET", "//", "localhost", "", 404, plain, "there is"},
		{"GET", "/../etc/passwd", "localhost", "", 404, plain, "there is"},
		{"GET", "/metrics/", "localhost", "", 404, plain, "there is"},
	} {
		request := httptest.NewRequest(r.method, "/", strings.NewReader(r.body))
		if u, err := request.URL.Parse(r.target); err == nil && !strings.HasPrefix(r.target, "//") {
			request.URL = u
		} else {
			request.URL.Path = r.target
		}
		if strings.HasPrefix(r.target, "/..") {
			request.URL.Path = r.target
		}
		request.Host = r.host
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, request)
		name := fmt.Sprintf("%s %s at %q", r.method, r.target, r.host)
		if answer.Code != r.status || answer.Header().Get("Content-Type") != r.kind || !strings.Contains(answer.Body.String(), r.part) {
			t.Errorf("%s: %d %s\n%.200s", name, answer.Code, answer.Header().Get("Content-Type"), answer.Body)
		}
		if r.method == "HEAD" && answer.Body.Len() > 0 {
			t.Errorf("%s: it has a body", name)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
		} {
			if got := answer.Header().Get(header); got != want {
				t.Errorf("%s: %s: %q", name, header, got)
			}
		}
		policy := "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
		if r.kind == "text/html; charset=utf-8" {
			policy = page.Policy()
		}
		if got := answer.Header().Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s: policy %q", name, got)
		}
		if got := answer.Header().Get("Allow"); (got != "") != (r.status == 405) {
			t.Errorf("%s: Allow: %q", name, got)
		}
	}
}

// TestAFloodOfRequestsReadsTheStateOnce: what is asked for at the same time is made once, and again only when it is old.
func TestAFloodOfRequestsReadsTheStateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := shown(t)
		looks := 0
		look := server.look
		server.look = func() *page.Site { looks++; time.Sleep(time.Second); return look() }
		ask := func() int {
			answer := httptest.NewRecorder()
			request := httptest.NewRequest("GET", "/", nil)
			request.Host = "localhost"
			server.ServeHTTP(answer, request)
			return answer.Code
		}
		for round := 1; round <= 3; round++ {
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() {
					if code := ask(); code != 200 {
						t.Errorf("status %d", code)
					}
				})
			}
			all.Wait()
			if looks != round {
				t.Errorf("the state was read %d times in round %d", looks, round)
			}
			time.Sleep(busyAtMost * time.Second) // since a read takes a second
		}
	})
}

// TestAStateThatDoesNotAnswerIsSaid: requests wait a while, are shown what is not old, and then that nothing can be read.
// Only one read hangs, whatever is asked.
func TestAStateThatDoesNotAnswerIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := shown(t)
		free := make(chan struct{})
		var looks atomic.Int32
		look := server.look
		server.look = func() *page.Site {
			if looks.Add(1) > 1 {
				<-free
			}
			return look()
		}
		ask := func() int {
			answer := httptest.NewRecorder()
			request := httptest.NewRequest("GET", "/metrics", nil)
			request.Host = "localhost"
			server.ServeHTTP(answer, request)
			return answer.Code
		}
		if code := ask(); code != 200 {
			t.Fatalf("status %d", code)
		}
		time.Sleep(30 * time.Second)
		start := time.Now()
		if code := ask(); code != 200 || time.Since(start) != waitFor {
			t.Errorf("status %d after %v, want what was made before after %v", code, time.Since(start), waitFor)
		}
		time.Sleep(time.Minute)
		for range 5 {
			if code := ask(); code != 503 {
				t.Errorf("status %d for what is old", code)
			}
		}
		if n := looks.Load(); n != 2 {
			t.Errorf("%d reads, of which all but one hang", n)
		}
		close(free)
		synctest.Wait()
		if code := ask(); code != 200 {
			t.Errorf("status %d after it was freed", code)
		}
	})
}

func TestAPanicEndsNoPass(t *testing.T) {
	var said bytes.Buffer
	server := shown(t)
	server.said = &said
	server.look = func() *page.Site { panic("out of order") }
	for range 2 {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest("GET", "/", nil)
		request.Host = "localhost"
		server.ServeHTTP(answer, request)
		if answer.Code != 503 || answer.Header().Get("Retry-After") == "" {
			t.Errorf("status %d", answer.Code)
		}
	}
	if !strings.Contains(said.String(), "out of order") {
		t.Errorf("it says %q", said.String())
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := limited(inner, 2)
	accepted := make(chan net.Conn)
	failed := make(chan error, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				failed <- err
				return
			}
			accepted <- conn
		}
	}()
	var conns []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for range 2 {
		conns = append(conns, <-accepted)
	}
	select {
	case <-accepted:
		t.Error("a third connection was taken beside two")
	case <-time.After(50 * time.Millisecond):
	}
	conns[0].Close()
	conns[0].Close() // frees one place, not two
	third := <-accepted
	select {
	case <-accepted:
		t.Error("another connection was taken")
	default:
	}
	listener.Close() // also while it waits for a place
	<-failed
	conns[1].Close()
	third.Close()
}

// A door is a warden that serves the page of a trial, as a command.
type door struct {
	url    string
	said   *safeBuffer
	code   chan int
	cancel context.CancelFunc
}

type safeBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer // not embedded: its WriteString would come in without the mutex
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func (h *trial) serve(t *testing.T, args ...string) *door {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &door{said: &safeBuffer{}, code: make(chan int, 1), cancel: cancel}
	streams := h.streams
	streams.Err = d.said
	go func() {
		d.code <- Main(ctx, append([]string{"--config", h.path("warden.yaml"), "serve"}, args...), streams)
	}()
	address := regexp.MustCompile(`the status page is at (http://\S+)\n`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if m := address.FindStringSubmatch(d.said.String()); m != nil {
			d.url = m[1]
			return d
		}
		if time.Now().After(deadline) {
			t.Fatalf("no address: %s", d.said)
		}
	}
}

func (d *door) get(t *testing.T, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(d.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// newTrial is a host with one gate, which has published something that nobody accepted.
func newTrial(t *testing.T) *trial {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	streams := quiet()
	streams.Getenv = os.Getenv
	h := &trial{ctx: t.Context(), streams: streams, dir: dir}
	if err := h.setUp(); err != nil {
		t.Fatal(err)
	}
	if err := h.publish(); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestServeShowsThePageBesideThePasses(t *testing.T) {
	h := newTrial(t)
	d := h.serve(t, "--listen", "127.0.0.1:0")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(d.said.String(), "warden: drifted; next pass at") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(d.said)
		}
	}
	status, body := d.get(t, "")
	if status != 200 || !strings.Contains(body, "<title>1 finding – try – Gatehouse</title>") {
		// The page may have been made before the first pass ended.
		time.Sleep(freshFor + 500*time.Millisecond)
		if status, body = d.get(t, ""); status != 200 || !strings.Contains(body, "<title>1 finding – try – Gatehouse</title>") {
			t.Errorf("%d\n%s", status, body)
		}
	}
	if status, body := d.get(t, "metrics"); status != 200 || !strings.Contains(body, `gatehouse_gate_result{gate="demo",result="drifted"} 1`) {
		t.Errorf("%d\n%s", status, body)
	}

	// A client that sends its request a byte at a time is cut off, and holds nothing up when the service ends.
	start := time.Now()
	slow, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(d.url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := slow.Write([]byte("GET / HT")); err != nil {
		t.Fatal(err)
	}
	d.cancel()
	if code := <-d.code; code != cli.Yes {
		t.Errorf("exit code %d: %s", code, d.said)
	}
	if took := time.Since(start); took >= headerWithin {
		t.Errorf("it took %v to end", took)
	}
	if _, err := http.Get(d.url); err == nil {
		t.Error("the page is still there")
	}
}

func TestServeWithoutPassesMakesNone(t *testing.T) {
	h := newTrial(t)
	d := h.serve(t, "--listen", "127.0.0.1:0", "--no-passes")
	if status, body := d.get(t, ""); status != 200 || !strings.Contains(body, "not looked at yet") {
		t.Errorf("%d\n%s", status, body)
	}
	// What the library would answer by itself, whoever is asked.
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(d.url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: other.example\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 421 ") {
		t.Errorf("OPTIONS *: %q, %v", answer, err)
	}
	d.cancel()
	if code := <-d.code; code != cli.Yes {
		t.Errorf("exit code %d: %s", code, d.said)
	}
	if _, err := os.Stat(h.path("state")); err == nil {
		t.Error("it made the state directory")
	}
}

func TestServeSaysWhatItsOptionsMean(t *testing.T) {
	h := newTrial(t)
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":                 "asks nobody who they are",
		"--listen nowhere":                   "write ADDRESS:PORT",
		"--no-passes":                        "leaves nothing to do",
		"--listen-anywhere":                  "say more about --listen",
		"--listen-name x --no-passes":        "say more about --listen",
		"--listen 127.0.0.1:1 --no-passes x": "unknown command",
	} {
		streams := quiet()
		code := Main(t.Context(), append([]string{"--config", h.path("warden.yaml"), "serve"}, strings.Fields(args)...), streams)
		if said := streams.Err.(*bytes.Buffer).String(); code != cli.Unknown || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s", args, code, said)
		}
	}
	d := h.serve(t, "--listen", "0.0.0.0:0", "--listen-anywhere", "--no-passes")
	d.cancel()
	<-d.code
	if !strings.Contains(d.said.String(), "asks nobody who they are; keep it behind") {
		t.Errorf("it does not say what that means: %s", d.said)
	}
}

// TestServeTakesASocketOfSystemd starts this test anew with a socket as its fourth descriptor, as systemd does.
func TestServeTakesASocketOfSystemd(t *testing.T) {
	if os.Getenv("GATEHOUSE_TEST_SOCKET") != "" {
		os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
		streams := cli.System()
		os.Exit(Main(t.Context(), []string{"serve", "--listen", "systemd", "--no-passes"}, streams))
	}
	h := newTrial(t)
	socket := filepath.Join(h.dir, "page.sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestServeTakesASocketOfSystemd$")
	cmd.Env = append(os.Environ(), "GATEHOUSE_TEST_SOCKET=1", "LISTEN_FDS=1", "GATEHOUSE_CONFIG="+h.path("warden.yaml"))
	cmd.ExtraFiles = []*os.File{file}
	var said safeBuffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
	answer, err := client.Get("http://status.example.org/metrics") // a proxy passes its own name on
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 200 || !strings.Contains(string(body), `gatehouse_gate_code{gate="demo"} 2`) {
		t.Errorf("%d %v\n%s", answer.StatusCode, err, body)
	}
}
