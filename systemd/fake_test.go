package systemd

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"gatehouse/manifest"
)

// A fakeManager answers on the wire as it likes.
type fakeManager struct {
	greet  func(conn net.Conn) bool                             // in place of the authentication, unless it returns true
	answer func(conn net.Conn, ask *dbus.Message) *dbus.Message // nil: no answer
}

// serve is one connection.
func (m *fakeManager) serve(conn net.Conn) {
	defer conn.Close()
	if m.greet != nil && !m.greet(conn) {
		return
	}
	in := bufio.NewReader(conn)
	for begun := false; !begun; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch line = strings.TrimSpace(strings.TrimPrefix(line, "\x00")); {
		case line == "AUTH":
			fmt.Fprint(conn, "REJECTED EXTERNAL\r\n")
		case strings.HasPrefix(line, "AUTH EXTERNAL"):
			fmt.Fprint(conn, "OK 0123456789abcdef0123456789abcdef\r\n")
		case line == "BEGIN":
			begun = true
		default:
			fmt.Fprint(conn, "ERROR\r\n")
		}
	}
	for {
		ask, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		var reply *dbus.Message
		if member, _ := ask.Headers[dbus.FieldMember].Value().(string); member != "GetAll" {
			reply = &dbus.Message{Type: dbus.TypeMethodReply}
			if member == "Hello" {
				reply = body(":1.1")
			}
		} else if reply = m.answer(conn, ask); reply == nil {
			continue
		}
		if reply.Headers == nil {
			reply.Headers = make(map[dbus.HeaderField]dbus.Variant)
		}
		reply.Headers[dbus.FieldReplySerial] = dbus.MakeVariant(ask.Serial())
		var buf strings.Builder
		if err := reply.EncodeTo(&buf, binary.LittleEndian); err != nil {
			return
		}
		wire := []byte(buf.String())
		binary.LittleEndian.PutUint32(wire[8:], 7) // a serial of its own
		if _, err := conn.Write(wire); err != nil {
			return
		}
	}
}

func body(values ...any) *dbus.Message {
	return &dbus.Message{Type: dbus.TypeMethodReply, Body: values,
		Headers: map[dbus.HeaderField]dbus.Variant{dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(values...))}}
}

// dial is for Checker.dial.
func (m *fakeManager) dial(t *testing.T) func(context.Context, string, uint32) (net.Conn, error) {
	return func(context.Context, string, uint32) (net.Conn, error) {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close() })
		go m.serve(there)
		return here, nil
	}
}

// properties are those of a service that runs.
func properties(change func(p map[string]dbus.Variant)) map[string]dbus.Variant {
	p := make(map[string]dbus.Variant)
	for name, value := range map[string]any{
		"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Type": "simple", "Result": "success",
		"MainPID": uint32(4711), "ControlGroup": "/system.slice/agent.service", "InvocationID": make([]byte, 16),
		"RuntimeDirectory": []string{}, "DynamicUser": false, "TriggeredBy": []string{}, "ConditionResult": true,
		"Delegate": false, "KillMode": "control-group", "SendSIGKILL": true, "NotifyAccess": "none",
		"ConditionTimestamp": uint64(1), "ConditionTimestampMonotonic": uint64(1),
		"InactiveExitTimestamp": uint64(1e15), "InactiveExitTimestampMonotonic": uint64(1e9),
		"ActiveEnterTimestamp": uint64(1e15), "ActiveEnterTimestampMonotonic": uint64(1e9),
		"ExecMainStartTimestamp": uint64(1e15), "ExecMainStartTimestampMonotonic": uint64(1e9),
	} {
		p[name] = dbus.MakeVariant(value)
	}
	if change != nil {
		change(p)
	}
	return p
}

func says(change func(p map[string]dbus.Variant)) *fakeManager {
	return &fakeManager{answer: func(net.Conn, *dbus.Message) *dbus.Message { return body(properties(change)) }}
}

func TestAnAnswerIsRead(t *testing.T) {
	c := Checker{Timeout: time.Minute, dial: says(nil).dial(t)}
	states, err := c.ask(t.Context(), c.systemSockets(), "a.service", "b.service")
	if err != nil || len(states) != 2 || states[1].mainPID != 4711 || states[0].mainStart.real.Unix() != 1e9 || states[0].mainStart.mono != 1000*time.Second {
		t.Errorf("%+v, %v", states, err)
	}
}

func TestAManagerThatDoesNotAnswerAsItShouldIsAFault(t *testing.T) {
	with := func(name string, value any) *fakeManager {
		return says(func(p map[string]dbus.Variant) { p[name] = dbus.MakeVariant(value) })
	}
	raw := func(text string) *fakeManager {
		return &fakeManager{answer: func(conn net.Conn, _ *dbus.Message) *dbus.Message {
			conn.Write([]byte(text))
			return nil
		}}
	}
	endless := func(chunk string) func(conn net.Conn) bool {
		return func(conn net.Conn) bool {
			for {
				if _, err := conn.Write([]byte(chunk)); err != nil {
					return false
				}
			}
		}
	}
	for name, test := range map[string]struct {
		manager *fakeManager
		reason  string
	}{
		"accepts and is silent": {&fakeManager{greet: func(conn net.Conn) bool { conn.Read(make([]byte, 1)); select {} }}, "no answer within"},
		"hangs up":              {&fakeManager{greet: func(net.Conn) bool { return false }}, ""},
		"never answers":         {&fakeManager{answer: func(net.Conn, *dbus.Message) *dbus.Message { return nil }}, "no answer within"},
		"hangs up when asked":   {&fakeManager{answer: func(conn net.Conn, _ *dbus.Message) *dbus.Message { conn.Close(); return nil }}, ""},
		"an endless greeting": {&fakeManager{greet: func(conn net.Conn) bool {
			go io.Copy(io.Discard, conn)
			return endless(strings.Repeat("x", 4096))(conn)
		}}, ""}, // too long, or too slow to become too long
		"endless greetings": {&fakeManager{greet: func(conn net.Conn) bool { go io.Copy(io.Discard, conn); return endless("DATA\r\n")(conn) }}, ""},
		"an endless answer": {&fakeManager{answer: func(conn net.Conn, _ *dbus.Message) *dbus.Message {
			conn.Write([]byte("l\x02\x00\x01\xff\xff\xff\x07\x01\x00\x00\x00\x00\x00\x00\x00"))
			endless("x")(conn)
			return nil
		}}, ""},
		"garbage":            {raw(strings.Repeat("\xff\x00garbage", 999)), ""},
		"an answer of 4 GiB": {raw("l\x02\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff"), ""},
		"an error with any text": {&fakeManager{answer: func(net.Conn, *dbus.Message) *dbus.Message {
			m := body("\x1b[2J<!channel>\n" + strings.Repeat("x", 9999))
			m.Type, m.Headers[dbus.FieldErrorName] = dbus.TypeError, dbus.MakeVariant("org.example.No")
			return m
		}}, `\x1b[2J`},
		"another answer":         {&fakeManager{answer: func(net.Conn, *dbus.Message) *dbus.Message { return body("yes") }}, ""},
		"nothing in the answer":  {&fakeManager{answer: func(net.Conn, *dbus.Message) *dbus.Message { return body(map[string]dbus.Variant{}) }}, "LoadState is missing"},
		"a state in words":       {with("ActiveState", "active; all is well"), "ActiveState is"},
		"no state":               {with("ActiveState", ""), "ActiveState is"},
		"a number for a state":   {with("ActiveState", uint32(1)), "ActiveState is a uint32"},
		"a text for a time":      {with("ExecMainStartTimestamp", "now"), "ExecMainStartTimestamp is a string"},
		"a time after all times": {with("ExecMainStartTimestamp", ^uint64(0)), "out of range"},
		"a signed process":       {with("MainPID", int32(-1)), "MainPID is a int32"},
		"a short invocation":     {with("InvocationID", []byte{1}), "InvocationID has 2 hex digits"},
		"a list in a list":       {with("RuntimeDirectory", [][]string{{"a"}}), "RuntimeDirectory is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if test.reason == "" || test.reason == "no answer within" {
				limit = 500 * time.Millisecond
			}
			c := Checker{Dir: t.TempDir(), BootID: "boot", Timeout: limit, dial: test.manager.dial(t), proc: t.TempDir()}
			began := time.Now()
			p := c.Check(t.Context(), Watch{Gate: "claude", Unit: "agent.service", Files: []string{"plugin/**"}}, testSource("/nowhere"), nil)
			if p.Verdict != Unknown || !p.Fault || !strings.HasPrefix(p.Reason, "systemd could not be asked: ") || strings.ContainsAny(p.Reason, "\n\x1b") {
				t.Errorf("%+v", p)
			}
			if !strings.Contains(p.Reason, test.reason) {
				t.Errorf("%q does not say %q", p.Reason, test.reason)
			}
			if took := time.Since(began); took > 30*time.Second || len(p.Reason) > 2000 {
				t.Errorf("after %v: %d bytes of reason", took, len(p.Reason))
			}
		})
	}
}

func testSource(root string) manifest.Source {
	return manifest.Source{Owner: agent, Live: []manifest.Live{{Name: "plugin", Root: root}},
		Limits: manifest.Limits{Entries: 100, File: 1 << 20, Total: 1 << 20}}
}

func TestAManagerThatChangesItsMindIsNoFaultAndNoAnswer(t *testing.T) {
	var asked atomic.Uint32
	fake := says(func(p map[string]dbus.Variant) { p["MainPID"] = dbus.MakeVariant(asked.Add(1)) })
	c := Checker{Dir: t.TempDir(), BootID: "boot", Timeout: time.Minute, dial: fake.dial(t)}
	p := c.Check(t.Context(), Watch{Gate: "claude", Unit: "agent.service", Files: []string{"plugin/**"}}, testSource("/nowhere"), nil)
	if p.Verdict != Unknown || p.Fault || !strings.Contains(p.Reason, "faster than it can be looked at") {
		t.Errorf("%+v", p)
	}
}

func TestWhatCannotBeKeptIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		checker Checker
		watch   Watch
	}{
		"no place":   {Checker{BootID: "boot"}, Watch{Gate: "../x", Unit: "a.service"}},
		"no pattern": {Checker{BootID: "boot"}, Watch{Gate: "claude", Unit: "a.service", Files: []string{"[a"}}},
		"no boot id": {Checker{proc: "/nowhere"}, Watch{Gate: "claude", Unit: "a.service"}},
	} {
		c.checker.Dir = t.TempDir()
		if p := c.checker.Check(t.Context(), c.watch, testSource("/nowhere"), nil); p.Verdict != Unknown || !p.Fault || p.Reason == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
