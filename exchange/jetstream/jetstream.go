// Package jetstream is the exchange over NATS JetStream, for a fleet.
//
// The servers, which warden-exchange runs (exchange/server), hold five streams that keep the last message of each subject.
// A subject names the host that may write it, and the servers let no other host do so. What this client asks of them:
//
//   - put: publish, and wait for the acknowledgement, which a stream of three replicas gives when two have the message;
//   - get a statement: ask the stream's leader, so that an old value is not taken for the newest;
//   - list: ask the leader for the last sequence under the key, then read in batches, from any replica, until that
//     sequence was seen. A replica that lags behind is asked again; without a leader nothing is known (ErrUnavailable);
//   - objects: chunks of half a megabyte, each under a subject of its own. Their name is the hash of the whole, which Get
//     checks, so any replica will do;
//   - claim: read the claims of an id, and store one on the condition that none was stored since.
//
// What a host stores it also gives headers, and a replica hands them out among its own, in which it says whose the message
// is and which comes next. So messages with headers of a host's own are not taken from replicas, but asked for singly from
// the leader, who keeps the two apart (stored.go): no host can speak as another so, hide one, or end a list for everybody.
//
// Hosts create no consumers and may not: a hostile one could exhaust the servers with them, or have them deliver to
// others. Connecting anew, finding another server and buffering meanwhile are the library's. A request whose answer does
// not come is sent again until the context ends; each of them is harmless when it arrives twice.
//
// jetstream knows exchange. It has the names that exchange/server needs too.
package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"gatehouse/exchange"
)

// Options say where the servers are and who this host is.
type Options struct {
	Host    string   // as the servers know it
	Servers []string // tls://HOST:PORT, all nodes of the cluster; nats://127.0.0.1:PORT without TLS, on loopback only
	CA      []byte   // the certificates, in PEM, that the servers' certificates must lead to; none means the system's
	Seed    []byte   // the host's nkey seed, SU…

	Tries time.Duration // how long to wait for an answer before asking again; 0 means two seconds
}

// The deadlines of what is called without one.
const (
	connectTime = 10 * time.Second
	requestTime = 15 * time.Second
	sweepTime   = 2 * time.Minute
)

// An Exchange is a connection to the servers, and an exchange.Exchange.
type Exchange struct {
	host    string
	nc      *nats.Conn
	js      jetstream.JetStream
	try     time.Duration
	refused *refusals
}

// Connect connects to one of the servers. It fails with ErrUnavailable where none answers, and with ErrForbidden where
// they do not know this host. Later, a lost connection is made anew for as long as it takes.
func Connect(ctx context.Context, o Options) (*Exchange, error) {
	opts, err := o.natsOptions()
	if err != nil {
		return nil, fmt.Errorf("connect to the exchange: %w", err)
	}
	where := strings.Join(o.Servers, ", ")
	ctx, cancel := context.WithTimeout(ctx, connectTime) // whoever has more time needs it for something else
	defer cancel()
	x := &Exchange{host: o.Host, try: o.Tries, refused: new(refusals)}
	if x.try <= 0 {
		x.try = 2 * time.Second
	}
	opts.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) { x.refused.note(err) }
	if deadline, ok := ctx.Deadline(); ok {
		opts.Timeout = max(time.Until(deadline)/time.Duration(len(o.Servers)), time.Millisecond)
	}
	type result struct {
		nc  *nats.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		nc, err := opts.Connect()
		done <- result{nc, err}
	}()
	var got result
	select {
	case got = <-done:
	case <-ctx.Done():
		go func() { // the library takes no context; what it still connects is closed
			if late := <-done; late.nc != nil {
				late.nc.Close()
			}
		}()
		got.err = ctx.Err()
	}
	if got.err != nil {
		return nil, fmt.Errorf("connect to %s: %w", where, meaning(got.err))
	}
	x.nc = got.nc
	if x.js, err = jetstream.New(x.nc); err == nil {
		err = x.hears(ctx)
	}
	if err != nil {
		x.nc.Close()
		return nil, fmt.Errorf("connect to %s: %w", where, err)
	}
	return x, nil
}

// hears makes sure that answers come through: the servers give them to the host whose seed it is, and no other. Without
// this, a host with another's seed would wait for each answer in vain.
func (x *Exchange) hears(ctx context.Context) error {
	sub, err := x.nc.SubscribeSync(x.nc.NewRespInbox())
	if err != nil {
		return meaning(err)
	}
	defer sub.Unsubscribe()
	if err := x.nc.FlushWithContext(ctx); err != nil {
		return meaning(err)
	}
	if err := x.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return fmt.Errorf("%w: the seed is not that of the host %q: %w", exchange.ErrForbidden, x.host, err)
	}
	return nil
}

// Close ends the connection.
func (x *Exchange) Close() { x.nc.Close() }

func (o Options) natsOptions() (nats.Options, error) {
	opts := nats.GetDefaultOptions()
	if err := exchange.CheckHost(o.Host); err != nil {
		return opts, err
	}
	secure, err := o.checkServers()
	if err != nil {
		return opts, err
	}
	pair, err := nkeys.FromSeed(o.Seed)
	if err != nil {
		return opts, fmt.Errorf("the seed is no nkey seed: %w", err)
	}
	if opts.Nkey, err = pair.PublicKey(); err != nil {
		return opts, err
	}
	opts.SignatureCB = pair.Sign
	opts.Servers = o.Servers
	opts.Name = "gatehouse " + o.Host
	opts.InboxPrefix = Inbox(o.Host)
	opts.MaxReconnect = -1
	opts.ReconnectWait = 500 * time.Millisecond
	opts.PingInterval = 10 * time.Second
	opts.IgnoreDiscoveredServers = true // who the servers are is for the operator to say
	opts.IgnoreAuthErrorAbort = true    // a host that is added anew gets in without a restart of its warden
	if secure {
		opts.Secure = true
		opts.TLSHandshakeFirst = true
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13}
		if len(o.CA) > 0 {
			opts.TLSConfig.RootCAs = x509.NewCertPool()
			if !opts.TLSConfig.RootCAs.AppendCertsFromPEM(o.CA) {
				return opts, errors.New("the CA has no certificate in PEM")
			}
		}
	}
	return opts, nil
}

// checkServers refuses to speak without TLS to anything but this machine.
func (o Options) checkServers() (secure bool, err error) {
	if len(o.Servers) == 0 {
		return false, errors.New("no server is given")
	}
	for i, server := range o.Servers {
		u, err := url.Parse(server)
		if err != nil || u.Host == "" || u.User != nil || (u.Path != "" && u.Path != "/") {
			return false, fmt.Errorf("server %q is not tls://HOST:PORT", server)
		}
		switch ip := net.ParseIP(u.Hostname()); {
		case u.Scheme == "tls":
		case u.Scheme != "nats":
			return false, fmt.Errorf("server %q is not tls://HOST:PORT", server)
		case ip == nil || !ip.IsLoopback():
			return false, fmt.Errorf("server %q: without TLS only a loopback address is spoken to; write tls://%s", server, u.Host)
		}
		if tls := u.Scheme == "tls"; i > 0 && tls != secure {
			return false, errors.New("some servers are with TLS and some without")
		}
		secure = u.Scheme == "tls"
	}
	return secure, nil
}

func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
