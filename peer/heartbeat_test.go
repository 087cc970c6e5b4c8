package peer

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/exchange"
)

// full is a heartbeat with all that one may have.
func full() Heartbeat {
	digest := strings.Repeat("0a", 32)
	return beatOf("agent-1", 7, func(h *Heartbeat) {
		h.Gates = []Gate{{Name: "claude", Result: "drifted", Tree: digest, Fingerprint: digest, Accepted: digest, Commit: digest[:40]}, {Name: "codex", Result: "in-sync"}}
		h.Pending = Pending{Count: 2, Oldest: 60, Since: 1_700_000_000}
		h.Maintenance = &Maintenance{Left: 7200, Why: "kernel <6> & \"more\""}
	})
}

// The format is read by programs of other versions: it changes only with the schema.
func TestHeartbeatFormat(t *testing.T) {
	digest := strings.Repeat("0a", 32)
	want := `{"schema":"gatehouse/heartbeat/v1","host":"agent-1","boot_id":"b0","sequence":7,"at":1800000000,"interval":3600,"version":"test",` +
		`"gates":[{"name":"claude","result":"drifted","tree":"` + digest + `","fingerprint":"` + digest + `","accepted":"` + digest + `","commit":"` + digest[:40] + `"},` +
		`{"name":"codex","result":"in-sync"}],"pending":{"count":2,"oldest":60,"since":1700000000},` +
		`"maintenance":{"left":7200,"why":"kernel \u003c6\u003e \u0026 \"more\""}}`
	value := sealed(t, full(), "agent-1")
	head, payload, _ := strings.Cut(string(value), "\n")
	if payload != want {
		t.Errorf("got\n%s\nwant\n%s", payload, want)
	}
	const wantHead = "gatehouse/signed/v1 gatehouse/heartbeat/v1 "
	if !strings.HasPrefix(head, wantHead+KeyID(publicOf(keyOf("agent-1")))+" ") || strings.Count(head, " ") != 3 {
		t.Errorf("got %q", head)
	}
	got, err := ParseHeartbeat("agent-1", publicOf(keyOf("agent-1")), value)
	if diff := cmp.Diff(full(), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestHeartbeatsThatAreRefused(t *testing.T) {
	good := string(sealed(t, full(), "agent-1"))
	_, payload, _ := strings.Cut(good, "\n")
	resigned := func(payload string) []byte { // by the host itself, so that only its form can be at fault
		value, err := Seal(keyOf("agent-1"), heartbeatDomain, []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	replace := func(old, new string) []byte {
		if !strings.Contains(payload, old) {
			t.Fatalf("there is no %q", old)
		}
		return resigned(strings.Replace(payload, old, new, 1))
	}
	for name, test := range map[string]struct {
		value []byte
		want  string
	}{
		"nothing":                       {nil, "it is no signed statement"},
		"no first line":                 {[]byte(strings.Repeat("x", 1000)), "it is no signed statement"},
		"only a payload":                {[]byte(payload), "it is no signed statement"},
		"another version":               {[]byte(strings.Replace(good, "signed/v1", "signed/v2", 1)), "it is no signed statement"},
		"one more word":                 {[]byte(strings.Replace(good, "\n", " x\n", 1)), "it is no signed statement"},
		"another domain":                {[]byte(strings.Replace(good, " gatehouse/heartbeat/v1 ", " gatehouse/told/v1 ", 1)), "statement of another kind"},
		"the payload is changed":        {[]byte(strings.Replace(good, "drifted", "in-sync", 1)), "it was changed"},
		"a line break in the signature": {[]byte(strings.Replace(good, "=\n", "\r=\n", 1)), "it was changed"},
		"something follows":             {[]byte(good + "\n"), "it was changed"},
		"a byte is missing":             {[]byte(good[:len(good)-1]), "it was changed"},
		"too large":                     {make([]byte, exchange.MaxStatement+1), "at most"},
		"signed by another":             {sealed(t, full(), "agent-2"), "it is signed with the key"},
		"signed for another purpose":    {must(Seal(keyOf("agent-1"), toldDomain, []byte(payload))), "statement of another kind"},
		"of another host":               {sealed(t, beatOf("agent-2", 1), "agent-1"), `it is the heartbeat of "agent-2"`},
		"no JSON":                       {resigned("x"), "invalid character"},
		"an unknown key":                {replace(`"at":`, `"extra":1,"at":`), `unknown field "extra"`},
		"a key that is there twice":     {replace(`"sequence":7`, `"sequence":9,"sequence":7`), "not in canonical form"},
		"a key in another case":         {replace(`"sequence"`, `"Sequence"`), "not in canonical form"},
		"keys in another order":         {replace(`"sequence":7,"at":1800000000`, `"at":1800000000,"sequence":7`), "not in canonical form"},
		"a space":                       {replace(`"at":`, `"at": `), "not in canonical form"},
		"a key is missing":              {replace(`"at":1800000000,`, ""), "not in canonical form"},
		"something after it":            {resigned(payload + "{}"), "not in canonical form"},
		"an escape that needs none":     {replace("in-sync", `in\u002dsync`), "not in canonical form"},
		"a number with a fraction":      {replace(`"sequence":7`, `"sequence":7.0`), "sequence"},
		"a number below zero":           {replace(`"sequence":7`, `"sequence":-7`), "sequence"},
		"no number":                     {replace(`"sequence":7`, `"sequence":0`), "sequence: 0 is out of range"},
		"a number without end":          {replace(`"sequence":7`, `"sequence":18446744073709551615`), "out of range"},
		"another schema":                {replace("heartbeat/v1", "heartbeat/v2"), "schema"},
		"a strange host":                {replace(`"host":"agent-1"`, `"host":"../x"`), "host"},
		"no boot":                       {replace(`"b0"`, `""`), "boot_id"},
		"gates that are null":           {replace(payload[strings.Index(payload, `"gates":`):strings.Index(payload, `,"pending"`)], `"gates":null`), "gates"},
		"a strange gate":                {replace(`"codex"`, `"\u001b[2J"`), "gates[1].name"},
		"a gate twice":                  {replace(`"codex"`, `"claude"`), "is there twice"},
		"a strange result":              {replace(`"in-sync"`, `"In sync"`), "gates[1].result"},
		"a tree that is none":           {replace(`"tree":"0a`, `"tree":"zz`), "no SHA-256"},
		"a reason with an escape":       {replace("kernel", `\u001b[2J`), "maintenance"},
		"a reason without end":          {replace("kernel", strings.Repeat("k", 201)), "maintenance"},
		"maintenance without end":       {replace(`"left":7200`, `"left":9223372036854775807`), "maintenance"},
	} {
		got, err := ParseHeartbeat("agent-1", publicOf(keyOf("agent-1")), test.value)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %+v, %v; want an error with %q", name, got, err, test.want)
		}
	}
	if _, err := ParseHeartbeat("agent-1", nil, []byte(good)); !errors.Is(err, ErrSignature) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := Seal(nil, heartbeatDomain, nil); err == nil {
		t.Error("signed without a key")
	}
	if _, err := Seal(keyOf("a"), "Heartbeat\n", nil); err == nil {
		t.Error("signed for a strange purpose")
	}
	if _, err := Seal(keyOf("a"), heartbeatDomain, make([]byte, MaxPayload+1)); err == nil {
		t.Error("signed more than an exchange takes")
	}
	if value := must(Seal(keyOf("a"), strings.Repeat("d", 64), make([]byte, MaxPayload))); len(value) > exchange.MaxStatement {
		t.Errorf("the largest statement has %d bytes", len(value))
	}
}

func must(value []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return value
}

func TestAHeartbeatThatWouldBeRefusedIsNotMade(t *testing.T) {
	for name, change := range map[string]func(*Heartbeat){
		"no number":      func(h *Heartbeat) { h.Sequence = 0 },
		"too many gates": func(h *Heartbeat) { h.Gates = slices.Repeat(h.Gates, 200) },
		"a line break":   func(h *Heartbeat) { h.Version = "a\nb" },
	} {
		if value, err := beatOf("a", 1, change).Sign(keyOf("a")); err == nil {
			t.Errorf("%s: made %q", name, value)
		}
	}
}

func TestKeysReadAsTheyAreWritten(t *testing.T) {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParsePrivateKey(FormatPrivateKey(key)); err != nil || !got.Equal(key) {
		t.Errorf("%v", err)
	}
	if got, err := ParseKey(FormatKey(publicOf(key))); err != nil || !got.Equal(publicOf(key)) {
		t.Errorf("%v", err)
	}
	for _, s := range []string{"", "ed25519:", FormatPrivateKey(key), FormatKey(publicOf(key)) + "\n", FormatKey(publicOf(key))[8:]} {
		if _, err := ParseKey(s); err == nil {
			t.Errorf("%q is taken for a public key", s)
		}
	}
	for _, s := range []string{"", FormatKey(publicOf(key)), FormatPrivateKey(key) + "x", FormatPrivateKey(key)[:50]} {
		_, err := ParsePrivateKey(s)
		if err == nil {
			t.Errorf("%q is taken for a private key", s)
		} else if s != "" && strings.Contains(err.Error(), s[len(s)-20:]) {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
}

func FuzzParseHeartbeat(f *testing.F) {
	key := keyOf("agent-1")
	f.Add(sealed(f, full(), "agent-1"), false)
	f.Add(sealed(f, beatOf("agent-1", 1), "agent-2"), false)
	f.Add([]byte(`{"schema":"gatehouse/heartbeat/v1"}`), true)
	_, payload, _ := bytes.Cut(sealed(f, full(), "agent-1"), []byte("\n"))
	f.Add(payload, true)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		if sign {
			value, err := Seal(key, heartbeatDomain, data)
			if err != nil {
				return
			}
			data = value
		}
		h, err := ParseHeartbeat("agent-1", publicOf(key), data)
		if err != nil {
			return
		}
		again, err := h.Sign(key)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q is read as %+v, which is written %q (%v)", data, h, again, err)
		}
	})
}

func FuzzParseTold(f *testing.F) {
	f.Add([]byte(`{"schema":"gatehouse/told/v1","host":"a","alerts":[{"alert":"silent-0","kind":"silent","subject":"b","round":1,"over":false}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		value, err := Seal(keyOf("a"), toldDomain, payload)
		if err != nil {
			return
		}
		list, err := parseTold("a", publicOf(keyOf("a")), value)
		if err != nil {
			return
		}
		for _, s := range list {
			if exchange.CheckID(s.Alert) != nil || s.Round < 1 {
				t.Fatalf("believed %+v", s)
			}
		}
	})
}
