package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatehouse/manifest"
)

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func example() *Index {
	at := time.Date(2026, 11, 30, 8, 0, 0, 5, time.UTC)
	return &Index{
		Schema: IndexSchema, Host: "agent-1", WrittenAt: at,
		Gates: []IndexGate{{
			Gate: "claude", UID: 1000, User: "agent", Decide: DecideAccepted,
			Accepted: "/var/lib/gatehouse/accepted/claude", Tree: digest, Export: "/var/lib/gatehouse-export/claude",
			Live:     []manifest.Live{{Name: "policy", Root: "/home/agent/.config/gatehouse", Exclude: []string{"flags/**"}}},
			Limits:   manifest.Limits{Entries: 10000, File: 1 << 20, Total: 64 << 20},
			Interval: time.Hour, Result: "behind", Fingerprint: digest,
			Restore: &RestoreRequest{From: digest, To: digest, At: at},
		}},
	}
}

// The format is read by programs of other versions: it changes only with the schema.
func TestIndexFormat(t *testing.T) {
	const want = `{
  "schema": "gatehouse/index/v1",
  "host": "agent-1",
  "written_at": "2026-11-30T08:00:00.000000005Z",
  "gates": [
    {
      "gate": "claude",
      "uid": 1000,
      "user": "agent",
      "decide": "accepted",
      "accepted": "/var/lib/gatehouse/accepted/claude",
      "tree": "` + digest + `",
      "export": "/var/lib/gatehouse-export/claude",
      "live": [
        {
          "name": "policy",
          "root": "/home/agent/.config/gatehouse",
          "exclude": [
            "flags/**"
          ]
        }
      ],
      "limits": {
        "entries": 10000,
        "file": 1048576,
        "total": 67108864
      },
      "interval_seconds": 3600,
      "result": "behind",
      "fingerprint": "` + digest + `",
      "restore": {
        "from": "` + digest + `",
        "to": "` + digest + `",
        "at": "2026-11-30T08:00:00.000000005Z"
      }
    }
  ]
}
`
	got, err := example().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatMarshalWritesReadsAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawIndex(t)
		data, err := want.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseIndex(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func drawIndex(t *rapid.T) *Index {
	name := rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,20}`)
	path := rapid.StringMatching(`(/[a-z<>&"\\é]{1,8}){1,4}`)
	tree := rapid.StringMatching(`[0-9a-f]{64}`)
	when := rapid.Custom(func(t *rapid.T) time.Time { return time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "seconds"), 1).UTC() })
	live := rapid.Custom(func(t *rapid.T) manifest.Live {
		l := manifest.Live{Name: name.Draw(t, "live"), Root: path.Draw(t, "root")}
		if rapid.Bool().Draw(t, "excludes") {
			l.Exclude = rapid.SliceOfN(rapid.StringMatching(`[a-z*/]{1,9}`), 1, 3).Draw(t, "exclude")
		}
		return l
	})
	gate := rapid.Custom(func(t *rapid.T) IndexGate {
		g := IndexGate{
			Gate: name.Draw(t, "gate"), UID: rapid.Uint32().Draw(t, "uid"), User: name.Draw(t, "user") + "x",
			Decide: rapid.SampledFrom([]Decide{DecideAccepted, DecideRefuse, DecideLive}).Draw(t, "decide"),
			Export: path.Draw(t, "export"),
			Live:   rapid.SliceOfNDistinct(live, 1, 3, func(l manifest.Live) string { return l.Name }).Draw(t, "live"),
			Limits: manifest.Limits{
				Entries: rapid.IntRange(1, 1<<40).Draw(t, "entries"),
				File:    rapid.Int64Range(1, 1<<62).Draw(t, "file"),
				Total:   rapid.Int64Range(1, 1<<62).Draw(t, "total"),
			},
			Interval: time.Duration(rapid.Int64Range(1, 1<<33).Draw(t, "interval")) * time.Second,
			Result:   rapid.SampledFrom([]string{"", "in-sync", "drifted"}).Draw(t, "result"),
		}
		if rapid.Bool().Draw(t, "accepted") {
			g.Accepted, g.Tree, g.Fingerprint = path.Draw(t, "accepted"), tree.Draw(t, "tree"), tree.Draw(t, "fingerprint")
		}
		if rapid.Bool().Draw(t, "restore") {
			g.Restore = &RestoreRequest{To: tree.Draw(t, "to"), At: when.Draw(t, "at")}
		}
		return g
	})
	return &Index{
		Schema: IndexSchema, Host: name.Draw(t, "host"), WrittenAt: when.Draw(t, "written"),
		Gates: rapid.SliceOfNDistinct(gate, 0, 4, func(g IndexGate) string { return g.Gate }).Draw(t, "gates"),
	}
}

func TestIndexThatRootDidNotWrite(t *testing.T) {
	data, err := example().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	for name, test := range map[string]struct{ file, want string }{
		"empty":                 {"", "unexpected EOF"},
		"cut short":             {good[:len(good)/2], "unexpected EOF"},
		"two documents":         {good + good, "there is more after the end of the document"},
		"text behind":           {good + "x", "there is more after the end of the document"},
		"null":                  {"null", "there is a null"},
		"null for a list":       {strings.Replace(good, `"gates": [`, `"gates": null, "x": [`, 1), "there is a null"},
		"a list":                {"[]", "cannot unmarshal array"},
		"not UTF-8":             {strings.Replace(good, "agent-1", "agent-\xff", 1), "it is not valid UTF-8"},
		"deep":                  {strings.Repeat("[", 1<<19), "nested more than 8 deep"},
		"an unknown key":        {strings.Replace(good, `"host"`, `"hots"`, 1), `unknown field "hots"`},
		"a key twice":           {strings.Replace(good, `"uid": 1000`, `"uid": 1000, "uid": 1001`, 1), `the key "uid" is there twice`},
		"a key in another case": {strings.Replace(good, `"uid": 1000`, `"UID": 1000`, 1), `the key "UID" is there twice or in another case`},
		"no uid":                {strings.Replace(good, `"uid": 1000,`, ``, 1), "gates[0].uid: is missing"},
		"a negative uid":        {strings.Replace(good, `"uid": 1000`, `"uid": -1`, 1), "cannot unmarshal number -1"},
		"a uid in text":         {strings.Replace(good, `"uid": 1000`, `"uid": "1000"`, 1), "cannot unmarshal string"},
		"another schema":        {strings.Replace(good, "index/v1", "index/v2", 1), `schema: "gatehouse/index/v2" is not gatehouse/index/v1`},
		"no host":               {strings.Replace(good, "agent-1", "", 1), "host: "},
		"no time":               {strings.Replace(good, `"written_at": "2026-11-30T08:00:00.000000005Z",`, "", 1), "written_at: is missing"},
		"no decision":           {strings.Replace(good, `"decide": "accepted"`, `"decide": ""`, 1), "gates[0].decide: "},
		"another decision":      {strings.Replace(good, `"decide": "accepted"`, `"decide": "allow"`, 1), `gates[0].decide: "allow" is none of`},
		"a bad gate":            {strings.Replace(good, `"claude"`, `"../x"`, 1), "gates[0].gate: "},
		"a bad user":            {strings.Replace(good, `"agent"`, `"a:b"`, 1), "gates[0].user: "},
		"an accepted elsewhere": {strings.Replace(good, "/var/lib/gatehouse/accepted", "../accepted", 1), "gates[0].accepted: "},
		"no accepted":           {strings.Replace(good, `"accepted": "/var/lib/gatehouse/accepted/claude",`, "", 1), "gates[0].accepted: "},
		"a short tree":          {strings.Replace(good, digest, digest[1:], 1), "gates[0].tree: "},
		"a tree in capitals":    {strings.Replace(good, digest, strings.ToUpper(digest), 1), "gates[0].tree: "},
		"an export elsewhere":   {strings.Replace(good, "/var/lib/gatehouse-export/claude", "/x/../y", 1), "gates[0].export: "},
		"a root elsewhere":      {strings.Replace(good, "/home/agent/", "", 1), "gates[0].live[0].root: "},
		"a bad live name":       {strings.Replace(good, `"policy"`, `"a/b"`, 1), "gates[0].live[0].name: "},
		"no entries":            {strings.Replace(good, `"entries": 10000`, `"entries": 0`, 1), "gates[0].limits.entries: "},
		"a negative size":       {strings.Replace(good, `"file": 1048576`, `"file": -1`, 1), "gates[0].limits.file: "},
		"no interval":           {strings.Replace(good, `"interval_seconds": 3600`, `"interval_seconds": 0`, 1), "gates[0].interval_seconds: "},
		"an endless interval":   {strings.Replace(good, `3600`, `9223372036854775807`, 1), "gates[0].interval_seconds: is too large"},
		"half a second":         {strings.Replace(good, `3600`, `0.5`, 1), "cannot unmarshal number 0.5"},
		"a bad result":          {strings.Replace(good, `"behind"`, `"be hind"`, 1), "gates[0].result: "},
		"a restore to nothing":  {strings.Replace(good, `"to": "`+digest, `"to": "`, 1), "gates[0].restore.to: "},
		"a restore at no time":  {strings.Replace(good, "\",\n        \"at\": \"2026-11-30T08:00:00.000000005Z", "", 1), "gates[0].restore.at: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.file == good {
				t.Fatal("the test changes nothing")
			}
			got, err := ParseIndex([]byte(test.file))
			if err == nil || got != nil {
				t.Fatalf("got %+v, %v; want an error only", got, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}

func TestMarshalRefusesWhatCannotBeRead(t *testing.T) {
	for name, spoil := range map[string]func(*Index){
		"a gate twice":         func(i *Index) { i.Gates = append(i.Gates, i.Gates[0]) },
		"a live name twice":    func(i *Index) { g := &i.Gates[0]; g.Live = append(g.Live, g.Live[0]) },
		"no live root":         func(i *Index) { i.Gates[0].Live = nil },
		"part of a second":     func(i *Index) { i.Gates[0].Interval++ },
		"no schema":            func(i *Index) { i.Schema = "" },
		"the zero decision":    func(i *Index) { i.Gates[0].Decide = "" },
		"a fingerprint's head": func(i *Index) { i.Gates[0].Fingerprint = digest[:12] },
		"too large":            func(i *Index) { i.Gates[0].Live[0].Exclude = []string{strings.Repeat("x", maxFile)} },
	} {
		i := example()
		spoil(i)
		if data, err := i.Marshal(); err == nil {
			t.Errorf("%s: got %.100q, want an error", name, data)
		}
	}
}

func TestForUID(t *testing.T) {
	i := &Index{Gates: []IndexGate{{Gate: "a", UID: 1}, {Gate: "b", UID: 2}, {Gate: "c", UID: 1}}}
	for uid, want := range map[uint32]string{0: "", 1: "ac", 2: "b"} {
		got := ""
		for _, g := range i.ForUID(uid) {
			got += g.Gate
		}
		if got != want {
			t.Errorf("uid %d: gates %q, want %q", uid, got, want)
		}
	}
}

// Only a file that is not there means that there is no warden. All else must make the caller deny.
func TestReadIndexTellsMissingFromBroken(t *testing.T) {
	good, err := example().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		missing bool
		want    string // of the error; empty for none
	}{
		"whole":        {prepare: func(t *testing.T, path string) { put(t, path, good, 0o644) }},
		"missing":      {prepare: func(*testing.T, string) {}, missing: true, want: "no such file"},
		"empty":        {prepare: func(t *testing.T, path string) { put(t, path, nil, 0o644) }, want: "unexpected EOF"},
		"writable":     {prepare: func(t *testing.T, path string) { put(t, path, good, 0o664) }, want: "can be written by others"},
		"a fifo":       {prepare: makeFIFO, want: "is not a regular file"},
		"too large":    {prepare: func(t *testing.T, path string) { put(t, path, make([]byte, maxFile+1), 0o644) }, want: "is larger than"},
		"a link":       {prepare: func(t *testing.T, path string) { put(t, path+"2", good, 0o644); link(t, path+"2", path) }, want: "too many levels"},
		"a dead link":  {prepare: func(t *testing.T, path string) { link(t, path+"2", path) }, want: "too many levels"},
		"a directory":  {prepare: func(t *testing.T, path string) { link(t, ".", filepath.Dir(path)+"/x"); mkdir(t, path) }, want: "is not a regular file"},
		"not a parent": {prepare: func(t *testing.T, path string) { os.Remove(filepath.Dir(path)); put(t, filepath.Dir(path), nil, 0o644) }, want: "not a directory"},
		"somebody else's": {prepare: func(t *testing.T, path string) {
			needRoot(t)
			put(t, path, good, 0o644)
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}, want: "belongs to uid 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "etc", "gates.json")
			mkdir(t, filepath.Dir(path))
			test.prepare(t, path)
			got, err := ReadIndex(path)
			if test.want == "" {
				if diff := cmp.Diff(example(), got); err != nil || diff != "" {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				return
			}
			if err == nil || got != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v; want an error with %q", got, err, test.want)
			}
			if errors.Is(err, fs.ErrNotExist) != test.missing {
				t.Errorf("%v: taken for a missing file: %t", err, !test.missing)
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	good, err := example().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "{}", "null", "[[", `{"gates":[{}]}`, `{"a":1,"a":2}`, `{"":{"":{}}}`, string(good)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := ParseIndex(data)
		if err != nil {
			return
		}
		again, err := i.Marshal()
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		if back, err := ParseIndex(again); err != nil || !cmp.Equal(i, back) {
			t.Fatalf("written otherwise (%v):\n%s", err, cmp.Diff(i, back))
		}
	})
}

func BenchmarkReadIndex(b *testing.B) {
	data, err := example().Marshal()
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "gates.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ReadIndex(path); err != nil {
			b.Fatal(err)
		}
	}
}

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
