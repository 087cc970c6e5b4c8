//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/gate/catalog"
	"gatehouse/internal/cli"
)

const secret = "0123456789abcdef0123456789abcdef"

// A site is a server over HTTP, as a process of its own.
type site struct {
	*world
	url, token string
	cmd        *exec.Cmd
}

// serve starts a server at a free port; without a token file it makes its own token.
func (w *world) serve(args ...string) *site {
	w.t.Helper()
	cmd, _ := w.command(append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	s := &site{world: w, cmd: cmd}
	w.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(stdout)
	for s.url == "" || s.token == "" && len(args) == 0 {
		if !lines.Scan() {
			w.t.Fatalf("the server said only %+v", s)
		}
		if url, ok := strings.CutPrefix(lines.Text(), "url: "); ok {
			s.url = url
		}
		if token, ok := strings.CutPrefix(lines.Text(), "token: "); ok {
			s.token = token
		}
	}
	return s
}

// headers is a round tripper that sets them.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects a client with the token and these headers.
func (s *site) dial(version string, h headers) (*mcp.ClientSession, error) {
	all := headers{"Authorization": "Bearer " + s.token}
	for name, value := range h {
		all[name] = value
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: all}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		s.t.Cleanup(func() { session.Close() })
	}
	return session, err
}

func (s *site) mustDial(version string, h headers) *mcp.ClientSession {
	s.t.Helper()
	session, err := s.dial(version, h)
	s.must(err)
	return session
}

func TestBothErasAreServedOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := w.serve()
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			session := s.mustDial(version, headers{jobHeader: "job " + version})
			if got := session.InitializeResult(); got == nil || got.ProtocolVersion != version {
				t.Errorf("the server speaks %+v", got)
			}
			listed, err := session.ListTools(t.Context(), nil)
			if err != nil || len(listed.Tools) != 8 {
				t.Fatalf("%+v, %v", listed, err)
			}
			r := w.call(session, "say", `{"word": "hello"}`)
			if got := w.result(r); r.IsError || got.Stdout != "hello\n" || got.Job != "job "+version || got.Step != 1 {
				t.Errorf("%+v", got)
			}
			r = w.call(session, "say", `{"word": "UPPER"}`)
			if got := w.result(r); !r.IsError || got.Code != catalog.BadValue {
				t.Errorf("%+v", got)
			}
			r = w.call(session, "nothing", `{}`)
			if got := w.result(r); !r.IsError || got.Code != catalog.JobEnded {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("an id that would come back as another", func(t *testing.T) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(`{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}`))
		w.must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		answer, err := headers{"Authorization": "Bearer " + s.token}.RoundTrip(r)
		w.must(err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"id":1.5,"error":{"code":-32600`) {
			t.Errorf("%s: %s, %v", answer.Status, body, err)
		}
	})
	t.Run("a session is a job", func(t *testing.T) {
		first, second := s.mustDial("2025-06-18", nil), s.mustDial("2025-06-18", nil)
		a, b := w.result(w.call(first, "fail", `{}`)), w.result(w.call(second, "say", `{"word": "a"}`))
		if a.Job == b.Job || a.Step != 1 || b.Step != 1 || b.Code != catalog.OK || !strings.HasPrefix(b.Job, "mcp-") {
			t.Errorf("%+v\n%+v", a, b)
		}
		if c := w.result(w.call(second, "say", `{"word": "a"}`)); c.Step != 2 || c.Job != b.Job {
			t.Errorf("%+v", c)
		}
	})
	t.Run("without sessions a run of the server is", func(t *testing.T) {
		a := w.result(w.call(s.mustDial("2026-07-28", nil), "say", `{"word": "a"}`))
		b := w.result(w.call(s.mustDial("2026-07-28", nil), "say", `{"word": "a"}`))
		if a.Job != b.Job || a.Step != 1 || b.Step != 2 {
			t.Errorf("%+v\n%+v", a, b)
		}
	})
}

func TestCancellationOverHTTP(t *testing.T) {
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			session := w.serve().mustDial(version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "family"})
				failed <- err
			}()
			pids := w.family()
			cancel()
			if err := <-failed; err == nil {
				t.Error("a cancelled call has a result")
			}
			w.gone(pids)
			if got := w.result(w.call(session, "say", `{"word": "on"}`)); got.Code != catalog.JobEnded || !strings.Contains(got.Error, "cancelled") {
				t.Errorf("after a cancelled call: %s: %s", got.Code, got.Error)
			}
		})
	}
}

func TestTheEndOfASessionOrTheServerEndsItsCalls(t *testing.T) {
	for name, end := range map[string]func(*mcp.ClientSession, *site){
		"session": func(session *mcp.ClientSession, s *site) { // the SDK's client would first wait for its call
			r, err := http.NewRequestWithContext(s.t.Context(), http.MethodDelete, s.url, nil)
			s.must(err)
			r.Header.Set("Authorization", "Bearer "+s.token)
			r.Header.Set("Mcp-Session-Id", session.ID())
			answer, err := http.DefaultClient.Do(r)
			s.must(err)
			answer.Body.Close()
			if answer.StatusCode != http.StatusNoContent {
				s.t.Errorf("the end of a session is answered with %s", answer.Status)
			}
		},
		"server": func(_ *mcp.ClientSession, s *site) {
			s.must(s.cmd.Process.Signal(syscall.SIGTERM))
			if err := s.cmd.Wait(); err != nil {
				s.t.Errorf("the server ended with %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.serve()
			session := s.mustDial("2025-06-18", nil)
			go session.CallTool(t.Context(), &mcp.CallToolParams{Name: "family"})
			pids := w.family()
			end(session, s)
			w.gone(pids)
		})
	}
}

func TestOnlyWhoKnowsTheTokenAndMeansThisServerIsLetIn(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.home, "token")
	w.must(os.WriteFile(file, []byte(secret+"\n"), 0o600))
	s := w.serve("--token-file", file)
	if s.token != "" {
		t.Error("a token from a file was printed")
	}
	s.token = secret
	host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), endpoint)
	_, port, err := net.SplitHostPort(host)
	w.must(err)
	for _, test := range []struct {
		name   string
		header headers
		host   string
		path   string
		want   int
	}{
		{"in order", nil, "", "", 200},
		{"by another name of loopback", nil, "localhost:" + port, "", 200},
		{"from a page of its own", headers{"Origin": "http://localhost:" + port}, "", "", 200},
		{"scheme in capitals", headers{"Authorization": "BEARER " + secret}, "", "", 200},
		{"no token", headers{"Authorization": ""}, "", "", 401},
		{"another token", headers{"Authorization": "Bearer " + strings.Repeat("0", 32)}, "", "", 401},
		{"the beginning of the token", headers{"Authorization": "Bearer " + secret[:31]}, "", "", 401},
		{"another scheme", headers{"Authorization": "Basic " + secret}, "", "", 401},
		{"a name that leads here", nil, "evil.example:" + port, "", 403},
		{"another port", nil, "127.0.0.1:1", "", 403},
		{"no port", nil, "127.0.0.1", "", 403},
		{"from another page", headers{"Origin": "https://evil.example"}, "", "", 403},
		{"from a page of another port", headers{"Origin": "http://localhost:1"}, "", "", 403},
		{"from a page of no origin", headers{"Origin": "null"}, "", "", 403},
		{"another path", nil, "", "/", 404},
		{"another path without the token", headers{"Authorization": ""}, "", "/.well-known/oauth-protected-resource", 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := test.path
			if path == "" {
				path = endpoint
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+path, strings.NewReader(modern(1, "tools/list", "")))
			w.must(err)
			if test.host != "" {
				r.Host = test.host
			}
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + secret,
				"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
			} {
				r.Header.Set(name, value)
			}
			for name, value := range test.header {
				if value == "" {
					r.Header.Del(name)
				} else {
					r.Header.Set(name, value)
				}
			}
			answer, err := http.DefaultClient.Do(r)
			w.must(err)
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			w.must(err)
			if answer.StatusCode != test.want || (test.want == 200) != strings.Contains(string(body), `"name":"say"`) {
				t.Errorf("status %d, want %d\n%s", answer.StatusCode, test.want, body)
			}
			if (test.want == 401) != (answer.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("WWW-Authenticate: %q", answer.Header.Get("WWW-Authenticate"))
			}
		})
	}
	s.token = "wrong" + secret
	if _, err := s.dial("", nil); err == nil {
		t.Error("a client with a wrong token was let in")
	}
}

func TestAServerMakesItsTokenAnew(t *testing.T) {
	w := newWorld(t)
	first, second := w.serve(), w.serve()
	if first.token == second.token || !wellFormed.MatchString(first.token) {
		t.Errorf("tokens %q and %q", first.token, second.token)
	}
}

func TestWhatCannotBeServedIsSaid(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", secret, 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	listen := func(file string) []string { return []string{"--listen", "127.0.0.1:0", "--token-file", file} }
	for want, args := range map[string][]string{
		"is not a loopback address; write 127.0.0.1:80 or [::1]:80": {"--listen", "0.0.0.0:80"},
		"is not a loopback address; write 127.0.0.1:81 or [::1]:81": {"--listen", ":81"},
		"is not a loopback address; write 127.0.0.1:82 or [::1]:82": {"--listen", "192.0.2.1:82"},
		"is not a loopback address; write 127.0.0.1:83 or [::1]:83": {"--listen", "localhost:83"},
		"is not a loopback address; write 127.0.0.1:84 or [::1]:84": {"--listen", "[::]:84"},
		"is not a loopback address; write 127.0.0.1:85 or [::1]:85": {"--listen", "[::ffff:127.0.0.1]:85"},
		"write ADDRESS:PORT":       {"--listen", "8765"},
		"a number from 0 to 65535": {"--listen", "127.0.0.1:http"},
		"make it with: (umask 077; openssl rand -hex 32 >" + dir + "/no": listen(dir + "/no"),
		"others may read it: chmod 600":                                  listen(file("open", secret, 0o644)),
		"does not hold one token":                                        listen(file("short", "abc", 0o600)),
		"does not hold one token of 32":                                  listen(file("two", secret+"\n"+secret, 0o600)),
		"is a link":                                                      listen(link),
		"is no regular file":                                             listen(fifo),
		"--token-file is for --listen":                                   {"--token-file", good},
		"--cwd " + good + " is no directory":                             {"--cwd", good},
		"did you mean --listen?":                                         {"--listn", "127.0.0.1:0"},
	} {
		out, errOut := &buffer{}, &buffer{}
		streams := cli.Streams{In: strings.NewReader(""), Out: out, Err: errOut, Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }}
		code := Main(t.Context(), args, streams)
		if code != cli.Unknown || !strings.Contains(errOut.String(), want) || out.String() != "" {
			t.Errorf("%v: code %d, want %q\n%s%s", args, code, want, errOut, out)
		}
	}
}

func TestLoopbackAddressesAreTaken(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8765", "127.1.2.3:1", "[::1]:0"} {
		if at, err := loopback(address); err != nil || at.String() != address {
			t.Errorf("%s: %v, %v", address, at, err)
		}
	}
}

func TestTurnsAreTakenOneAtATime(t *testing.T) {
	var all turns
	var mu sync.Mutex
	inside, most := map[string]int{}, 0
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			job := fmt.Sprint(i % 3)
			leave, err := all.enter(t.Context(), job)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside[job]++
			most = max(most, inside[job])
			mu.Unlock()
			mu.Lock()
			inside[job]--
			mu.Unlock()
			leave()
		})
	}
	group.Wait()
	if most != 1 || len(all.jobs) != 0 {
		t.Errorf("%d calls of a job at once, %d jobs left", most, len(all.jobs))
	}
	leave, err := all.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all.enter(gone, "a"); err == nil {
		t.Error("a call that was cancelled has the turn")
	}
	leave()
	if _, err := all.enter(gone, "a"); err == nil {
		t.Error("a call that was cancelled has the turn that is free")
	}
	if len(all.jobs) != 0 {
		t.Errorf("left: %v", all.jobs)
	}
}
