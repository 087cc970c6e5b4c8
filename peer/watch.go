package peer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/notify"
)

// A Watcher is this host as it watches others.
type Watcher struct {
	Host      string
	Key       ed25519.PrivateKey
	Exchange  exchange.Exchange
	Inventory []Host // this host is not among them
	Dir       string // its own directory; only root can read it
	Disk      durable.Disk
	// Journal is told every finding, by this host for itself. Shared has the receivers that all watchers share; it may be
	// nil, and then this host tells them nothing.
	Journal, Shared *notify.Outbox
	Clock           func() (Reading, error)

	saved []byte           // of the memory, as it is on the disk
	Now   func() time.Time // for notices
}

// A Round is what one look led to.
type Round struct {
	Findings []Finding
	Memory   Memory
	Shared   notify.Delivery
	Journal  notify.Delivery
	Warnings []string // of what was no obstacle
}

// Watch looks into the exchange once, judges, and tells what is to be told. self is the last heartbeat of this host, nil
// for none. An error is about this host itself; that the exchange cannot be reached is a finding.
func (w *Watcher) Watch(ctx context.Context, self *Heartbeat) (*Round, error) {
	now, err := w.Clock()
	if err != nil {
		return nil, err
	}
	if err := w.Disk.MkdirAll(w.Dir, 0o700); err != nil {
		return nil, err
	}
	w.saved = nil // another process may have looked
	round := &Round{}
	before, err := LoadMemory(w.Dir)
	if errors.Is(err, durable.ErrCorrupt) {
		round.Warnings = append(round.Warnings, err.Error()+"; watching begins anew, and what was said may be said again")
	} else if err != nil {
		return nil, err
	}
	asking, cancel := half(ctx)
	defer cancel()
	look, strange := w.look(asking)
	look.Self = self
	round.Memory, round.Findings = judge(before, look, w.Inventory, now)
	m := &round.Memory
	m.Findings, m.Strange = round.Findings, strange
	passed, _ := now.since(before.Read)
	m.follow(round.Findings, passed)
	if err := w.save(m); err != nil { // what was seen is on record before anything is said
		return nil, err
	}
	err = w.tellJournal(ctx, round)
	if w.Shared != nil {
		c := &council{Watcher: w, round: round, memory: m, passed: passed}
		err = errors.Join(err, c.meet(ctx, asking))
		err = errors.Join(err, w.save(m))
		err = errors.Join(err, c.publish(ctx))
	}
	return round, err
}

// half is for what is asked of an exchange: one that keeps this host waiting leaves the other half of the time for telling.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// save writes the memory, unless that is what is on the disk.
func (w *Watcher) save(m *Memory) error {
	data, err := m.encode()
	if err != nil || bytes.Equal(data, w.saved) {
		return err
	}
	if err := w.Disk.WriteSealed(memoryFile(w.Dir), data, 0o600); err != nil {
		return err
	}
	w.saved = data
	return nil
}

const shownStrange = 20

// look reads all heartbeats, in one sweep.
func (w *Watcher) look(ctx context.Context) (look view, strange []string) {
	look = view{Beats: make(map[string]observed)}
	if len(w.Inventory) == 0 { // nobody is watched: the whole fleet is not read for that
		if _, err := w.Exchange.Get(ctx, exchange.Key{Kind: exchange.Beats, Host: w.Host}); !errors.Is(err, exchange.ErrNotFound) {
			look.Err = err
		}
		return look, nil
	}
	for entry, err := range w.Exchange.List(ctx, exchange.Key{Kind: exchange.Beats}) {
		if err != nil {
			look.Err = err
			break
		}
		switch {
		case slices.ContainsFunc(w.Inventory, func(h Host) bool { return h.Name == entry.Key.Host }):
			look.Beats[entry.Key.Host] = observed{entry.Value, entry.Err}
		case entry.Key.Host != w.Host: // however many somebody made up: what they say is not kept
			strange = append(strange, entry.Key.Host)
		}
	}
	slices.Sort(strange)
	return look, strange[:min(len(strange), shownStrange)]
}

// follow brings the alerts in line with what this host sees.
func (m *Memory) follow(findings []Finding, passed time.Duration) {
	seen := make(map[string]bool)
	for _, f := range findings {
		if f.Kind == Unavailable {
			continue
		}
		seen[f.Alert] = true
		a := m.Alerts[f.Alert]
		if a == nil {
			a = &alert{Kind: f.Kind, Subject: f.Subject()}
			m.Alerts[f.Alert] = a
		}
		a.For, a.Over, a.OverFor, a.Lost, a.Reason, a.Next = f.For, false, 0, false, f.Reason, f.Next
	}
	for id, a := range m.Alerts {
		switch {
		case seen[id]:
		case a.Over:
			a.OverFor += passed
		default:
			a.Over, a.OverFor = true, 0
		}
	}
	for id, s := range m.Said {
		if s.Over {
			s.Age += passed
			m.Said[id] = s
		}
	}
}

// kindOfNotice is the kind of all notices about other hosts.
const kindOfNotice = "peer"

// tellJournal says what this host sees, whatever the others say.
func (w *Watcher) tellJournal(ctx context.Context, round *Round) error {
	if w.Journal == nil {
		return nil
	}
	var errs []error
	open := make(map[string]bool)
	for _, f := range round.Findings {
		e := w.event(f)
		open[e.Gate+"/"+e.Subject] = true
		errs = append(errs, w.Journal.Report(e, w.Now()))
	}
	records, _ := w.Journal.Open("") // one that cannot be read is named by the delivery
	for _, r := range records {
		if !open[r.Gate+"/"+r.Subject] {
			errs = append(errs, w.Journal.Clear(r.Kind, r.Gate, r.Subject, w.over(round.Memory, r.Gate, Kind(r.Subject)), w.Now()))
		}
	}
	pending, err := w.Journal.Pending()
	if err == nil && len(pending) == 0 {
		return errors.Join(errs...)
	}
	round.Journal, err = w.Journal.Deliver(ctx, w.Now, nil)
	return errors.Join(append(errs, err)...)
}

// event is the notice of a finding.
func (w *Watcher) event(f Finding) notify.Event {
	return notify.Event{
		Kind: kindOfNotice, Gate: noticeName(f.Subject()), Subject: string(f.Kind), Severity: f.Kind.Severity(),
		Title:   title(f),
		Summary: f.Reason,
		Changes: []notify.Change{{ID: f.Alert}},
		Detail:  []string{"seen by " + w.Host + "; warden peers shows all hosts"},
		Command: f.Next,
	}
}

func title(f Finding) string {
	switch f.Kind {
	case BadSignature:
		return f.Host + " is impersonated: bad signature"
	case Replayed:
		return f.Host + " went back: an older heartbeat"
	case Silent:
		return f.Host + " is silent"
	case Unseen:
		return f.Host + " never appeared"
	case Split:
		return "gate " + f.Gate + " is not the same on all hosts"
	case Undelivered:
		return f.Host + " cannot deliver its notices"
	case Unavailable:
		if f.Host != "" {
			return "the heartbeat of " + f.Host + " cannot be read"
		}
		fallthrough
	default:
		return "the exchange cannot be reached"
	}
}

// over says why a finding is no more.
func (w *Watcher) over(m Memory, subject string, kind Kind) string {
	switch i := slices.IndexFunc(w.Inventory, func(h Host) bool { return noticeName(h.Name) == subject }); {
	case kind == Split:
		return "hosts agree again"
	case kind == Unavailable:
		return "it can be reached again"
	case i < 0:
		return "it is no longer in the inventory"
	default:
		if a := m.Hosts[w.Inventory[i].Name]; a != nil && a.Beat != nil {
			return fmt.Sprintf("heartbeat %d came from it", a.Beat.Sequence)
		}
		return "it is watched anew"
	}
}

// noticeName shortens what is too long for the name of a notice.
func noticeName(subject string) string {
	if len(subject) <= 120 {
		return subject
	}
	return strings.TrimRight(subject[:100], ".") + "-" + digestOf([]byte(subject))[:16]
}
