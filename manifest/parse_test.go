//go:build linux

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	digestA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	digestB = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
)

// sample is a manifest with everything in it.
func sample() *Manifest {
	at := time.Date(2026, 11, 30, 10, 0, 0, 123_456_789, time.UTC)
	entries := []Entry{
		{Path: "plugin", Type: File, Mode: 0o755, UID: 1000, GID: 1000, Size: 1, MTime: at, SHA256: digestA},
		{Path: "policy", Type: Dir, Mode: 0o2750, UID: math.MaxUint32, GID: 7, MTime: at.Truncate(time.Second)},
		{Path: "policy/a", Type: Dir, Mode: 0o755, MTime: time.Unix(0, 0).UTC()},
		{Path: "policy/a-b", Type: File, Mode: 0o4644, Size: 1, MTime: at, SHA256: digestB},
		{Path: "policy/a/\"quoted\\ é\u202e", Type: Symlink, Mode: 0o777, MTime: at, Target: "../<x>&\u2028"},
	}
	return &Manifest{
		Schema: Schema, Gate: "claude", Host: "agent-1", BootID: "0f3c-9", Sequence: 1 << 50, PublishedAt: at,
		Tree: Tree(entries), Entries: entries,
		Refused: []Refusal{{`policy/bad\xff`, "name: rename it"}},
		Log:     &Log{Head: digestA, Count: 3, LastAt: at, PolicyTree: digestB},
	}
}

func TestParseReadsWhatMarshalWrites(t *testing.T) {
	m := sample()
	data, err := m.Marshal()
	must(t, err)
	got, err := parse(string(data), testLimits)
	must(t, err)
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
	if !json.Valid(data) {
		t.Errorf("not valid for others: %s", data)
	}
	if lines := bytes.Count(data, []byte("\n")); lines < len(m.Entries)+len(m.Refused) {
		t.Errorf("only %d lines", lines)
	}
	// Another writer's layout and escapes are fine, as long as they mean the same.
	var value any
	must(t, json.Unmarshal(data, &value))
	indented, err := json.MarshalIndent(value, "", "\t")
	must(t, err)
	if got, err = parse(string(indented), testLimits); err != nil || !cmp.Equal(m, got) {
		t.Errorf("indented: %v, %s", err, cmp.Diff(m, got))
	}
}

func TestParseGenerationReadsWhatMarshalWrites(t *testing.T) {
	g := NewGeneration("claude", sample().Entries)
	data, err := g.Marshal()
	must(t, err)
	got, err := ParseGeneration(data, testLimits)
	must(t, err)
	if diff := cmp.Diff(g, got); diff != "" {
		t.Error(diff)
	}
	if g.Tree != sample().Tree {
		t.Errorf("the generation's tree is %s, the manifest's %s", g.Tree, sample().Tree)
	}
	for _, evidence := range []string{"uid", "gid", "mtime", "host"} {
		if bytes.Contains(data, []byte(evidence)) {
			t.Errorf("a generation holds %s", evidence)
		}
	}
	if m, err := parse(string(data), testLimits); err == nil {
		t.Errorf("a generation is taken for the manifest %v", m)
	}
}

// edit returns the sample's JSON with one thing replaced.
func edit(t *testing.T, old, new string) []byte {
	t.Helper()
	data, err := sample().Marshal()
	must(t, err)
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("the sample has no %s", old)
	}
	return bytes.Replace(data, []byte(old), []byte(new), 1)
}

func TestParseIsStrict(t *testing.T) {
	tests := []struct{ old, new, want string }{
		// The document.
		{"{\"schema\"", "\ufeff{\"schema\"", `line 1, column 1: no '{' here`},
		{"{\"schema\"", "[{\"schema\"", `no '{' here`},
		{"}}\n", "}}\n{}", `line 10, column 1: more after the end`},
		{"}}\n", "}}\n\x00", `more after the end`},
		{"}}\n", "}}x", `more after the end`},
		{"}}\n", "}", `no ',' or '}' here`},
		{"claude", "claude\xff", `line 1, column 49: not UTF-8`},
		// Keys.
		{`"gate":`, `"gait":`, `line 1, column 35: "gait": the key is not known`},
		{`"gate":`, `"Gate":`, `"Gate": the key is written "gate"`},
		{`"gate":`, `"g\u0061te":`, `the key is not known`},
		{`"gate":`, `"":`, `the key is not known`},
		{`"gate":`, `"` + strings.Repeat("g", 1000) + `":`, `"` + strings.Repeat("g", 64) + `": the key is not known`},
		{`"gate":`, `"gate":"x","gate":`, `"gate": the key is there twice`},
		{`"gate":"claude",`, ``, `"gate": the key is missing`},
		{`"gate":`, `gate:`, `no '"' here`},
		{`"gate":`, `"gate"`, `"gate": no ':' here`},
		{`"uid":1000,`, ``, `"uid": the key is missing`},
		{`"uid":1000,`, `"UID":1000,`, `line 2, column 46: "UID": the key is written "uid"`},
		{`"uid":1000,`, `"uid":1000,"uid":1000,`, `"uid": the key is there twice`},
		{`"reason":`, `"reasons":`, `"reasons": the key is not known`},
		{`"count":3,`, ``, `"count": the key is missing`},
		{`,"log":`, `,"log":null,"x":`, `"log": no '{' here`},
		// Values of the wrong kind.
		{`"claude"`, `7`, `"gate": no '"' here`},
		{`"claude"`, `null`, `"gate": no '"' here`},
		{`"claude"`, `["claude"]`, `"gate": no '"' here`},
		{`"uid":1000`, `"uid":"1000"`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":1e3`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":1000.0`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":-1`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":+1`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":0x10`, `no ',' or '}' here`},
		{`"uid":1000`, `"uid":01`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":true`, `"uid": not an integer of plain digits`},
		{`"uid":1000`, `"uid":4294967296`, `"uid": more than 4294967295`},
		{`"uid":1000`, `"uid":99999999999999999999999`, `"uid": more than 4294967295`},
		{`"size":1`, `"size":18446744073709551615`, `"size": more than 9223372036854775807`},
		{`"entries":[`, `"entries":{`, `"entries": no '[' here`},
		{`"entries":[`, `"entries":null,"x":[`, `"entries": no '[' here`},
		{`"entries":[`, `"entries":[[`, `no '{' here`},
		{`"entries":[`, `"entries":[,`, `no '{' here`},
		// Strings.
		{`claude`, `cla` + "\n" + `ude`, `"gate": a control character`},
		{`claude`, `claude` + "\x00", `a control character`},
		{`claude`, `\ud800`, `"gate": half a surrogate pair`},
		{`claude`, `\ud800\u0041`, `half a surrogate pair`},
		{`claude`, `\udc00\ud800`, `half a surrogate pair`},
		{`claude`, `\x41`, `an unknown escape`},
		{`claude`, `\u00`, `not four hex digits`},
		{`claude`, strings.Repeat("c", 65), `"gate": longer than 64 bytes`},
		{`claude`, `\u0063` + strings.Repeat("c", 100), `"gate": longer than 64 bytes`},
		// What the strings say.
		{Schema, "gatehouse/manifest/v2", `"schema": "gatehouse/manifest/v2" is not "gatehouse/manifest/v1"`},
		{`claude`, `Claude`, `"gate": "Claude" is no name for a gate`},
		{`claude`, `../etc`, `"gate": "../etc" is no name for a gate`},
		{`claude`, `claude\n`, `is no name for a gate`},
		{`agent-1`, ``, `"host": "" is no name for a host`},
		{`agent-1`, `agent\u001b[2J`, `"host": "agent\x1b[2J" is no name for a host`},
		{`0f3c-9`, `0F3C`, `"boot_id": "0F3C" is no boot id`},
		{`0f3c-9`, strings.Repeat("0", 65), `"boot_id": longer than 64 bytes`},
		{`"sequence":1125899906842624`, `"sequence":0`, `"sequence": a sequence begins with 1`},
		{`"2026-11-30T10:00:00.123456789Z","tree"`, `"2026-11-30T10:00:00+00:00","tree"`, `"published_at": "2026-11-30T10:00:00+00:00" is no time`},
		{`"2026-11-30T10:00:00.123456789Z","tree"`, `"2026-11-30T10:00:00,5Z","tree"`, `is no time`},
		{`"2026-11-30T10:00:00.123456789Z","tree"`, `"2026-11-30T10:00:00.50Z","tree"`, `is no time`},
		{`"2026-11-30T10:00:00.123456789Z","tree"`, `"2026-02-30T10:00:00Z","tree"`, `is no time`},
		{`"2026-11-30T10:00:00.123456789Z","tree"`, `1764496800,"tree"`, `"published_at": no '"' here`},
		{`"tree":"`, `"tree":"0`, `"tree": longer than 64 bytes`},
		{`"head":"ca`, `"head":"CA`, `"head": not 64 lower-case hex digits`},
		{`policy/bad\\xff`, `policy/bad\u0007`, `"path": not text`},
		{`policy/bad\\xff`, ``, `"path": not text`},
		// Entries.
		{`"mode":"0755"`, `"mode":"755"`, `"mode": mode "755" is not four octal digits`},
		{`"mode":"0755"`, `"mode":"0758"`, `is not four octal digits`},
		{`"mode":"0755"`, `"mode":"00755"`, `"mode": longer than 4 bytes`},
		{`"mode":"0755"`, `"mode":493`, `"mode": no '"' here`},
		{`"type":"file"`, `"type":"fifo"`, `"type" is "fifo", not file, dir or symlink`},
		{`"type":"file"`, `"type":""`, `"type" is "", not file, dir or symlink`},
		{`"type":"file"`, `"type":"dir"`, `only a file has "sha256"`},
		{`"path":"plugin","type":"file"`, `"path":"plugin","type":"symlink"`, `a link needs "target"`},
		{`,"sha256":"` + digestA + `"`, ``, `line 2, column 1: "entries": "plugin": a file needs "sha256"`},
		{`,"sha256":"` + digestA + `"`, `,"sha256":"` + digestA[1:] + `"`, `"sha256": not 64 lower-case hex digits`},
		{`,"sha256":"` + digestA + `"`, `,"sha256":"` + strings.ToUpper(digestA) + `"`, `"sha256": not 64 lower-case`},
		{`,"sha256":"` + digestA + `"`, `,"sha256":""`, `"sha256": not 64 lower-case hex digits`},
		{`,"sha256":"` + digestA + `"`, `,"sha256":"` + digestA + `","target":"x"`, `only a link has "target"`},
		{`,"target":"../`, `,"sha256":"` + digestA + `","target":"../`, `only a file has "sha256"`},
		{`,"target":"../`, `,"target":"\n../`, `"target": not text`},
		{`,"target":"../<x>&` + "\u2028" + `"`, ``, `a link needs "target" and the mode 0777`},
		{`"mode":"0777"`, `"mode":"0700"`, `a link needs "target" and the mode 0777`},
		{`"mode":"2750","uid":4294967295,"gid":7,"size":0`, `"mode":"2750","uid":4294967295,"gid":7,"size":1`, `only a file has`},
		// Their paths and order.
		{`"policy/a-b"`, `"policy/../b"`, `line 5, column 1: "entries": "policy/../b": it has the part ".."`},
		{`"policy/a-b"`, `"/policy/b"`, `"/policy/b": "" is no name for live files`},
		{`"policy/a-b"`, `"policy/b\u0000"`, `"policy/b\x00": it is not UTF-8 without control`},
		{`"policy/a-b"`, `"policy/b//c"`, `"policy/b//c": it has the part ""`},
		{`"policy/a-b"`, `"policy/a-b/"`, `it has the part ""`},
		{`"policy/a-b"`, `"policy/a"`, `"policy/a": it comes after "policy/a"`},
		{`"policy/a-b"`, `"policy"`, `"policy": it comes after "policy/a"`},
		{`"policy/a-b"`, `"policy/b"`, `it comes after "policy/b"`},
		{`"policy/a-b"`, `"policy/a-b/c"`, `"policy/a-b" is no directory among the entries before`},
		{`"policy/a-b"`, `"policy/a-"`, `is not what the entries make`},
		{`"path":"policy/a","type":"dir","mode":"0755","uid":0,"gid":0,"size":0`,
			`"path":"policy/a","type":"file","mode":"0755","uid":0,"gid":0,"sha256":"` + digestA + `","size":1`,
			`"policy/a" is no directory among the entries before`},
		{`"path":"policy","type":"dir","mode":"2750"`, `"path":"policx","type":"dir","mode":"2750"`,
			`"policy" is no directory among the entries before`},
		{`"path":"plugin","type":"file","mode":"0755","uid":1000,"gid":1000,"size":1,"mtime":"2026-11-30T10:00:00.123456789Z","sha256":"` + digestA + `"`,
			`"path":"plugin","type":"symlink","mode":"0777","uid":1000,"gid":1000,"size":0,"mtime":"2026-11-30T10:00:00Z","target":"x"`,
			`a live root is a directory or a file`},
		{`"path":"policy/a/`, `"path":"` + strings.Repeat("x", 4000) + `/`, `"path": longer than 3584 bytes`},
	}
	for _, test := range tests {
		data := edit(t, test.old, test.new)
		m, err := parse(string(data), testLimits)
		if err == nil || m != nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s for %s: got error %v, want %q", test.new, test.old, err, test.want)
		}
	}
	for _, data := range []string{"", " ", "{}", "null", "[]", "0", "\"", "{", "{\"", strings.Repeat("[", 1<<20)} {
		if m, err := parse(data, testLimits); err == nil {
			t.Errorf("%.20q is read as %v", data, m)
		}
		if g, err := ParseGeneration([]byte(data), testLimits); err == nil {
			t.Errorf("%.20q is read as %v", data, g)
		}
	}
}

func TestParseKeepsToTheLimits(t *testing.T) {
	data, err := sample().Marshal()
	must(t, err)
	for _, test := range []struct {
		limits Limits
		want   string
	}{
		{Limits{5, 1, 2}, ""},
		{Limits{4, 1, 2}, "more than 4 entries"},
		{Limits{5, 0, 2}, `"plugin": 1 bytes are more than the limit of 0 for a file`},
		{Limits{5, 1, 1}, `"policy/a-b": with it the files have more than the limit of 1 bytes together`},
		{Limits{}, "more than 0 entries"},
		{Limits{-1, -1, -1}, "more than -1 entries"},
	} {
		_, err := parse(string(data), test.limits)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.limits, err, test.want)
		}
	}
	big := append(data, bytes.Repeat([]byte{' '}, 1<<20)...)
	if _, err := parse(string(big), Limits{5, 1, 2}); err == nil || !strings.Contains(err.Error(), "more than its limit of 1048576") {
		t.Errorf("a padded manifest: %v", err)
	}
	if got := (Limits{Entries: math.MaxInt}).document(); got <= 0 {
		t.Errorf("the limit on bytes overflows: %d", got)
	}
}

func TestParseRefusesTotalsThatOverflow(t *testing.T) {
	var entries []Entry
	for i := range 3 {
		entries = append(entries, Entry{Path: fmt.Sprint("f", i), Type: File, Mode: 0o644, Size: math.MaxInt64 / 2, SHA256: digestA})
	}
	data, err := NewGeneration("g", entries).Marshal()
	must(t, err)
	if _, err := ParseGeneration(data, Limits{10, math.MaxInt64, math.MaxInt64}); err == nil {
		t.Error("sizes that overflow together are accepted")
	}
}

func TestMarshalRefusesWhatIsNotUTF8(t *testing.T) {
	m := sample()
	m.Entries[0].Path = "plugin\xff"
	if data, err := m.Marshal(); err == nil {
		t.Errorf("written as %s", data)
	}
}

// TestParseAgreesWithEncodingJSON compares the two on what both accept.
func TestParseAgreesWithEncodingJSON(t *testing.T) {
	texts := rapid.StringN(0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		data, err := json.Marshal(map[string]any{"path": text, "reason": "r"})
		if err != nil {
			t.Fatal(err)
		}
		s := newScanner(string(data), 1<<20)
		var got string
		for key := range s.object(&refusalShape) {
			if value := s.text(1000); key == "path" {
				got = value
			}
		}
		if err := s.end(); err != nil || got != text {
			t.Fatalf("%s is read as %q, %v; want %q", data, got, err, text)
		}
	})
}

// withTree puts the right tree into a document, so that changes to its entries get past that check.
func withTree(data []byte) []byte {
	var m Manifest
	if json.Unmarshal(data, &m) != nil || len(m.Tree) != 64 {
		return data
	}
	return bytes.Replace(data, []byte(m.Tree), []byte(Tree(m.Entries)), 1)
}

func FuzzParse(f *testing.F) {
	data, err := sample().Marshal()
	must(f, err)
	f.Add(data)
	f.Add([]byte(`{"schema":"gatehouse/manifest/v1","gate":"g","host":"h","boot_id":"0","sequence":1,"entries":[],"refused":[]}`))
	f.Add(bytes.Replace(data, []byte("claude"), []byte(`\ud83d\ude00`), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = withTree(data)
		m, err := parse(string(data), testLimits)
		if err != nil {
			if m != nil || !errors.Is(err, ErrInvalid) || !isText(err.Error()) {
				t.Errorf("manifest %v with error %q", m, err)
			}
			return
		}
		again, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		same, err := parse(string(again), testLimits)
		if err != nil {
			t.Fatalf("%s: what was accepted is not when written anew: %v", again, err)
		}
		if diff := cmp.Diff(m, same); diff != "" {
			t.Error(diff)
		}
		if Tree(m.Entries) != m.Tree {
			t.Errorf("the tree is not that of the entries")
		}
		if !json.Valid(data) {
			t.Error("accepted, and no JSON")
		}
	})
}

func FuzzParseGeneration(f *testing.F) {
	data, err := NewGeneration("claude", sample().Entries).Marshal()
	must(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = withTree(data)
		g, err := ParseGeneration(data, testLimits)
		if err != nil {
			return
		}
		if !cmp.Equal(g, NewGeneration(g.Gate, g.Entries)) {
			t.Errorf("%v is not what its entries make", g)
		}
		for _, e := range g.Entries {
			if err := ValidPath(e.Path); err != nil {
				t.Errorf("%q: %v", e.Path, err)
			}
		}
		if !json.Valid(data) {
			t.Error("accepted, and no JSON")
		}
	})
}
