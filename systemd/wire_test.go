package systemd

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
)

// encoded is a message as it goes over the wire.
func encoded(t testing.TB, kind dbus.Type, headers map[dbus.HeaderField]any, values ...any) []byte {
	t.Helper()
	m := &dbus.Message{Type: kind, Body: values, Headers: make(map[dbus.HeaderField]dbus.Variant)}
	for field, value := range headers {
		m.Headers[field] = dbus.MakeVariant(value)
	}
	if len(values) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(values...))
	}
	var buf bytes.Buffer
	if err := m.EncodeTo(&buf, binary.LittleEndian); err != nil {
		t.Fatal(err)
	}
	wire := buf.Bytes()
	binary.LittleEndian.PutUint32(wire[8:], 7) // a serial
	return wire
}

func signal(t testing.TB, member string, values ...any) []byte {
	const bus = "org.freedesktop.DBus"
	return encoded(t, dbus.TypeSignal, map[dbus.HeaderField]any{dbus.FieldPath: dbus.ObjectPath("/"), dbus.FieldInterface: bus,
		dbus.FieldMember: member, dbus.FieldSender: bus}, values...)
}

func reply(t testing.TB, values ...any) []byte {
	return encoded(t, dbus.TypeMethodReply, map[dbus.HeaderField]any{dbus.FieldReplySerial: uint32(1)}, values...)
}

// A peer is what answers, without a word of its own.
type peer struct{ io.Reader }

func (peer) Write(p []byte) (int, error) { return len(p), nil }
func (peer) Close() error                { return nil }

// through is what comes through a wire after the authentication, and the error that ends it.
func through(text []byte) ([]byte, error) {
	w := newWire(peer{bytes.NewReader(text)})
	if _, err := w.Write([]byte("BEGIN\r\n")); err != nil {
		return nil, err
	}
	return io.ReadAll(w)
}

func TestOnlyAnswersComeThrough(t *testing.T) {
	good := reply(t, map[string]dbus.Variant{"A": dbus.MakeVariant("b")})
	big := bytes.Clone(good)
	binary.LittleEndian.PutUint32(big[4:], 1<<30)
	long := bytes.Clone(good)
	binary.LittleEndian.PutUint32(long[12:], 0xfffffff9) // rounds up to more than 32 bits hold
	call := encoded(t, dbus.TypeMethodCall, map[dbus.HeaderField]any{dbus.FieldPath: dbus.ObjectPath("/x"), dbus.FieldMember: "M"})
	said := encoded(t, dbus.TypeError, map[dbus.HeaderField]any{dbus.FieldReplySerial: uint32(1), dbus.FieldErrorName: "a.b"}, "no")
	with := func(at int, b byte) []byte { m := bytes.Clone(good); m[at] = b; return m }
	for name, c := range map[string]struct {
		text []byte
		want []byte
		err  string
	}{
		"an answer":                        {good, good, ""},
		"an error":                         {said, said, ""},
		"nothing in an answer":             {reply(t), reply(t), ""},
		"a name without a name":            {signal(t, "NameAcquired"), nil, ""},
		"a name that is a number":          {signal(t, "NameLost", uint32(7)), nil, ""},
		"signals and calls around":         {slicesOf(signal(t, "X"), call, good, call), good, ""},
		"a type of message that is not":    {with(1, 0), nil, "no D-Bus message"},
		"a type of message that may come":  {with(1, 9), nil, ""},
		"no byte order":                    {with(0, 'x'), nil, "no D-Bus message"},
		"another protocol":                 {with(3, 2), nil, "no D-Bus message"},
		"the other byte order, by mistake": {with(0, 'B'), nil, "more than"},
		"a body of a GiB":                  {big, nil, "more than"},
		"a header of four":                 {long, nil, "more than"},
		"an answer to nothing":             {encoded(t, dbus.TypeSignal, map[dbus.HeaderField]any{dbus.FieldPath: dbus.ObjectPath("/"), dbus.FieldInterface: "a.b", dbus.FieldMember: "C"}), nil, ""},
		"another form":                     {reply(t, uint32(1)), nil, "it has the form"},
		"a list of descriptors":            {reply(t, []dbus.UnixFDIndex{1}), nil, "it has the form"},
		"cut short":                        {good[:len(good)-1], nil, "EOF"},
		"cut in the header":                {good[:5], nil, "EOF"},
	} {
		got, err := through(c.text)
		if !bytes.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d bytes, %v, want %d and %q", name, len(got), err, len(c.want), c.err)
		}
	}
	if _, err := through(bytes.Repeat(call, maxReply/len(call)+1)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("calls without end: %v", err)
	}
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// FuzzWire holds that whatever a peer says, only answers come through, and that they can be decoded.
func FuzzWire(f *testing.F) {
	f.Add(reply(f, map[string]dbus.Variant{"A": dbus.MakeVariant([]string{"b"})}))
	f.Add(signal(f, "NameAcquired"))
	f.Add(slicesOf(signal(f, "NameLost", uint32(7)), reply(f, "x")))
	f.Add([]byte("l\x02\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x08\x00\x00\x00\x05\x01u\x00\x01\x00\x00\x00"))
	f.Add([]byte("B\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x08\x05\x01u\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _ := through(text)
		for in := bytes.NewReader(got); in.Len() > 0; {
			m, err := dbus.DecodeMessage(in)
			if err != nil || m.Type != dbus.TypeMethodReply && m.Type != dbus.TypeError {
				t.Fatalf("%+v, %v", m, err)
			}
			if _, ok := m.Headers[dbus.FieldReplySerial].Value().(uint32); !ok {
				t.Fatalf("an answer to nothing: %+v", m)
			}
		}
	})
}

// TestAPeerCannotEndTheProgram sends what makes the library panic in a goroutine of its own, before the answer.
func TestAPeerCannotEndTheProgram(t *testing.T) {
	for _, words := range [][]byte{signal(t, "NameAcquired"), signal(t, "NameLost", uint32(7))} {
		fake := says(nil)
		honest := fake.answer
		fake.answer = func(conn net.Conn, ask *dbus.Message) *dbus.Message {
			conn.Write(words)
			return honest(conn, ask)
		}
		c := Checker{Timeout: time.Minute, dial: fake.dial(t)}
		if states, err := c.ask(t.Context(), c.systemSockets(), "a.service"); err != nil || states[0].mainPID != 4711 {
			t.Errorf("%+v, %v", states, err)
		}
	}
}

// TestASlowUsersManagerHasOneTimeForAllItsUnits answers each question almost too late.
func TestASlowUsersManagerHasOneTimeForAllItsUnits(t *testing.T) {
	synctest.Test(t, testASlowUsersManager)
}

func testASlowUsersManager(t *testing.T) {
	system, slow := says(nil), says(nil)
	honest := slow.answer
	slow.answer = func(conn net.Conn, ask *dbus.Message) *dbus.Message {
		time.Sleep(200 * time.Millisecond) // the manager is slow
		return honest(conn, ask)
	}
	var order []uint32
	c := Checker{Dir: t.TempDir(), BootID: "boot", Timeout: 300 * time.Millisecond, proc: t.TempDir()}
	c.dial = func(ctx context.Context, path string, owner uint32) (net.Conn, error) {
		order = append(order, owner)
		if owner == 0 {
			return system.dial(t)(ctx, path, owner)
		}
		return slow.dial(t)(ctx, path, owner)
	}
	var watches []Watch
	for _, unit := range []string{"a.service", "b.service", "c.service", "d.service", "e.service"} {
		watches = append(watches, Watch{Gate: "claude", Unit: unit, User: unit != "e.service", UID: agent, UserName: "agent", Files: []string{"plugin/**"}})
	}
	began := time.Now()
	all := c.CheckAll(t.Context(), watches, testSource("/nowhere"), nil)
	if took := time.Since(began); took > 4*300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	for i, p := range all {
		if p.Unit != watches[i].Unit || p.Verdict != Unknown || !p.Fault {
			t.Errorf("%d: %+v", i, p)
		}
		if slow := strings.Contains(p.Reason, "the service manager of user agent could not be asked"); slow != watches[i].User {
			t.Errorf("%d: %s", i, p.Reason)
		}
	}
	if order[0] != 0 || order[1] == agent {
		t.Errorf("the system's units do not come first: %v", order)
	}
	time.Sleep(time.Second) // the manager ends, too
}

func TestAReasonIsShortAndOneLine(t *testing.T) {
	for text, want := range map[string]string{"a\nb": "a; b", "a\xffb": "a\uFFFDb", strings.Repeat("ä", 250): strings.Repeat("ä", 250)} {
		if got := capped(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := capped(strings.Repeat("ä", 251)); len(got) > maxReason || !strings.HasSuffix(got, "ä…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	// A user's manager that calls a million bytes a control group.
	f := running()
	f.asUser()
	f.unit.controlGroup = strings.Repeat("\x01", 1<<20)
	if p, _ := f.judgeState(); len(p.Reason) > 3000 || !strings.Contains(p.Reason, "has the control group") {
		t.Errorf("%d bytes", len(p.Reason))
	}
	if err := errors.Join(errors.New("a"), errors.New("b")); capped(err.Error()) != "a; b" {
		t.Error("joined errors are not one line")
	}
}
