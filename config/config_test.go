package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/manifest"
)

// The examples in the documentation are the ones that are known to work.
func TestDocumentedExamples(t *testing.T) {
	doc, err := os.ReadFile("../docs/warden-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := fenced(string(doc), "yaml")
	if len(examples) != 2 {
		t.Fatalf("got %d examples, want the full one and the least one", len(examples))
	}

	gate := Gate{
		Name:     "claude",
		User:     "agent",
		Decide:   DecideAccepted,
		Export:   "/var/lib/gatehouse-export/claude",
		Live:     []manifest.Live{{Name: "policy", Root: "/home/agent/.config/gatehouse"}},
		Witness:  true,
		Interval: time.Hour,
		Limits:   manifest.Limits{Entries: 10000, File: 1 << 20, Total: 64 << 20},
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	least := &Config{
		Version:    1,
		Host:       strings.ToLower(host),
		Repository: "/srv/gate",
		Vendored:   "vendor-gate",
		Index:      "/etc/gatehouse/gates.json",
		State:      "/var/lib/gatehouse",
		Gates:      []Gate{gate},
		Notify:     Notify{Journal: true},
		Schedule:   "@hourly",
	}
	full := *least
	full.Host = "agent-1"
	gate.Live = []manifest.Live{
		{Name: "policy", Root: "/home/agent/.config/gatehouse", Exclude: []string{"flags/**"}},
		{Name: "plugin", Root: "/home/agent/.openclaw/plugins/gatehouse"},
	}
	gate.LoadedBy = []LoadedBy{{Unit: "openclaw-gateway.service", Scope: ScopeUser, Files: []string{"plugin/**"}}}
	full.Gates = []Gate{gate}
	full.Notify = Notify{
		Slack:   &Slack{Channel: "#agents", Token: "credential:slack-token", APIURL: "https://slack.com/api/"},
		Webhook: &Webhook{URL: "https://alerts.example/gatehouse", Secret: "credential:webhook"},
		Journal: true,
	}
	full.Peers = &Peers{
		Key: "credential:host-key", Interval: time.Hour, Grace: 15 * time.Minute, Follow: "agent-2",
		Exchange: Exchange{NATS: &NATS{Servers: []string{"tls://nats-1.example:4222", "tls://nats-2.example:4222"},
			CA: "/etc/gatehouse/exchange-ca.pem", Seed: "credential:nats-seed"}},
		Hosts: []Peer{{Name: "agent-1", Key: keyA}, {Name: "agent-2", Key: keyB, Interval: 30 * time.Minute}},
	}
	full.Fleet = []FleetGate{{Gate: "claude", Hosts: []string{"agent-2"}, Interval: time.Hour, Limits: gate.Limits}}
	full.Ping = "credential:ping"
	for i, want := range []*Config{&full, least} {
		got, err := Parse("warden.yaml", []byte(examples[i]))
		if err != nil {
			t.Errorf("example %d: %v", i, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("example %d (-want +got):\n%s", i, diff)
		}
	}
}

func fenced(text, language string) (blocks []string) {
	for _, part := range strings.Split(text, "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block+"\n")
	}
	return blocks
}

func TestValuesInEverySpelling(t *testing.T) {
	got, err := Parse("warden.yaml", []byte(`%YAML 1.1
---
host: 'a.b_c-9'   # quoted
version: 1
repository: "/srv/gate"
vendored: ops/vendor-gate
gates:
- name: 0-a_b
  user: 1000
  live: [{name: p, root: /p, exclude: ["{a,b}/**", "[!x]*"]}]
  loaded_by: [{unit: 'foo@bar\x2d1.service', files: ["*/x", p]}]
  witness: false
  interval: 1h30m
  limits: {file: 10MB, total: 1GiB, entries: 5}
- name: b
  user: agent.smith
  decide: refuse
  live: [{name: p, root: /p, exclude: []}]
  loaded_by: []
  limits: {file: 65536}
notify: {journal: false, webhook: {url: "http://127.0.0.1:8080/x?y=1"}}
schedule: "*/5 * * * *"
...
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Version: 1, Host: "a.b_c-9", Repository: "/srv/gate", Vendored: "ops/vendor-gate",
		Index: DefaultIndex, State: "/var/lib/gatehouse", Schedule: "*/5 * * * *",
		Notify: Notify{Webhook: &Webhook{URL: "http://127.0.0.1:8080/x?y=1"}},
		Gates: []Gate{{
			Name: "0-a_b", User: "1000", Decide: DecideAccepted, Export: "/var/lib/gatehouse-export/0-a_b",
			Live:     []manifest.Live{{Name: "p", Root: "/p", Exclude: []string{"{a,b}/**", "[!x]*"}}},
			LoadedBy: []LoadedBy{{Unit: `foo@bar\x2d1.service`, Scope: ScopeSystem, Files: []string{"*/x", "p"}}},
			Interval: 90 * time.Minute,
			Limits:   manifest.Limits{Entries: 5, File: 10_000_000, Total: 1 << 30},
		}, {
			Name: "b", User: "agent.smith", Decide: DecideRefuse, Export: "/var/lib/gatehouse-export/b",
			Live:     []manifest.Live{{Name: "p", Root: "/p"}},
			Witness:  true,
			Interval: time.Hour,
			Limits:   manifest.Limits{Entries: 10000, File: 65536, Total: 64 << 20},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadBelievesOnlyFilesThatOthersCannotWrite(t *testing.T) {
	good := []byte("version: 1\nhost: h\nrepository: /srv/gate\ngates: [{name: a, user: u, live: [{name: p, root: /p}]}]\n")
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    string // of the error, after the path; empty for none
	}{
		"whole":   {func(t *testing.T, path string) { put(t, path, good, 0o644) }, ""},
		"private": {func(t *testing.T, path string) { put(t, path, good, 0o600) }, ""},
		"writable by group": {func(t *testing.T, path string) { put(t, path, good, 0o664) },
			" can be written by others (mode 0664) and is not believed; fix it with: chmod go-w "},
		"writable by all": {func(t *testing.T, path string) { put(t, path, good, 0o646) },
			" can be written by others (mode 0646) and is not believed; fix it with: chmod go-w "},
		"somebody else's": {func(t *testing.T, path string) {
			needRoot(t)
			put(t, path, good, 0o644)
			if err := os.Chown(path, 65534, 0); err != nil {
				t.Fatal(err)
			}
		}, " belongs to uid 65534 and is not believed; fix it with: chown root "},
		"a directory": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, " is not a regular file"},
		"a fifo":  {makeFIFO, " is not a regular file"},
		"missing": {func(*testing.T, string) {}, "no such file or directory"},
		"too large": {func(t *testing.T, path string) { put(t, path, make([]byte, maxFile+1), 0o644) },
			" is larger than 1048576 bytes"},
		"bad": {func(t *testing.T, path string) { put(t, path, []byte("version: 2\n"), 0o644) },
			":1: version: is 2; this program knows version 1 only"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "warden.yaml")
			test.prepare(t, path)
			got, err := Load(path)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && err == nil:
				t.Errorf("got %+v, want an error with %q", got, test.want)
			case err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path)):
				t.Errorf("got %q, want the path and %q", err, test.want)
			}
		})
	}
}

func TestUserIDs(t *testing.T) {
	for _, test := range []struct {
		user     string
		uid, gid uint32
		fails    bool
	}{
		{user: "root"},
		{user: "0"},
		{user: "nobody", uid: 65534, gid: 65534},
		{user: "no-such-user-here", fails: true},
	} {
		g := Gate{Name: "claude", User: test.user}
		uid, err := g.UID()
		gid, err2 := g.GID()
		if (err != nil) != test.fails || (err2 != nil) != test.fails || uid != test.uid || gid != test.gid {
			t.Errorf("%s: uid %d (%v), gid %d (%v); want %d, %d", test.user, uid, err, gid, err2, test.uid, test.gid)
		}
		if test.fails {
			const want = "gate claude: user: unknown user no-such-user-here; create the user, or change user in warden.yaml"
			if err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
		}
	}
	for user, want := range map[string]string{"root": "/root", "0": "/root", "no-such-user-here": ""} {
		if home, err := (Gate{User: user}).Home(); home != want || (err != nil) != (want == "") {
			t.Errorf("%s: home %q (%v), want %q", user, home, err, want)
		}
	}
	if uid, err := (Gate{User: "4000000000"}).UID(); err != nil || uid != 4000000000 {
		t.Errorf("a uid that nobody has: %d, %v", uid, err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: to give a file away")
	}
}

func put(t *testing.T, path string, data []byte, perm os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}
