package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse/gate"
	"gatehouse/gate/harness"
)

// stub answers every request with the same action, and keeps them.
type stub struct {
	action   gate.Action
	requests *[]gate.Request
}

func (s stub) Check(_ context.Context, r gate.Request) gate.Decision {
	return gate.Decision{Action: s.action, Reasons: []gate.Reason{{Action: s.action, Stage: gate.StageEntry, Call: -1, Text: "it is so"}}}
}

func (s stub) Decide(ctx context.Context, r gate.Request) (gate.Decision, error) {
	if s.requests != nil {
		*s.requests = append(*s.requests, r)
	}
	return s.Check(ctx, r), nil
}
func (stub) Ran(context.Context, gate.Request, gate.Outcome) error       { return nil }
func (stub) Prompt(context.Context, gate.Request) error                  { return nil }
func (stub) Start(context.Context, gate.Request) (string, error)         { return "", nil }
func (stub) Finish(context.Context, gate.Request) ([]gate.Reason, error) { return nil, nil }
func (s stub) open(context.Context) (harness.Gate, error)                { return s, nil }

// unhurried is a limit for what is not about limits: what a slow machine makes of an input is another answer.
const unhurried = 30 * time.Second

// answered runs one hook.
func answered(client string, in io.Reader, o harness.Options) (exit int, out, errOut string) {
	if o.Limit == 0 {
		o.Limit = unhurried
	}
	var b, e bytes.Buffer
	exit = harness.Run(context.Background(), client, in, &b, &e, o)
	return exit, b.String(), e.String()
}

// TestInputsOfRealClients reads what real clients sent, and looks at what is judged of it.
func TestInputsOfRealClients(t *testing.T) {
	files, err := filepath.Glob("testdata/seen/*.jsonl")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		client := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for input := range strings.Lines(string(data)) {
			var requests []gate.Request
			exit, out, errOut := answered(client, strings.NewReader(input), harness.Options{
				Open: stub{gate.Allow, &requests}.open, Cwd: func() (string, error) { return "$ROOT/app", nil },
			})
			if exit != 0 || strings.TrimSpace(out) != "" || errOut != "" {
				t.Errorf("%s: exit %d, %s%s\n%s", client, exit, out, errOut, input)
			}
			for _, r := range requests {
				switch {
				case r.Line != "" && strings.Contains(input, "touch ") && !strings.Contains(r.Line, "touch "):
					t.Errorf("%s: the line is %q\n%s", client, r.Line, input)
				case r.Session == "" || r.Client != client || !strings.HasPrefix(r.Cwd, "$ROOT") && r.Cwd != "/tmp":
					t.Errorf("%s: session %q, client %q, in %q\n%s", client, r.Session, r.Client, r.Cwd, input)
				case len(r.Objections) > 0:
					t.Errorf("%s: %v\n%s", client, r.Objections, input)
				case r.Line != "":
					lines++
				}
			}
		}
		if lines == 0 {
			t.Errorf("%s: no line was judged", client)
		}
	}
}

// TestARefusalIsNeverSilent asks each client's hook about a call, with inputs that are cut off at every place and clocks
// that run out in the middle of it.
func TestARefusalIsNeverSilent(t *testing.T) {
	files, err := filepath.Glob("testdata/*/deny.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		client := filepath.Base(filepath.Dir(file))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "-- input --\n")
		input, _, _ := strings.Cut(rest, "\n-- ")
		for end := range len(input) + 1 {
			for _, limit := range []time.Duration{0, 1, 20 * time.Microsecond, 200 * time.Microsecond} {
				exit, out, errOut := answered(client, strings.NewReader(input[:end]), harness.Options{Open: stub{}.open, Limit: limit})
				if why := silent(client, exit, out, errOut); why != "" {
					t.Fatalf("%s, %d bytes of input within %v: %s", client, end, limit, why)
				}
			}
		}
	}
}

// silent says why an answer would let a call run.
func silent(client string, exit int, out, errOut string) string {
	if exit == 2 {
		if strings.TrimSpace(errOut) == "" {
			return "exit 2 without a word on the error output, which some clients take for a yes"
		}
		if client != "cline" {
			return ""
		}
	} else if exit != 0 {
		return fmt.Sprint("exit ", exit)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(out), &m); err != nil || strings.Count(out, "\n") != 1 {
		return fmt.Sprintf("exit %d and %q", exit, out)
	}
	inner, _ := m["hookSpecificOutput"].(map[string]any)
	for _, refusal := range []bool{
		m["decision"] == "deny", m["decision"] == "block", m["permissionDecision"] == "deny", m["permission"] == "deny", m["cancel"] == true,
		m["block"] == true, inner["permissionDecision"] == "deny",
	} {
		if refusal {
			return ""
		}
	}
	return "no refusal in " + out
}

// FuzzInput looks for an input that a gate that refuses everything lets pass.
func FuzzInput(f *testing.F) {
	files, err := filepath.Glob("testdata/seen/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	clients := harness.Clients()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for input := range strings.Lines(string(data)) {
			f.Add(uint8(slices.IndexFunc(clients, func(c harness.Client) bool { return strings.HasPrefix(filepath.Base(file), c.Name+".") })), []byte(input))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, input []byte) {
		c := clients[int(n)%len(clients)]
		exit, out, errOut := answered(c.Name, bytes.NewReader(input), harness.Options{Open: stub{}.open})
		if silent(c.Name, exit, out, errOut) == "" {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(bytes.TrimPrefix(input, []byte("\ufeff")), &m); err != nil {
			t.Fatalf("%s: no object passes: exit %d, %s", c.Name, exit, out)
		}
		for _, key := range []string{"hook_event_name", "hookName", "agent_action_name"} {
			for _, e := range c.Events {
				if e.Name == m[key] && e.Kind == "before" {
					t.Fatalf("%s: %s passes: exit %d, %s", c.Name, e.Name, exit, out)
				}
			}
		}
		if _, ok := m["toolName"]; ok && c.Name == "copilot" && m["hook_event_name"] == nil && m["toolResult"] == nil {
			t.Fatalf("%s passes: exit %d, %s", c.Name, exit, out)
		}
	})
}

// endless is an input that its writer never ends.
type endless struct{ first io.Reader }

func (e endless) Read(p []byte) (int, error) {
	if n, err := e.first.Read(p); err == nil {
		return n, nil
	}
	select {}
}

func TestAnInputThatNeverEndsIsRefused(t *testing.T) {
	whole := `{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"}}`
	exit, _, errOut := answered("claude", endless{strings.NewReader(whole)}, harness.Options{Open: stub{action: gate.Allow}.open, Limit: 20 * time.Millisecond})
	if exit != 2 || !strings.Contains(errOut, "no decision within") {
		t.Errorf("exit %d, %s", exit, errOut)
	}
}

func TestAnInterruptedHookRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errOut bytes.Buffer
	if exit := harness.Run(ctx, "codex", endless{strings.NewReader("")}, &out, &errOut, harness.Options{}); exit != 2 || !strings.Contains(errOut.String(), "interrupted") {
		t.Errorf("exit %d, %s", exit, errOut.String())
	}
}

// broken is an output that fails, or takes only a part.
type broken struct{ takes int }

func (b broken) Write(p []byte) (int, error) {
	return min(b.takes, len(p)), errors.New("broken pipe")
}

// stuck is an output that nobody reads until the end of the test.
type stuck chan struct{}

func (s stuck) Write([]byte) (int, error) { <-s; return 0, io.ErrClosedPipe }

// slow is an error output whose reader takes its time.
type slow struct{ said bytes.Buffer }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(150 * time.Millisecond)
	return s.said.Write(p)
}

func TestARefusalThatCannotBeWrittenIsExitTwo(t *testing.T) {
	synctest.Test(t, testARefusalThatCannotBeWritten)
}

func testARefusalThatCannotBeWritten(t *testing.T) {
	end := make(stuck)
	defer close(end)
	input := `{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"}}`
	for name, out := range map[string]io.Writer{"nothing": broken{}, "a part": broken{10}, "nobody reads": end} {
		var errOut slow
		exit := harness.Run(context.Background(), "claude-code", strings.NewReader(input), out, &errOut, harness.Options{Open: stub{}.open})
		if exit != 2 || !strings.Contains(errOut.said.String(), "it is so") {
			t.Errorf("%s: exit %d, %q", name, exit, errOut.said.String())
		}
	}
	exit, _, errOut := answered("claude-code", strings.NewReader(input), harness.Options{Open: stub{}.open, Unheard: true})
	if exit != 2 || !strings.Contains(errOut, "it is so") {
		t.Errorf("unheard: exit %d, %q", exit, errOut)
	}
	exit, _, errOut = answered("claude-code", strings.NewReader(input), harness.Options{Open: stub{action: gate.Allow}.open, Unheard: true})
	if exit != 0 || errOut != "" {
		t.Errorf("no objection, unheard: exit %d, %q", exit, errOut)
	}
}

// once fails a test whose answer comes in pieces.
type once struct {
	t     *testing.T
	wrote bool
}

func (o *once) Write(p []byte) (int, error) {
	if o.wrote {
		o.t.Error("a second write")
	}
	o.wrote = true
	return len(p), nil
}

func TestTheAnswerIsOneWrite(t *testing.T) {
	for _, c := range harness.Clients() {
		harness.Run(t.Context(), c.Name, strings.NewReader("{"), &once{t: t}, &once{t: t}, harness.Options{Open: stub{}.open})
	}
}

func TestInputsThatAreNotOneObjectAreRefused(t *testing.T) {
	for name, input := range map[string]string{
		"nothing": "", "space": " \n", "null": "null", "a list": "[]", "a text": `"x"`, "two objects": `{"hook_event_name":"Stop"}{}`, "cut off": `{"hook_event_name":`,
		"no UTF-8": "{\"hook_event_name\":\"Stop\",\"x\":\"\xff\"}", "too long": `{"x":"` + strings.Repeat("a", 9<<20) + `"}`, "too deep": strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		exit, out, errOut := answered("claude-code", strings.NewReader(input), harness.Options{Open: stub{action: gate.Allow}.open})
		if why := silent("claude-code", exit, out, errOut); why != "" || exit != 2 {
			t.Errorf("%s: exit %d, %s", name, exit, why)
		}
	}
}

func TestRefuseSpeaksTheClientsLanguage(t *testing.T) {
	for _, client := range []string{"claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw", "cline", "vibe", "hermes", "windsurf", "kiro", "who?", ""} {
		var out, errOut bytes.Buffer
		exit := harness.Refuse(client, "bad flag", &out, &errOut)
		if why := silent(client, exit, out.String(), errOut.String()); why != "" {
			t.Errorf("%q: %s", client, why)
		}
	}
}

func TestReasonsAreShort(t *testing.T) {
	long := strings.Repeat("long wörds ", 400)
	var reasons []gate.Reason
	for range 50 {
		reasons = append(reasons, gate.Reason{Stage: gate.StageEntry, Text: long, Why: long, Fix: long, Hint: long, Source: long, Rule: long, At: long})
	}
	g := fixed{stub{}, gate.Decision{ID: "c-0123456789ab", Reasons: reasons, Repeated: 2}}
	for _, c := range []string{"claude-code", "codex"} {
		_, out, _ := answered(c, strings.NewReader(`{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"}}`),
			harness.Options{Open: func(context.Context) (harness.Gate, error) { return g, nil }})
		var m struct {
			HookSpecificOutput struct{ PermissionDecisionReason string }
		}
		if err := json.Unmarshal([]byte(out), &m); err != nil {
			t.Fatal(err)
		}
		reason := m.HookSpecificOutput.PermissionDecisionReason
		if len(reason) >= 2000 || !strings.Contains(reason, "c-0123456789ab") || !strings.Contains(reason, "trying again will not help") {
			t.Errorf("%s: %d bytes: %s", c, len(reason), reason)
		}
	}
}

type fixed struct {
	stub
	d gate.Decision
}

func (f fixed) Decide(context.Context, gate.Request) (gate.Decision, error) { return f.d, nil }

func TestClientsAreWhole(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range harness.Clients() {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if found, ok := harness.Lookup(name); seen[name] || !ok || found.Name != c.Name {
				t.Errorf("%s: repeated, or not found", name)
			}
			seen[name] = true
		}
		if !slices.ContainsFunc(c.Events, func(e harness.Event) bool { return e.Kind == "before" }) {
			t.Errorf("%s: no event before a call", c.Name)
		}
	}
	if _, ok := harness.Lookup("nobody"); ok {
		t.Error("nobody is found")
	}
}
