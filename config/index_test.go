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
		got, err := parseIndex(data)
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
	when := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "seconds"), 1).UTC()
	})
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
			g.Accepted, g.Tree = path.Draw(t, "accepted"), tree.Draw(t, "tree")
			g.Fingerprint = tree.Draw(t, "fingerprint")
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
	edit := func(old, new string) string {
		if edited := strings.Replace(good, old, new, 1); edited != good {
			return edited
		}
		t.Fatalf("nothing to replace: %s", old)
		return ""
	}
	const uid, at = `"uid": 1000`, "2026-11-30T08:00:00.000000005Z"
	for name, test := range map[string]struct{ file, want string }{
		"empty":             {"", "unexpected EOF"},
		"cut short":         {good[:len(good)/2], "unexpected EOF"},
		"two documents":     {good + good, "there is more after the end of the document"},
		"text behind":       {good + "x", "there is more after the end of the document"},
		"null":              {"null", "there is a null"},
		"null for a list":   {edit(`"gates": [`, `"gates": null, "x": [`), "there is a null"},
		"a list":            {"[]", "cannot unmarshal array"},
		"not UTF-8":         {edit("agent-1", "agent-\xff"), "it is not valid UTF-8"},
		"deep":              {strings.Repeat("[", 1<<19), "nested more than 8 deep"},
		"an unknown key":    {edit(`"host"`, `"hots"`), `unknown field "hots"`},
		"a key twice":       {edit(uid, uid+`, "uid": 1001`), `the key "uid" is there twice`},
		"a key in escapes":  {edit(uid, uid+`, "\u0075id": 1001`), `the key "uid" is there twice`},
		"a key in capitals": {edit(uid, `"UID": 1000`), `the key "UID" is there twice or in another case`},

		"another schema": {edit("index/v1", "index/v2"), `schema: "gatehouse/index/v2" is not gatehouse/index/v1`},
		"no host":        {edit("agent-1", ""), "host: "},
		"no time":        {edit(`"written_at": "`+at+`",`, ""), "written_at: is missing"},

		"no uid":                {edit(uid+",", ""), "gates[0].uid: is missing"},
		"a negative uid":        {edit(uid, `"uid": -1`), "cannot unmarshal number -1"},
		"a uid in text":         {edit(uid, `"uid": "1000"`), "cannot unmarshal string"},
		"no decision":           {edit(`"accepted"`, `""`), "gates[0].decide: "},
		"another decision":      {edit(`"accepted"`, `"allow"`), `gates[0].decide: "allow" is none of`},
		"a bad gate":            {edit(`"claude"`, `"../x"`), "gates[0].gate: "},
		"a bad user":            {edit(`"agent"`, `"a:b"`), "gates[0].user: "},
		"an accepted elsewhere": {edit("/var/lib/gatehouse/accepted", "../accepted"), "gates[0].accepted: "},
		"no accepted":           {edit("/var/lib/gatehouse/accepted/claude", ""), "gates[0].accepted: "},
		"a short tree":          {edit(digest, digest[1:]), "gates[0].tree: "},
		"a tree in capitals":    {edit(digest, strings.ToUpper(digest)), "gates[0].tree: "},
		"an export elsewhere":   {edit("/var/lib/gatehouse-export/", "/x/../"), "gates[0].export: "},
		"a root elsewhere":      {edit("/home/agent/", ""), "gates[0].live[0].root: "},
		"a bad live name":       {edit(`"policy"`, `"a/b"`), "gates[0].live[0].name: "},
		"no entries":            {edit(": 10000,", ": 0,"), "gates[0].limits.entries: "},
		"a negative size":       {edit("1048576", "-1"), "gates[0].limits.file: "},
		"no interval":           {edit("3600", "0"), "gates[0].interval_seconds: "},
		"an endless interval":   {edit("3600", "9223372036854775807"), "gates[0].interval_seconds: is too large"},
		"half a second":         {edit("3600", "0.5"), "cannot unmarshal number 0.5"},
		"a bad result":          {edit(`"behind"`, `"be hind"`), "gates[0].result: "},
		"a restore to nothing":  {edit(`"to": "`+digest, `"to": "`), "gates[0].restore.to: "},
		"a restore at no time":  {edit(",\n        \"at\": \""+at+`"`, ""), "gates[0].restore.at: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseIndex([]byte(test.file))
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
		"whole":       {func(t *testing.T, path string) { put(t, path, good, 0o644) }, false, ""},
		"missing":     {func(*testing.T, string) {}, true, "no such file"},
		"empty":       {func(t *testing.T, path string) { put(t, path, nil, 0o644) }, false, "unexpected EOF"},
		"writable":    {func(t *testing.T, path string) { put(t, path, good, 0o664) }, false, "can be written by others"},
		"too large":   {func(t *testing.T, path string) { put(t, path, make([]byte, maxFile+1), 0o644) }, false, "is larger than"},
		"a fifo":      {makeFIFO, false, "is not a regular file"},
		"a directory": {mkdir, false, "is not a regular file"},
		"a dead link": {func(t *testing.T, path string) { link(t, "nowhere", path) }, false, "too many levels"},
		"a link": {func(t *testing.T, path string) {
			put(t, path+"2", good, 0o644)
			link(t, path+"2", path)
		}, false, "too many levels"},
		"below a file": {func(t *testing.T, path string) {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Dir(path), nil, 0o644)
		}, false, "not a directory"},
		"somebody else's": {func(t *testing.T, path string) {
			needRoot(t)
			put(t, path, good, 0o644)
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}, false, "belongs to uid 65534"},
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
		i, err := parseIndex(data)
		if err != nil {
			return
		}
		again, err := i.Marshal()
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		if back, err := parseIndex(again); err != nil || !cmp.Equal(i, back) {
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
