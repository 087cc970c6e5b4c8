package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/config"
	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/notify"
	"gatehouse/peer"
)

// errAlone means that the configuration names no other hosts.
var errAlone = errors.New(`this host is alone: its configuration has no section "peers"; see docs/peers.md`)

func (s *site) peersDir() string { return filepath.Join(s.config.State, "peers") }

// makePeersDir makes the directory where it is missing.
func (s *site) makePeersDir() error {
	if err := s.makeState(); err != nil {
		return err
	}
	return s.warden.Disk.MkdirAll(s.peersDir(), 0o700)
}

// makeState makes the state directory where it is missing, so that the users of gates can reach what is theirs in it.
func (s *site) makeState() error { return s.warden.Disk.MkdirAll(s.config.State, 0o711) }

// lockPeers keeps two processes from speaking for this host at once.
func (s *site) lockPeers(ctx context.Context) (unlock func(), err error) {
	if err := s.makePeersDir(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	lock, err := durable.AcquireLock(ctx, filepath.Join(s.peersDir(), "lock"))
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil // the process ends soon, and the lock with it
}

// hostKey is the private key of this host.
func (s *site) hostKey() (ed25519.PrivateKey, error) {
	if s.config.Peers == nil {
		return nil, errAlone
	}
	secret := s.config.Peers.Key
	text, err := secret.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; make it with: %s peers key", err, s.warden.Program)
	}
	if err != nil {
		return nil, err
	}
	key, err := peer.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("read secret %s: %w", secret, err)
	}
	return key, nil
}

// hostKeyFile is where the private key is kept, in a file that this program may make.
func (s *site) hostKeyFile() string {
	kind, name, _ := strings.Cut(string(s.config.Peers.Key), ":")
	if kind == "credential" {
		return filepath.Join(config.CredentialDir, name)
	}
	return name
}

// makeHostKey returns the private key of this host, and makes it where there is none yet. One that is there is never
// replaced: all others know the host by it.
func (s *site) makeHostKey() (key ed25519.PrivateKey, made bool, err error) {
	if s.config.Peers == nil {
		return nil, false, errAlone
	}
	path := s.hostKeyFile()
	switch _, err := os.Lstat(path); {
	case err == nil:
		key, err := s.hostKey()
		return key, false, err
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	if key, err = peer.NewKey(); err != nil {
		return nil, false, err
	}
	if err := errors.Join(s.makeState(), s.warden.Disk.MkdirAll(filepath.Dir(path), 0o700)); err != nil {
		return nil, false, err
	}
	return key, true, s.warden.Disk.WriteFile(path, []byte(peer.FormatPrivateKey(key)+"\n"), 0o600)
}

// exchange opens the place where the hosts leave things for each other. The caller calls the function when done.
func (s *site) exchange(ctx context.Context) (exchange.Exchange, func(), error) {
	p := s.config.Peers
	if p == nil {
		return nil, nil, errAlone
	}
	if p.Exchange.NATS == nil {
		ex, err := exchange.OpenDirectory(s.warden.Disk, p.Exchange.Directory, s.config.Host, nil)
		return ex, func() {}, err
	}
	options := jetstream.Options{Host: s.config.Host, Servers: p.Exchange.NATS.Servers}
	if path := p.Exchange.NATS.CA; path != "" {
		var err error
		if options.CA, err = os.ReadFile(path); err != nil {
			return nil, nil, fmt.Errorf("peers.exchange.nats.ca: %w", err)
		}
	}
	seed, err := p.Exchange.NATS.Seed.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("peers.exchange.nats.seed: %w", err)
	}
	options.Seed = []byte(seed)
	ex, err := jetstream.Connect(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	return ex, func() { ex.Close() }, nil
}

// inventory lists the hosts that this one watches. It is never among them.
func (s *site) inventory() ([]peer.Host, error) {
	p := s.config.Peers
	var hosts []peer.Host
	for _, h := range p.Hosts {
		if h.Name == s.config.Host {
			continue
		}
		key, err := peer.ParseKey(h.Key)
		if err != nil {
			return nil, err
		}
		interval := p.Interval
		if h.Interval != 0 {
			interval = h.Interval
		}
		hosts = append(hosts, peer.Host{Name: h.Name, Key: key, Interval: interval, Grace: p.Grace})
	}
	return hosts, nil
}

// watcher is this host as it watches others. Its journal is its own; the other receivers are told by one host for all.
func (s *site) watcher(key ed25519.PrivateKey, ex exchange.Exchange, streams cli.Streams) (*peer.Watcher, error) {
	hosts, err := s.inventory()
	if err != nil {
		return nil, err
	}
	outboxes := s.peerOutboxes(streams)
	return &peer.Watcher{
		Host: s.config.Host, Key: key, Exchange: ex, Inventory: hosts, Dir: s.peersDir(), Disk: s.warden.Disk,
		Journal: outboxes.journal, Shared: outboxes.shared,
		Clock: s.clock, Now: time.Now,
	}, nil
}

func (s *site) clock() (peer.Reading, error) { return peer.ReadClock(s.warden.BootID) }

type peerOutboxes struct {
	journal *notify.Outbox
	shared  *notify.Outbox // nil where nobody is told over the network
}

func (s *site) peerOutboxes(streams cli.Streams) (o peerOutboxes) {
	make := func(name string) *notify.Outbox {
		return &notify.Outbox{Dir: filepath.Join(s.peersDir(), name), Disk: s.warden.Disk, Host: s.config.Host}
	}
	for _, sink := range sinksOf(s.config, streams, s.warden.Disk) {
		to, name := &o.shared, "notices"
		if n := sink.Name(); n == "journal" || n == "text" {
			to, name = &o.journal, "journal"
		}
		if *to == nil {
			*to = make(name)
		}
		(*to).Sinks = append((*to).Sinks, sink)
	}
	return o
}

func publicKey(key ed25519.PrivateKey) ed25519.PublicKey {
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}
