package peer

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/notify"
)

// keyOf makes the key of a host in a test; the same each time.
func keyOf(host string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(host))
	return ed25519.NewKeyFromSeed(seed[:])
}

func inventoryOf(hosts ...string) (list []Host) {
	for _, name := range hosts {
		list = append(list, Host{Name: name, Key: publicOf(keyOf(name)), Interval: time.Hour, Grace: 15 * time.Minute})
	}
	return list
}

// beatOf makes a heartbeat in a test.
func beatOf(host string, sequence uint64, change ...func(*Heartbeat)) Heartbeat {
	h := Heartbeat{Schema: heartbeatDomain, Host: host, BootID: "b0", Sequence: sequence, At: 1_800_000_000, Interval: 3600,
		Version: "test", Gates: []Gate{{Name: "claude", Result: "in-sync"}}}
	for _, f := range change {
		f(&h)
	}
	return h
}

func sealed(t testing.TB, h Heartbeat, signer string) []byte {
	t.Helper()
	value, err := h.Sign(keyOf(signer))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// store is an exchange in memory, which several hosts use.
type store struct {
	mu     sync.Mutex
	values map[exchange.Key][]byte
	claims map[string]exchange.Claim
	used   map[string]bool // by host and id
	now    func() time.Time
}

func newStore(now func() time.Time) *store {
	return &store{values: make(map[exchange.Key][]byte), claims: make(map[string]exchange.Claim), used: make(map[string]bool), now: now}
}

// door is the store as one host reaches it.
type door struct {
	*store
	host   string
	broken func() error
}

func (d door) fault() error {
	if d.broken != nil {
		return d.broken()
	}
	return nil
}

func (d door) Put(_ context.Context, key exchange.Key, value []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault(); err != nil {
		return err
	}
	if key.Host != d.host {
		return exchange.ErrForbidden
	}
	if err := key.Check(); err != nil {
		return err
	}
	if len(value) > key.Kind.Limit() {
		return exchange.ErrTooLarge
	}
	d.values[key] = value
	return nil
}

func (d door) Get(_ context.Context, key exchange.Key) (exchange.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault(); err != nil {
		return exchange.Entry{}, err
	}
	value, ok := d.values[key]
	if !ok {
		return exchange.Entry{}, exchange.ErrNotFound
	}
	return exchange.Entry{Key: key, Value: value}, nil
}

func (d door) List(_ context.Context, under exchange.Key) iter.Seq2[exchange.Entry, error] {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.fault()
	var entries []exchange.Entry
	for key, value := range d.values {
		if under.Has(key) {
			entries = append(entries, exchange.Entry{Key: key, Value: value})
		}
	}
	return func(yield func(exchange.Entry, error) bool) {
		if err != nil {
			yield(exchange.Entry{}, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (d door) Claim(_ context.Context, id string, lease time.Duration) (exchange.Claim, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault(); err != nil {
		return exchange.Claim{}, err
	}
	if err := exchange.CheckID(id); err != nil {
		return exchange.Claim{}, err
	}
	now := d.now()
	if c, held := d.claims[id]; held && now.Before(c.Until) && c.Holder != d.host {
		return c, nil
	}
	c := exchange.Claim{ID: id, Holder: d.host, Mine: true, Since: now, Until: now.Add(min(lease, exchange.MaxLease))}
	if used := d.host + " " + id; !d.used[used] {
		d.used[used] = true
		stored := c
		stored.Mine = false
		d.claims[id] = stored
	}
	return c, nil
}

// receiver is what all hosts tell, such as a channel of Slack.
type receiver struct {
	mu       sync.Mutex
	got      []string
	messages int
	broken   func(host string) error
}

// sinkFor is the receiver as one host reaches it.
type sinkFor struct {
	*receiver
	host string
}

func (sinkFor) Name() string { return "channel" }

func (s sinkFor) Send(_ context.Context, m notify.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		if err := s.broken(s.host); err != nil {
			return &notify.SendError{Err: err, Refused: true, Permanent: true} // tried once a look: no test waits
		}
	}
	s.messages++
	for _, n := range m.Notices {
		s.got = append(s.got, fmt.Sprintf("%s %s %s by %s", n.State, n.Subject, n.Gate, s.host))
	}
	return nil
}

// take returns what was told since the last time.
func (r *receiver) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// about counts what was told about a subject.
func (r *receiver) about(words ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.got {
		hit := true
		for _, w := range words {
			hit = hit && strings.Contains(" "+line+" ", " "+w+" ")
		}
		if hit {
			n++
		}
	}
	return n
}
