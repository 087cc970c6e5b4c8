//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/gate/catalog"
)

// eras are versions that clients open with: with sessions and a handshake, and without.
var eras = map[string]string{"with a handshake": "2025-06-18", "without": "2026-07-28"}

// connect starts the server as a client does, over standard input and output.
func (w *world) connect(version string, o *mcp.ClientOptions, args ...string) *mcp.ClientSession {
	w.t.Helper()
	cmd, _ := w.command(args...)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).
		Connect(w.t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	w.must(err)
	w.t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool; args is JSON.
func (w *world) call(session *mcp.ClientSession, name, args string) *mcp.CallToolResult {
	w.t.Helper()
	r, err := session.CallTool(w.t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	w.must(err)
	return r
}

func TestClientsSeeTheCatalogueAndCallIt(t *testing.T) {
	w := newWorld(t)
	data, err := os.ReadFile(filepath.Join(w.policy, catalog.File))
	w.must(err)
	c, err := catalog.Parse(catalog.File, data)
	w.must(err)
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			session := w.connect(version, nil)
			if got := session.InitializeResult(); got == nil || got.ProtocolVersion != version || !strings.Contains(got.Instructions, "frozen catalogue") {
				t.Errorf("the server says %+v", got)
			}
			listed, err := session.ListTools(t.Context(), nil)
			w.must(err)
			if len(listed.Tools) != len(c.Tools) {
				t.Fatalf("%d tools, want %d", len(listed.Tools), len(c.Tools))
			}
			for i, tool := range listed.Tools {
				var want any
				w.must(json.Unmarshal(c.Tools[i].Args, &want))
				if diff := cmp.Diff(want, tool.InputSchema); diff != "" || tool.Name != c.Tools[i].Name || tool.Description != c.Tools[i].Description {
					t.Errorf("%s: %q (-tools.json +listed)\n%s", tool.Name, tool.Description, diff)
				}
			}

			r := w.call(session, "say", `{"word": "hello"}`)
			got := w.result(r)
			if r.IsError || got.Code != catalog.OK || got.Stdout != "hello\n" || got.Step != 1 || got.Steps != 8 || got.Ended {
				t.Errorf("isError %t, %+v", r.IsError, got)
			}
			shown := text(r)
			for _, part := range []string{"hello\n", "exit status 0", "step 1 of 8", "guards against accidents only"} {
				if !strings.Contains(shown, part) {
					t.Errorf("the model does not read %q:\n%s", part, shown)
				}
			}
			if second := w.result(w.call(session, "say", `{"word": "again"}`)); second.Step != 2 || second.Job != got.Job {
				t.Errorf("the second call was step %d of job %s, after job %s", second.Step, second.Job, got.Job)
			}
			if other := w.result(w.call(w.connect(version, nil), "say", `{"word": "other"}`)); other.Step != 1 || other.Job == got.Job {
				t.Errorf("another session is step %d of job %s", other.Step, other.Job)
			}
		})
	}
	ran := 0
	for _, e := range w.decisions() {
		if e["client"] != "mcp" {
			t.Errorf("the log says that the client is %v", e["client"])
		}
		if e["kind"] == "ran" {
			ran++
		}
	}
	if ran != 6 {
		t.Errorf("the log has %d calls that ran, want 6:\n%v", ran, w.decisions())
	}
}

func TestEachRefusalHasItsCode(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		tool, args string
		code       catalog.Code
		shown      string
	}{
		{"none", `{}`, catalog.UnknownTool, "there is no tool"},
		{"say", `{}`, catalog.MissingArgument, "Nothing ran."},
		{"say", `{"word": "a", "more": "b"}`, catalog.ExtraArgument, `"more"`},
		{"say", `{"word": 1}`, catalog.WrongType, "has to be a string"},
		{"say", `{"word": "a", "word": "b"}`, catalog.BadCall, "word"},
		{"say", `{"word": "UPPER"}`, catalog.BadValue, "schema"},
		{"say", `{"word": "a;b"}`, catalog.Metacharacter, "shells know"},
		{"see", `{"path": "../x"}`, catalog.PathOutside, "out of the working directory"},
		{"forbidden", `{}`, catalog.Refused, "gate why c-"},
		{"fail", `{}`, catalog.ToolFailed, "exit status 2"},
		{"late", `{}`, catalog.Timeout, "time limit"},
		{"flood", `{}`, catalog.OutputLimit, "are not shown"},
	} {
		t.Run(string(test.code), func(t *testing.T) {
			session := w.connect("", nil)
			r := w.call(session, test.tool, test.args)
			got := w.result(r)
			if !r.IsError || got.Code != test.code || !got.Ended || got.Step != 1 {
				t.Errorf("isError %t, code %s (%s), ended %t, step %d; want %s", r.IsError, got.Code, got.Error, got.Ended, got.Step, test.code)
			}
			shown := text(r)
			if !strings.HasPrefix(shown, string(test.code)+": ") || !strings.Contains(shown, test.shown) || !strings.Contains(shown, "the job is over") {
				t.Errorf("the model reads, without %q:\n%s", test.shown, shown)
			}
			if after := w.result(w.call(session, "say", `{"word": "on"}`)); after.Code != catalog.JobEnded || after.Ran {
				t.Errorf("after a failure: %+v", after)
			}
		})
	}
}

func TestAJobTakesItsStepsAndNoMore(t *testing.T) {
	w := newWorld(t)
	first := w.connect("", nil, "--job", "review")
	for step := 1; step <= 4; step++ {
		if got := w.result(w.call(first, "say", `{"word": "a"}`)); got.Step != step || got.Job != "review" {
			t.Errorf("step %d of job %s, want step %d", got.Step, got.Job, step)
		}
	}
	first.Close()
	second := w.connect("", nil, "--job", "review")
	for step := 5; step <= 8; step++ {
		if got := w.result(w.call(second, "say", `{"word": "a"}`)); got.Step != step {
			t.Errorf("step %d, want %d", got.Step, step)
		}
	}
	if got := w.result(w.call(second, "say", `{"word": "a"}`)); got.Code != catalog.NoSteps || got.Ran {
		t.Errorf("the ninth of eight: %+v", got)
	}
}

func TestCallsOfAJobWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	session := w.connect("", nil)
	results := make(chan *mcp.CallToolResult, 8)
	for range 8 {
		go func() {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: map[string]string{"word": "a"}})
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	steps := map[int]bool{}
	for range 8 {
		if r := <-results; r != nil {
			steps[w.result(r).Step] = !r.IsError
		}
	}
	for step := 1; step <= 8; step++ {
		if !steps[step] {
			t.Errorf("step %d was not taken, or failed", step)
		}
	}
}

func TestCancellationEndsEverythingThatTheToolStarted(t *testing.T) {
	for name, version := range eras {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			session := w.connect(version, nil)
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

func TestACallEndsWithItsClientAndItsServer(t *testing.T) {
	for name, end := range map[string]func(stdin io.Closer, server *os.Process) error{
		"the client closes its end": func(stdin io.Closer, _ *os.Process) error { return stdin.Close() },
		"the server is told to end": func(_ io.Closer, server *os.Process) error { return server.Signal(syscall.SIGTERM) },
		"the server is killed":      func(_ io.Closer, server *os.Process) error { return server.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd, _ := w.command()
			stdin, err := cmd.StdinPipe()
			w.must(err)
			w.must(cmd.Start())
			_, err = io.WriteString(stdin, modern(1, "tools/call", `"name": "family", "arguments": {}`))
			w.must(err)
			pids := w.family()
			w.must(end(stdin, cmd.Process))
			w.gone(pids)
			if err := cmd.Wait(); (err == nil) == (name == "the server is killed") {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

// modern writes a request that stands alone, as a line. params are members of its params.
func modern(id int, method, params string) string {
	if params != "" {
		params += ", "
	}
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": json.RawMessage(`{` + params + `"_meta": {
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
		"io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}}`)})
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

func TestALineThatIsNoMessageIsAnsweredAndNoMore(t *testing.T) {
	w := newWorld(t)
	cmd, said := w.command()
	stdin, err := cmd.StdinPipe()
	w.must(err)
	stdout, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	answers := bufio.NewScanner(stdout)
	answers.Buffer(nil, 1<<20)
	for _, test := range []struct {
		line, id string
		code     int
	}{
		{"npm WARN something\n", "null", jsonrpc.CodeParseError},
		{"{\n", "null", jsonrpc.CodeParseError},
		{`{"a": 1} {"b": 2}` + "\n", "null", jsonrpc.CodeParseError},
		{`{"jsonrpc": "2.0", "id": 1, "method": "` + "\xff\"}\n", "1", jsonrpc.CodeParseError},
		{strings.Repeat("x", maxLine+10) + "\n", "null", jsonrpc.CodeParseError},
		{"[]\n", "null", jsonrpc.CodeInvalidRequest},
		{"17\n", "null", jsonrpc.CodeInvalidRequest},
		{`{"id": "me", "method": "ping"}` + "\n", `"me"`, jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": {}, "method": "ping"}` + "\n", "null", jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": null, "method": "ping"}` + "\n", "null", jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}` + "\n", "1.5", jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": -9007199254740993, "method": "ping"}` + "\n", "-9007199254740993", jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": 3}` + "\n", "3", jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": 4, "Method": "ping"}` + "\n", "4", jsonrpc.CodeInvalidRequest},
		{`{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}` + "\n", "5", jsonrpc.CodeInvalidRequest}, // before it is initialized
		{modern(6, "tools/call", `"arguments": {}`), "6", jsonrpc.CodeInvalidParams},
		{`[` + strings.TrimSpace(modern(1, "tools/list", "")) + "]\n", "null", jsonrpc.CodeInvalidRequest},
	} {
		_, err := io.WriteString(stdin, "\r\n"+test.line) // an empty line is nothing
		w.must(err)
		if !answers.Scan() {
			t.Fatalf("after %.60q the server ended: %v", test.line, answers.Err())
		}
		var got struct {
			ID    json.RawMessage
			Error struct{ Code int }
		}
		w.must(json.Unmarshal(answers.Bytes(), &got))
		if string(got.ID) != test.id || got.Error.Code != test.code {
			t.Errorf("%.60q is answered with %s", test.line, answers.Text())
		}
	}
	w.eventually("whoever started the server is told", func() bool {
		return strings.Contains(said.String(), `a line on standard input was not taken: the line is not one JSON value; it begins with "npm WARN something"`)
	})
	_, err = io.WriteString(stdin, strings.TrimSpace(modern(2, "tools/call", `"name": "say", "arguments": {"word": "still"}`))+"\r\n")
	w.must(err)
	if !answers.Scan() || !strings.Contains(answers.Text(), `"text":"still\n"`) || !strings.Contains(answers.Text(), `"resultType":"complete"`) {
		t.Errorf("afterwards: %s", answers.Text())
	}
	w.must(stdin.Close())
	w.must(cmd.Wait())
}

func TestProgressIsToldToWhoAsksForIt(t *testing.T) {
	w := newWorld(t)
	cmd, _ := w.command()
	wire := &buffer{} // the SDK may come to a notification after it has returned the result
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: wire}, nil)
	w.must(err)
	params := &mcp.CallToolParams{Name: "while"}
	params.SetProgressToken("token")
	answered := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, err := session.CallTool(t.Context(), params)
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	w.eventually("progress is told twice", func() bool { return strings.Count(wire.String(), `"notifications/progress"`) >= 2 })
	w.must(os.WriteFile(filepath.Join(w.bait, "enough"), nil, 0o600))
	if r := <-answered; r != nil && r.IsError {
		t.Error(text(r))
	}
	w.must(session.Close())
	told, over, before := 0, false, 0.0
	for line := range strings.Lines(wire.String()) {
		var m struct {
			Method string
			Params mcp.ProgressNotificationParams
			Result struct{ StructuredContent any }
		}
		data, read := strings.CutPrefix(line, "read: ")
		if !read {
			continue
		}
		w.must(json.Unmarshal([]byte(data), &m))
		over = over || m.Result.StructuredContent != nil
		if m.Method != "notifications/progress" {
			continue
		}
		told++
		if p := m.Params; over || p.ProgressToken != "token" || p.Progress <= before || p.Total != 60 || !strings.Contains(p.Message, "bytes of output") {
			t.Errorf("told: %+v after %v; the result was told before: %t", p, before, over)
		}
		before = m.Params.Progress
	}
	if told == 0 || !over {
		t.Errorf("progress was told %d times; the result was told: %t\n%s", told, over, wire)
	}
}

func TestACatalogueThatDoesNotCountIsSaidAndComesBack(t *testing.T) {
	w := newWorld(t)
	w.must(os.Remove(filepath.Join(w.policy, catalog.LockFile)))
	w.commit()
	cmd, said := w.command()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	w.must(err)
	defer session.Close()
	for end := time.Now().Add(time.Minute); !strings.Contains(said.String(), "no tool can be called: not-frozen: "); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("whoever started the server is not told")
		}
	}
	if _, err := session.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not-frozen: ") {
		t.Errorf("the list: %v", err)
	}
	r := w.call(session, "say", `{"word": "a"}`)
	if got := w.result(r); !r.IsError || got.Code != catalog.NotFrozen || got.Step != 0 || got.Ended {
		t.Errorf("a call: %+v", got)
	}

	w.freeze()
	r = w.call(session, "say", `{"word": "a"}`)
	if got := w.result(r); got.Code != catalog.NotCommitted {
		t.Errorf("frozen, and not committed: %+v", got)
	}
	w.commit()
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Errorf("the list of a catalogue that counts: %v", err)
	}
	if got := w.result(w.call(session, "say", `{"word": "a"}`)); got.Code != catalog.OK || got.Step != 1 {
		t.Errorf("a call of a catalogue that counts: %+v", got)
	}

	w.write(catalog.File, w.catalogue(9))
	if got := w.result(w.call(session, "say", `{"word": "a"}`)); got.Code != catalog.NotCommitted && got.Code != catalog.CatalogueChanged {
		t.Errorf("after an edit: %+v", got)
	}
	w.write(catalog.File, w.catalogue(8))
	program, err := os.ReadFile(w.echo)
	w.must(err)
	w.must(os.Remove(w.echo))
	w.must(os.WriteFile(w.echo, append(program, 0), 0o755))
	if got := w.result(w.call(session, "say", `{"word": "a"}`)); got.Code != catalog.ExecutableChanged {
		t.Errorf("with another program: %+v", got)
	}
}

func TestReadLineKeepsTheBeginningOfALongLine(t *testing.T) {
	for _, test := range []struct {
		n    int
		long bool
	}{{10, false}, {100_000, false}, {maxLine - 1, false}, {maxLine, true}, {maxLine + 100_000, true}} {
		in := bufio.NewReader(strings.NewReader(strings.Repeat("x", test.n) + "\nnext\n"))
		line, long, err := readLine(in)
		if long != test.long || err != nil || !test.long && len(line) != test.n+1 || len(line) > maxLine {
			t.Errorf("%d: %d bytes, long %t, %v", test.n, len(line), long, err)
		}
		if line, _, _ := readLine(in); !bytes.Equal(line, []byte("next\n")) {
			t.Errorf("%d: then comes %.20q", test.n, line)
		}
	}
	line, _, err := readLine(bufio.NewReader(strings.NewReader("end")))
	if string(line) != "end" || err != io.EOF {
		t.Errorf("%q, %v", line, err)
	}
}

func TestAReaderWhoIsGoneHoldsNothingUp(t *testing.T) {
	w := newWorld(t)
	cmd, _ := w.command()
	stdin, err := cmd.StdinPipe()
	w.must(err)
	read, write, err := os.Pipe()
	w.must(err)
	cmd.Stdout = write
	w.must(cmd.Start())
	write.Close()
	_, err = io.WriteString(stdin, modern(1, "tools/call", `"name": "family", "arguments": {}`))
	w.must(err)
	pids := w.family()
	read.Close()
	_, err = io.WriteString(stdin, modern(2, "tools/list", ""))
	w.must(err)
	w.gone(pids)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		t.Error("the server did not end")
	}
}
