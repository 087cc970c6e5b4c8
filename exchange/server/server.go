// Package server runs the NATS server that carries the exchange of a fleet: one node, or one of three.
//
// It is the nats-server, embedded, with an operator's decisions made:
//
//   - who: hosts have an nkey each and no password; the operator's home directory says which (home.go). Without TLS a node
//     listens on loopback only. Nodes know each other by certificates of the operator's CA, which hosts do not have, so a
//     host cannot join as a node;
//   - what they may: permissions.go. A host publishes its own subjects, reads the streams one message or batch at a time,
//     and gets answers in an inbox of its own. It can change no stream, create no consumer, see no other host's answers;
//   - how long it lasts: streams.go. Five streams of the last value of each subject, on three nodes where there are three,
//     each message on the disk before it is acknowledged (nats-server's default, a flush every two minutes, has lost
//     acknowledged messages when power failed). Nothing in them can be purged, deleted or rolled up, by anybody;
//   - changes: Reload takes another list of hosts, and renewed certificates, without a restart; hosts that are no longer
//     on the list are cut off.
//
// Replication and elections are the server's own. nats.go reconnects.
//
// What is not promised: that one host cannot do the others harm at all. A host that was taken over can fill the streams
// of objects and statements with its own, until new ones are refused, and can keep a node busy. It cannot touch what the
// others have stored, nor their beats.
//
// server knows exchange/jetstream, for the names of streams and subjects. It is linked by warden-exchange only: it is 15
// megabytes that root's daemon does without.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"gatehouse/internal/durable"
)

// A Host may use the exchange.
type Host struct {
	Name string
	Key  string // the public nkey, U…
}

// A Node is one server.
type Node struct {
	Name    string
	Listen  string   // ADDRESS:PORT for hosts; port 0 for any that is free
	Store   string   // the directory of its data
	Size    int64    // bytes of data at most; 0 means DefaultSize
	TLS     *TLS     // none on loopback only
	Cluster *Cluster // none for a single node
	Admin   []byte   // the seed of the operator's nkey
}

// DefaultSize is how much data a node holds if nothing else is said.
const DefaultSize = 4 << 30

// TLS names files in PEM.
type TLS struct {
	CA, Cert, Key string
}

// A Cluster is three nodes.
type Cluster struct {
	Listen    string   // ADDRESS:PORT for the other nodes
	Routes    []string // HOST:PORT of the other nodes
	Advertise string   // HOST:PORT under which they are to find this one, if not as Listen says
}

// replicas of each stream.
func (n Node) replicas() int {
	if n.Cluster == nil {
		return 1
	}
	return 3
}

// A Server is a running node.
type Server struct {
	node Node
	srv  *nats.Server
	addr *net.TCPAddr
	lock *durable.Lock // of its data

	reloading sync.Mutex
	hosts     []Host // those it runs for
}

// Start starts a node for the hosts. What the server has to say, it says to log, line by line.
func Start(ctx context.Context, node Node, hosts []Host, log func(string)) (*Server, error) {
	s, err := launch(ctx, node, hosts, log)
	if err != nil {
		return nil, fmt.Errorf("start node %s: %w", node.Name, err)
	}
	return s, nil
}

func launch(ctx context.Context, node Node, hosts []Host, log func(string)) (_ *Server, err error) {
	opts, err := options(node, hosts, nil)
	if err != nil {
		return nil, err
	}
	s := &Server{node: node, hosts: hosts}
	if s.lock, err = lockData(node.Store); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if s.srv, err = nats.NewServer(opts); err != nil {
		return nil, err
	}
	failed := make(chan string, 1)
	s.srv.SetLoggerV2(logger{log, failed}, false, false, false)
	s.srv.Start()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !s.srv.ReadyForConnections(50 * time.Millisecond) {
		select {
		case why := <-failed:
			return nil, errors.New(why)
		case <-ctx.Done():
			return nil, fmt.Errorf("it does not listen on %s", node.Listen)
		default:
		}
	}
	var ok bool
	if s.addr, ok = s.srv.Addr().(*net.TCPAddr); !ok {
		return nil, errors.New("it has no address")
	}
	return s, nil
}

// lockData keeps a second server away from the data: nats-server would read it, and mend what the first one is writing, before
// it finds that it cannot listen.
func lockData(dir string) (*durable.Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	lock, err := durable.AcquireLock(now, filepath.Join(dir, "lock"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("it runs already: another process has its data, %s", dir)
	}
	return lock, err
}

// Reload takes another list of hosts, and certificates that were renewed. What a host that is no longer on the list sends
// after Reload has returned is not stored.
func (s *Server) Reload(hosts []Host) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	err := s.reload(hosts)
	if err != nil {
		return fmt.Errorf("reload node %s: %w", s.node.Name, err)
	}
	s.hosts = hosts
	return nil
}

// reload takes the rights of hosts that are gone before it cuts them off: nats-server closes a connection in the background,
// and may still read from it, and store what it has read, when its own reload has returned.
func (s *Server) reload(hosts []Host) error {
	if gone := without(s.hosts, hosts); len(gone) > 0 {
		if err := s.reloadOptions(hosts, gone); err != nil {
			return err
		}
	}
	return s.reloadOptions(hosts, nil)
}

func (s *Server) reloadOptions(hosts, powerless []Host) error {
	opts, err := options(s.node, hosts, powerless)
	if err != nil {
		return err
	}
	opts.Port = s.Addr().Port // a free port that was found stays
	return s.srv.ReloadOptions(opts)
}

// without is those of hosts whose keys are not among the others'.
func without(hosts, others []Host) []Host {
	stays := map[string]bool{}
	for _, host := range others {
		stays[host.Key] = true
	}
	return slices.DeleteFunc(slices.Clone(hosts), func(host Host) bool { return stays[host.Key] })
}

// Addr is where the node listens for hosts.
func (s *Server) Addr() *net.TCPAddr { return s.addr }

// Stop stops the node and waits until its data is on the disk.
func (s *Server) Stop() {
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
	}
	_ = s.lock.Unlock() // it is not written to
}

// admin connects as the operator, without the network.
func (s *Server) admin() (*client.Conn, error) {
	pair, err := nkeys.FromSeed(s.node.Admin)
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	return client.Connect("", client.InProcessServer(s.srv), client.Nkey(public, pair.Sign), client.MaxReconnects(0), client.Timeout(10*time.Second))
}

func (n Node) check() error {
	host, _, err := net.SplitHostPort(n.Listen)
	ip := net.ParseIP(host)
	switch {
	case n.Name == "":
		return errors.New("it has no name")
	case n.Store == "":
		return errors.New("it has no directory for its data")
	case err != nil || ip == nil:
		return fmt.Errorf("listen: %q is not ADDRESS:PORT", n.Listen)
	case n.TLS == nil && !ip.IsLoopback():
		return fmt.Errorf("listen: %s is reached from other machines, which takes TLS", n.Listen)
	case n.Cluster != nil && n.TLS == nil:
		return errors.New("nodes of a cluster need TLS: certificates tell them from hosts")
	case n.Cluster != nil && len(n.Cluster.Routes) != 2:
		return fmt.Errorf("a cluster has three nodes, and this one names %d others", len(n.Cluster.Routes))
	}
	return nil
}

// logger hands on what is no debugging. The first thing by which the server fails goes to failed as well.
type logger struct {
	say    func(string)
	failed chan<- string
}

func (l logger) Noticef(format string, v ...any) { l.say(fmt.Sprintf(format, v...)) }
func (l logger) Warnf(format string, v ...any)   { l.say("warning: " + fmt.Sprintf(format, v...)) }
func (l logger) Errorf(format string, v ...any)  { l.say("error: " + fmt.Sprintf(format, v...)) }
func (l logger) Debugf(string, ...any)           {}
func (l logger) Tracef(string, ...any)           {}

func (l logger) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.say("fatal: " + why)
	select {
	case l.failed <- why:
	default:
	}
}
