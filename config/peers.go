package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/document"
)

// Peers is how this host and others watch each other.
type Peers struct {
	Key      Secret // the private key that signs what this host says; file:STATE/peers/host.key unless another is named
	Exchange Exchange
	Interval time.Duration // the longest time between two passes of a host that is well
	Grace    time.Duration // what timers, a slow pass and the network may add to it
	Hosts    []Peer        // whom this host watches; it may stand among them itself, so that all can share one list
	Follow   string        // the host whose accepted gates this one takes over, empty for none
}

// Deadline is how long nothing is heard of a host before it is silent: two beats that did not come.
func (p *Peers) Deadline(h Peer) time.Duration {
	interval := p.Interval
	if h.Interval != 0 {
		interval = h.Interval
	}
	return 2*interval + p.Grace
}

// A Peer is a host that is watched.
type Peer struct {
	Name     string
	Key      string        // "ed25519:" and the public key in base64; "warden peers key" prints it there
	Interval time.Duration // 0: as Peers has it
}

// peerKeyPrefix stands before a host's public key.
const peerKeyPrefix = "ed25519:"

// An Exchange is where hosts leave things for each other. Exactly one of the two is set.
type Exchange struct {
	Directory string
	NATS      *NATS
}

// NATS is a cluster with JetStream.
type NATS struct {
	Servers []string // tls://HOST:PORT, or nats://127.0.0.1:PORT
	CA      string   // file with the certificates that its own must come from; empty: those of the system
	Seed    Secret   // this host's nkey
}

// A Ping is the address outside that expects to be asked for after each completed pass, or where that is kept. The zero
// Ping is none.
type Ping string

// URL fetches the address.
func (p Ping) URL() (string, error) {
	if !Secret(p).valid() {
		return string(p), nil
	}
	address, err := Secret(p).Read()
	if err != nil {
		return "", err
	}
	if why := webURL(address); why != "" {
		return "", fmt.Errorf("read secret %s: the address %s", p, why)
	}
	return address, nil
}

// Secret is where the address is kept, empty where it stands in the file.
func (p Ping) Secret() Secret {
	if Secret(p).valid() {
		return Secret(p)
	}
	return ""
}

func (p *Ping) read(v document.Value) {
	s, ok := v.Text()
	switch {
	case !ok:
	case !Secret(s).valid() && webURL(s) != "":
		v.Bad("must be an http or https address without user or password, or the place of one: credential:NAME, env:NAME or file:/PATH")
	default:
		*p = Ping(s)
	}
}

func (c *Config) readPeers(v document.Value) {
	p := &Peers{Interval: defaultInterval, Grace: 15 * time.Minute}
	c.Peers = p
	v.Mapping([]document.Field{
		document.May("key", secret(&p.Key)),
		document.Need("exchange", p.Exchange.read),
		document.May("interval", duration(&p.Interval)),
		document.May("grace", duration(&p.Grace)),
		document.May("hosts", list(&p.Hosts, (*Peer).read)),
		document.May("follow", text(&p.Follow, hostName)),
	})
	if strings.HasPrefix(string(p.Key), "env:") {
		v.Doc.Bad(document.SubKey(v.Key, "key"), "a private key is kept in a file: credential:NAME or file:/PATH")
	}
}

func (p *Peer) read(v document.Value) {
	v.Mapping([]document.Field{
		document.Need("name", text(&p.Name, hostName)),
		document.Need("key", text(&p.Key, publicKey)),
		document.May("interval", duration(&p.Interval)),
	})
}

func (e *Exchange) read(v document.Value) {
	v.Mapping([]document.Field{
		document.May("directory", text(&e.Directory, absolute)),
		document.May("nats", func(v document.Value) {
			e.NATS = new(NATS)
			v.Mapping([]document.Field{
				document.Need("servers", list(&e.NATS.Servers, func(to *string, v document.Value) { text(to, natsServer)(v) })),
				document.May("ca", text(&e.NATS.CA, absolute)),
				document.Need("seed", secret(&e.NATS.Seed)),
			})
		}),
	})
	directory, nats := v.Doc.Has(document.SubKey(v.Key, "directory")), v.Doc.Has(document.SubKey(v.Key, "nats"))
	switch {
	case directory && nats:
		v.Bad("directory and nats exclude each other; remove one")
	case !directory && !nats:
		v.Bad("needs directory or nats")
	}
}

// checkPeers holds the section against the rest. What agents can write is no place to leave things in for other hosts.
func (c *Config) checkPeers(doc *document.Document, exports, lives, ours []place) {
	p := c.Peers
	var names []string
	keys := make(map[string]int)
	for i, h := range p.Hosts {
		names = append(names, h.Name)
		if at, again := keys[h.Key]; again && h.Key != "" {
			doc.Bad(fmt.Sprintf("peers.hosts[%d].key", i), "is also the key of peers.hosts[%d]; each host has its own", at)
		} else {
			keys[h.Key] = i
		}
	}
	once(doc, "peers.hosts", names)
	switch {
	case p.Follow == "":
	case p.Follow == c.Host:
		doc.Bad("peers.follow", "%q is this host itself", p.Follow)
	case !slices.Contains(names, p.Follow):
		doc.Bad("peers.follow", "%q is none of peers.hosts; its key has to be known", p.Follow)
	}
	if p.Exchange.Directory != "" {
		at := []place{{"peers.exchange.directory", p.Exchange.Directory, "the exchange"}}
		apart(doc, at, exports)
		apart(doc, at, lives)
		apart(doc, at, ours)
	}
}

func publicKey(s string) string {
	encoded, ok := strings.CutPrefix(s, peerKeyPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	const want = "is no public key; warden peers key prints that of a host, beginning with " + peerKeyPrefix
	switch {
	case strings.Contains(s, "private"): // it is not repeated
		return want
	case !ok, err != nil, len(key) != ed25519.PublicKeySize, base64.StdEncoding.EncodeToString(key) != encoded:
		return fmt.Sprintf("%q %s", s, want)
	case ofLowOrder(key):
		return fmt.Sprintf("%q is no public key of a host: anybody can sign for it; warden peers key prints that of a host", s)
	}
	return ""
}

// ofLowOrder reports whether a key, such as one of zeros that holds a place, is one of the few points P for which anybody
// can make signatures: 8P is nothing. Then y is 0, 1 or -1, or 121665y⁴ - 243332y² + 121666 = 0.
func ofLowOrder(key []byte) bool {
	bytes := slices.Clone(key)
	bytes[len(bytes)-1] &= 0x7f // the sign of x
	slices.Reverse(bytes)
	prime := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	times := func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
	y := new(big.Int).SetBytes(bytes)
	y2 := times(y, y)
	y4 := times(y2, y2)
	order8 := new(big.Int).Sub(times(y4, big.NewInt(121665)), times(y2, big.NewInt(243332)))
	order8.Add(order8, big.NewInt(121666))
	all := times(times(y, new(big.Int).Sub(y2, big.NewInt(1))), order8)
	return all.Mod(all, prime).Sign() == 0
}

// natsServer accepts what the traffic to cannot be read on the way.
func natsServer(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "tls" && u.Scheme != "nats" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "":
		return "must be an address such as tls://nats.example:4222"
	case u.User != nil:
		return "must not have a user or password in it; the seed says who this host is"
	case u.Scheme == "nats" && !loopback(u.Hostname()):
		return fmt.Sprintf("%q goes over the network unencrypted; write tls:// (nats:// is for 127.0.0.1)", s)
	}
	return ""
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
