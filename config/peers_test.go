package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/manifest"
)

// Public keys of hosts, as "warden peers key" prints them.
const (
	keyA = "ed25519:89lmU4Izz4C/+iGulkMLPKgQ9XlKKFhnrb6uzKVTjVI="
	keyB = "ed25519:Hl5vO6sYrGdy1CR0o9J5/aDKJEsgV3eJcASM1HKDCJM="
)

func TestPeers(t *testing.T) {
	hosts := fmt.Sprintf("  hosts: [{name: h, key: %q}, {name: b, key: %q, interval: 30m}]\n", keyA, keyB)
	known := []Peer{{Name: "h", Key: keyA}, {Name: "b", Key: keyB, Interval: 30 * time.Minute}}
	defaults := manifest.Limits{Entries: 10000, File: 1 << 20, Total: 64 << 20}
	for name, test := range map[string]struct {
		file  string
		want  *Peers
		fleet []FleetGate
		ping  Ping
	}{
		"a directory": {
			file: "peers:\n  exchange: {directory: /srv/ex}\n" + hosts,
			want: &Peers{Key: "file:/s/peers/host.key", Exchange: Exchange{Directory: "/srv/ex"}, Interval: time.Hour, Grace: 15 * time.Minute, Hosts: known},
		},
		"nobody is watched": {
			file: "peers: {exchange: {directory: /srv/ex}, key: file:/k}\n",
			want: &Peers{Key: "file:/k", Exchange: Exchange{Directory: "/srv/ex"}, Interval: time.Hour, Grace: 15 * time.Minute},
		},
		"everything": {
			file: "peers:\n  key: credential:host-key\n  exchange:\n    nats: {servers: [\"tls://n1.example:4222\", \"tls://[::1]:4222\"], ca: /etc/gatehouse/ca.pem, seed: credential:nats-seed}\n" +
				"  interval: 2h\n  grace: 1m\n  follow: b\n" + hosts +
				"fleet:\n- {gate: claude}\n- {gate: codex, hosts: [b], interval: 6h, limits: {entries: 5}}\nping: credential:ping\n",
			want: &Peers{
				Key: "credential:host-key", Interval: 2 * time.Hour, Grace: time.Minute, Hosts: known, Follow: "b",
				Exchange: Exchange{NATS: &NATS{Servers: []string{"tls://n1.example:4222", "tls://[::1]:4222"}, CA: "/etc/gatehouse/ca.pem", Seed: "credential:nats-seed"}},
			},
			fleet: []FleetGate{
				{Gate: "claude", Hosts: []string{"b"}, Interval: time.Hour, Limits: defaults},
				{Gate: "codex", Hosts: []string{"b"}, Interval: 6 * time.Hour, Limits: manifest.Limits{Entries: 5, File: 1 << 20, Total: 64 << 20}},
			},
			ping: "credential:ping",
		},
		"nats on this machine": {
			file: "peers: {exchange: {nats: {servers: [\"nats://127.0.0.1:4222\"], seed: file:/seed}}}\n",
			want: &Peers{Key: "file:/s/peers/host.key", Interval: time.Hour, Grace: 15 * time.Minute,
				Exchange: Exchange{NATS: &NATS{Servers: []string{"nats://127.0.0.1:4222"}, Seed: "file:/seed"}}},
		},
		"only a ping": {file: "ping: https://hc.example/abc\n", ping: "https://hc.example/abc"},
	} {
		got, err := Parse("w.yaml", []byte(head+"state: /s\n"+oneGate+test.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, got.Peers); diff != "" {
			t.Errorf("%s: peers (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.fleet, got.Fleet); diff != "" {
			t.Errorf("%s: fleet (-want +got):\n%s", name, diff)
		}
		if got.Ping != test.ping {
			t.Errorf("%s: ping %q, want %q", name, got.Ping, test.ping)
		}
	}
}

func TestBadPeers(t *testing.T) {
	const ex = "  exchange: {directory: /srv/ex}\n"
	for name, test := range map[string]struct {
		file string
		want []string // lines, each after "w.yaml:"; the first line of file is 9
	}{
		"nothing in it":    {"peers: {}\n", []string{"9: peers.exchange: is required"}},
		"an unknown key":   {"peers:\n" + ex + "  host: []\n", []string{`11: peers.host: unknown key; did you mean "hosts"?`}},
		"no exchange":      {"peers: {exchange: {}}\n", []string{"9: peers.exchange: needs directory or nats"}},
		"two of them":      {"peers: {exchange: {directory: /srv/ex, nats: {servers: [\"tls://n\"], seed: env:S}}}\n", []string{"9: peers.exchange: directory and nats exclude each other; remove one"}},
		"a relative place": {"peers: {exchange: {directory: ex}}\n", []string{`9: peers.exchange.directory: "ex" must be an absolute path`}},
		"where agents write": {"peers: {exchange: {directory: /p/ex}}\n", []string{
			`9: peers.exchange.directory: "/p/ex" lies in the live root "p", "/p"`}},
		"where exports lie": {"peers: {exchange: {directory: /var/lib/gatehouse-export}}\n", []string{
			`9: peers.exchange.directory: "/var/lib/gatehouse-export" holds the export of gates[0], "/var/lib/gatehouse-export/a"`}},
		"in the state": {"peers: {exchange: {directory: /var/lib/gatehouse/ex}}\n", []string{
			`9: peers.exchange.directory: "/var/lib/gatehouse/ex" lies in the state, "/var/lib/gatehouse"`}},
		"a key that is written down": {"peers:\n" + ex + "  key: ed25519-private:abc\n", []string{
			"11: peers.key: a secret is named here, not written: credential:NAME, env:NAME or file:/PATH"}},
		"a key in a variable": {"peers:\n" + ex + "  key: env:KEY\n", []string{
			"11: peers.key: a private key is kept in a file: credential:NAME or file:/PATH"}},
		"no server":        {"peers: {exchange: {nats: {servers: [], seed: env:S}}}\n", []string{"9: peers.exchange.nats.servers: must not be empty"}},
		"no seed":          {"peers: {exchange: {nats: {servers: [\"tls://n:1\"]}}}\n", []string{"9: peers.exchange.nats.seed: is required"}},
		"another protocol": {"peers: {exchange: {nats: {servers: [\"http://n:1\"], seed: env:S}}}\n", []string{"9: peers.exchange.nats.servers[0]: must be an address such as tls://nats.example:4222"}},
		"a password in it": {"peers: {exchange: {nats: {servers: [\"tls://u:p@n:1\"], seed: env:S}}}\n", []string{
			"9: peers.exchange.nats.servers[0]: must not have a user or password in it; the seed says who this host is"}},
		"over the network in the clear": {"peers: {exchange: {nats: {servers: [\"nats://10.0.0.1:4222\", \"nats://localhost:4222\"], seed: env:S}}}\n", []string{
			`9: peers.exchange.nats.servers[0]: "nats://10.0.0.1:4222" goes over the network unencrypted; write tls:// (nats:// is for 127.0.0.1)`}},
		"times": {"peers:\n" + ex + "  interval: 1 hour\n  grace: 10s\n", []string{
			`11: peers.interval: "1 hour" is not a duration; write 1h, 90m or 1h30m`, "12: peers.grace: must be at least 1m and at most 8760h, not 10s"}},
		"keys of hosts": {"peers:\n" + ex + "  hosts:\n  - {name: b, key: ed25519:abc}\n  - {name: c}\n  - {name: d, key: " + keyA[8:] + "}\n  - {name: e, key: \"ed25519-private:89lmU4Izz4C/+iGulkMLPKgQ9XlKKFhnrb6uzKVTjVI=\"}\n", []string{
			`12: peers.hosts[0].key: "ed25519:abc" is no public key; warden peers key prints that of a host, beginning with ed25519:`,
			"13: peers.hosts[1].key: is required",
			`14: peers.hosts[2].key: "` + keyA[8:] + `" is no public key; warden peers key prints that of a host, beginning with ed25519:`,
			`15: peers.hosts[3].key: is no public key; warden peers key prints that of a host, beginning with ed25519:`}},
		"hosts that are there twice": {fmt.Sprintf("peers:\n%s  hosts:\n  - {name: b, key: %q}\n  - {name: b, key: %q}\n", ex, keyA, keyA), []string{
			`13: peers.hosts[1].key: is also the key of peers.hosts[0]; each host has its own`,
			`13: peers.hosts[1].name: "b" is also the name of peers.hosts[0]`}},
		"whom it follows":      {fmt.Sprintf("peers:\n%s  follow: c\n  hosts: [{name: b, key: %q}]\n", ex, keyA), []string{`11: peers.follow: "c" is none of peers.hosts; its key has to be known`}},
		"itself":               {"peers:\n" + ex + "  follow: h\n", []string{`11: peers.follow: "h" is this host itself`}},
		"a fleet of nobody":    {"fleet: [{gate: claude}]\n", []string{"9: fleet: needs peers.hosts, with another host and its key"}},
		"a fleet of this host": {fmt.Sprintf("fleet: [{gate: claude}]\npeers:\n%s  hosts: [{name: h, key: %q}]\n", ex, keyA), []string{"9: fleet: needs peers.hosts, with another host and its key"}},
		"hosts of a fleet": {fmt.Sprintf("fleet:\n- {gate: x, hosts: [b, h, c, b]}\n- {gate: x}\n- {hosts: [b]}\npeers:\n%s  hosts: [{name: b, key: %q}]\n", ex, keyA), []string{
			`10: fleet[0].hosts[1]: "h" is this host itself; its gates stand in gates`,
			`10: fleet[0].hosts[2]: "c" is none of peers.hosts; its key has to be known`,
			`10: fleet[0].hosts[3]: "b" is there twice`,
			`11: fleet[1].gate: "x" is also the gate of fleet[0]`,
			"12: fleet[2].gate: is required"}},
		"a ping of another kind": {"ping: ftp://x\n", []string{
			"9: ping: must be an http or https address without user or password, or the place of one: credential:NAME, env:NAME or file:/PATH"}},
		"a ping with a password": {"ping: https://u:p@x/\n", []string{
			"9: ping: must be an http or https address without user or password, or the place of one: credential:NAME, env:NAME or file:/PATH"}},
	} {
		_, err := Parse("w.yaml", []byte(head+oneGate+test.file))
		var got []string
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				got = append(got, strings.TrimPrefix(line, "w.yaml:"))
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAKeyThatAnybodyCanSignForIsRefused(t *testing.T) {
	// A signature that needs no private key: it is good where a multiple of the key, as the text decides, is nothing.
	forged := make([]byte, ed25519.SignatureSize)
	forged[0] = 1
	good, err := base64.StdEncoding.DecodeString(keyA[len(peerKeyPrefix):])
	if err != nil {
		t.Fatal(err)
	}
	weak := 0
	for _, point := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"5866666666666666666666666666666666666666666666666666666666666666", // the base point
		hex.EncodeToString(good),
	} {
		for _, sign := range []byte{0, 0x80} {
			key, err := hex.DecodeString(point)
			if err != nil {
				t.Fatal(err)
			}
			key[31] ^= sign
			anybody := false
			for i := 0; i < 256 && !anybody; i++ {
				anybody = ed25519.Verify(key, []byte{byte(i)}, forged)
			}
			refused := publicKey(peerKeyPrefix+base64.StdEncoding.EncodeToString(key)) != ""
			if anybody && !refused || point[:4] == "5866" && refused {
				t.Errorf("%x: anybody signs: %v, refused: %v", key, anybody, refused)
			}
			if anybody {
				weak++
			}
		}
	}
	if weak < 10 {
		t.Errorf("only %d of the keys are weak", weak)
	}
	if why := publicKey(keyA + "\n"); why == "" {
		t.Error("a line break in a key is passed over here, and not where it is used")
	}
}

func TestPingAddress(t *testing.T) {
	t.Setenv("GOOD", "https://hc.example/secret")
	t.Setenv("BAD", "hc.example/secret")
	for p, want := range map[Ping]string{
		"https://hc.example/x": "https://hc.example/x",
		"env:GOOD":             "https://hc.example/secret",
		"env:BAD":              "",
		"env:UNSET":            "",
	} {
		got, err := p.URL()
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", p, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret/") {
			t.Errorf("%s: the error repeats the address: %v", p, err)
		}
	}
	if Ping("https://x").Secret() != "" || Ping("env:X").Secret() != "env:X" {
		t.Error("where the address is kept")
	}
}

func TestDeadlineIsTwoBeatsAndGrace(t *testing.T) {
	p := &Peers{Interval: time.Hour, Grace: 15 * time.Minute}
	if got := p.Deadline(Peer{}); got != 2*time.Hour+15*time.Minute {
		t.Errorf("got %v", got)
	}
	if got := p.Deadline(Peer{Interval: 10 * time.Minute}); got != 35*time.Minute {
		t.Errorf("got %v", got)
	}
}
