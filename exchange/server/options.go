package server

import (
	"fmt"
	"strconv"
	"strings"

	nats "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// account holds the streams and all users.
const account = "GATEHOUSE"

// options are the server's, by its own parser, so that what it checks there is checked; the users, of whom there may be
// ten thousand, are added afterwards. The powerless are let in, and may do nothing.
func options(node Node, hosts, powerless []Host) (*nats.Options, error) {
	if err := node.check(); err != nil {
		return nil, err
	}
	opts := new(nats.Options)
	if err := opts.ProcessConfigString(configuration(node)); err != nil {
		return nil, err
	}
	opts.NoSigs = true // the program's own
	opts.DisableJetStreamBanner = true
	opts.AuthTimeout = 10 // seconds, which a busy machine may take between two lines
	var in *nats.Account
	for _, a := range opts.Accounts {
		if a.Name == account {
			in = a
		}
	}
	pair, err := nkeys.FromSeed(node.Admin)
	if err != nil {
		return nil, fmt.Errorf("the operator's seed: %w", err)
	}
	admin, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	opts.Nkeys = append(opts.Nkeys, &nats.NkeyUser{Nkey: admin, Account: in})
	for _, host := range hosts {
		opts.Nkeys = append(opts.Nkeys, &nats.NkeyUser{Nkey: host.Key, Account: in, Permissions: permissions(host.Name)})
	}
	for _, host := range powerless {
		opts.Nkeys = append(opts.Nkeys, &nats.NkeyUser{Nkey: host.Key, Account: in, Permissions: nothing()})
	}
	return opts, nil
}

// configuration is a file of nats-server's.
func configuration(n Node) string {
	size := n.Size
	if size == 0 {
		size = DefaultSize
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("server_name: %s", quote(n.Name))
	say("listen: %s", quote(n.listen()))
	say("max_payload: 1MB")
	say("max_control_line: 4KB")
	say("max_subscriptions: 256") // of one connection
	say("max_pending: 64MB")
	say(`write_deadline: "10s"`)
	say(`ping_interval: "20s"`)
	say("ping_max: 2")
	say("max_traced_msg_len: 64")
	if n.TLS != nil {
		say("tls { cert_file: %s, key_file: %s, min_version: %q, handshake_first: true, timeout: 5 }",
			quote(n.TLS.Cert), quote(n.TLS.Key), "1.3")
	}
	say("jetstream { store_dir: %s, max_file_store: %d, max_memory_store: 1, sync_interval: always }", quote(n.Store), size)
	if c := n.Cluster; c != nil {
		say("cluster {")
		say("name: gatehouse")
		say("listen: %s", quote(c.Listen))
		say("no_advertise: true") // to hosts, who know all nodes
		if c.Advertise != "" {
			say("advertise: %s", quote(c.Advertise))
		}
		say("tls { cert_file: %s, key_file: %s, ca_file: %s, verify: true, min_version: %q, timeout: 5 }",
			quote(n.TLS.Cert), quote(n.TLS.Key), quote(n.TLS.CA), "1.3")
		say("routes: [")
		for _, route := range c.Routes {
			say("%s", quote("tls://"+route))
		}
		say("]")
		say("}")
	}
	say("accounts { %s { jetstream: enabled }, SYS {} }", account)
	say("system_account: SYS")
	return b.String()
}

// listen writes port 0 as nats-server does.
func (n Node) listen() string {
	if at, ok := strings.CutSuffix(n.Listen, ":0"); ok {
		return at + ":-1"
	}
	return n.Listen
}

// quote writes a string for nats-server's parser, which knows these escapes.
func quote(s string) string { return strconv.Quote(s) }
