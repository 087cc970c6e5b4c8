package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gatehouse/exchange"
	"gatehouse/notify"
)

// stuck is after how long a watcher that cannot claim speaks without: a claim only delays.
const stuck = 30 * time.Minute

// outwaited is for how long claims of others hold this watcher up, by its own clock. The exchange lets them have an hour
// all together; in a directory, somebody may change when a claim was made.
const outwaited = 2 * time.Hour

// hiccup is for how long at least the exchange has to be away before that is told.
const hiccup = 15 * time.Minute

// A council is one meeting of the watchers, as one of them attends it.
type council struct {
	*Watcher
	round  *Round
	memory *Memory
	passed time.Duration

	words     map[string][]word // by alert, of hosts that are trusted for it
	published []byte            // what lies in the exchange as this host's own word
	hold      map[string]bool   // subjects of which nothing is to be sent in this meeting
}

// meet hears what the others said, and says what is for this host to say. asking ends earlier, and is for the exchange.
func (c *council) meet(ctx, asking context.Context) error {
	c.hold = make(map[string]bool)
	c.hear(asking)
	if err := c.recall(); err != nil {
		return err
	}
	var errs []error
	for id, a := range c.memory.Alerts {
		errs = append(errs, c.act(asking, id, a))
	}
	errs = append(errs, c.tellUnavailable())
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.save(c.memory); err != nil { // which notices are not to be sent is on record before any is
		return err
	}
	pending, err := c.Shared.Pending()
	if err == nil && len(pending) == 0 {
		return c.note()
	}
	outbox := c.quietly(*c.Shared)
	c.round.Shared, err = outbox.Deliver(ctx, c.Now, func(subject string) bool { return c.hold[subject] })
	return errors.Join(err, c.note())
}

// hear reads what each watcher says that it told. What one says that is itself in question does not count. That nothing
// can be heard is no obstacle: then this host speaks as well.
func (c *council) hear(ctx context.Context) {
	c.words = make(map[string][]word)
	if len(c.Inventory) == 0 {
		return // whoever watches nobody has nothing to tell
	}
	for entry, err := range c.Exchange.List(ctx, exchange.Key{Kind: exchange.Told, Rest: toldName}) {
		if err != nil {
			if !c.memory.Gap { // the look said so already
				c.warn("what other hosts told cannot be read: %v", err)
			}
			break
		}
		if entry.Err != nil || entry.Key.Rest != toldName {
			continue
		}
		host := entry.Key.Host
		if host == c.Host {
			c.hearSelf(entry.Value)
			continue
		}
		i := slices.IndexFunc(c.Inventory, func(h Host) bool { return h.Name == host })
		if i < 0 || c.has(host, BadSignature, Replayed) {
			continue
		}
		statements, err := parseTold(host, c.Inventory[i].Key, entry.Value)
		if err != nil {
			c.warn("what %s says that it told is not believed: %v", host, err)
			continue
		}
		for _, s := range statements {
			c.words[s.Alert] = append(c.words[s.Alert], word{host, s})
		}
	}
}

// hearSelf takes up what this host said before it lost its memory.
func (c *council) hearSelf(value []byte) {
	c.published = value
	statements, err := parseTold(c.Host, publicOf(c.Key), value)
	if err != nil {
		return
	}
	for _, s := range statements {
		if _, known := c.memory.Said[s.Alert]; !known {
			c.memory.Said[s.Alert] = said{statement: s}
		}
	}
}

func (c *council) warn(format string, args ...any) {
	c.round.Warnings = append(c.round.Warnings, fmt.Sprintf(format, args...))
}

// has reports whether there is a finding of one of these kinds about a host.
func (c *council) has(host string, kinds ...Kind) bool {
	return slices.ContainsFunc(c.round.Findings, func(f Finding) bool { return f.Host == host && slices.Contains(kinds, f.Kind) })
}

// gone reports whether a watcher is in no state to go on with what it began.
func (c *council) gone(host string) bool {
	if host == c.Host {
		return false
	}
	known := slices.ContainsFunc(c.Inventory, func(h Host) bool { return h.Name == host })
	return !known || c.has(host, Silent, Unseen, BadSignature, Replayed)
}

// recall finds the notices that this host has on their way, also those of a run that was cut short.
func (c *council) recall() error {
	records, err := c.Shared.Open("")
	if err != nil {
		c.warn("%v", err)
	}
	for i := range records {
		r := &records[i]
		if r.Kind != kindOfNotice || r.Subject == string(Unavailable) || len(r.Changes) != 1 {
			continue
		}
		id := r.Changes[0].ID
		a := c.memory.Alerts[id]
		if a == nil { // the memory was lost
			a = &alert{Kind: Kind(r.Subject), Subject: r.Gate, Over: true, Lost: true, Reason: r.Summary, Next: r.Command}
			c.memory.Alerts[id] = a
		}
		a.Record = r.ID()
		a.hear(c.words[id], c.ownRound(id))
		c.noteSent(id, a, r)
	}
	return nil
}

// noteSent records that a notice reached a receiver: from then on this host says that it told the alert.
func (c *council) noteSent(id string, a *alert, r *notify.Record) {
	for _, sink := range c.Shared.Sinks {
		a.Sent = a.Sent || r.Sinks[sink.Name()].Revision > 0
	}
	if _, known := c.memory.Said[id]; a.Sent && !known {
		c.memory.Said[id] = said{statement: statement{Alert: id, Kind: a.Kind, Subject: a.Subject, Round: c.standing(id, a).round + 1}}
	}
}

// standing is how an alert stands by all that was said and counts, by this host as well.
func (c *council) standing(id string, a *alert) standing {
	words := a.believed()
	if s, ok := c.memory.Said[id]; ok {
		words = append(words, word{c.Host, s.statement})
	}
	return standingOf(words)
}

func (c *council) ownRound(id string) int { return c.memory.Said[id].Round }

// seatFor counts the watchers that come before this one.
func (c *council) seatFor(a *alert) seat {
	rank := 0
	for _, h := range c.Inventory {
		if h.Name < c.Host && h.Name != a.Subject && !c.gone(h.Name) {
			rank++
		}
	}
	return seat{host: c.Host, rank: rank, gone: c.gone, settle: longestDeadline(c.Inventory)}
}

func (c *council) act(ctx context.Context, id string, a *alert) error {
	a.hear(c.words[id], c.ownRound(id))
	a.distrust(func(host string) bool { return c.has(host, BadSignature, Replayed) })
	s := c.standing(id, a)
	if s.round != a.Round || s.over != a.Ended {
		a.Round, a.Ended, a.RoundFor = s.round, s.over, 0
	} else {
		a.RoundFor += c.passed
	}
	switch a.plan(s, c.seatFor(a)) {
	case tell:
		if !c.mayTell(ctx, fmt.Sprintf("%s.%d", id, s.round+1), a, a.For) {
			return nil
		}
		return c.report(a, id)
	case claim:
		if !c.mayTell(ctx, id+".over", a, a.OverFor) {
			return nil
		}
		return c.close(a, id)
	case finish:
		return c.close(a, id)
	case drop:
		err := c.silence(a)
		if a.Over && err == nil {
			c.forget(id)
		}
		return err
	case forget:
		c.forget(id)
	default:
		if a.Record != "" && !a.Sent {
			c.hold[noticeName(a.Subject)] = true
		}
	}
	return nil
}

// mayTell claims the right to tell. Where that cannot be found out, or others hold it longer than all of them can by the
// rules, it waits a while, and then speaks.
func (c *council) mayTell(ctx context.Context, id string, a *alert, waited time.Duration) bool {
	got, err := c.Exchange.Claim(ctx, id, leaseTime)
	if err != nil {
		c.warn("%s cannot be claimed: %v", id, err)
	}
	if got.Mine || err != nil && waited >= stuck || a.Held >= outwaited {
		a.Held = 0
		return true
	}
	a.Held += c.passed
	c.hold[noticeName(a.Subject)] = true
	return false
}

func (c *council) report(a *alert, id string) error {
	if a.Record != "" {
		return nil // it is on its way
	}
	f := Finding{Kind: a.Kind, Host: a.Subject, Alert: id, Reason: a.Reason, Next: a.Next}
	if a.Kind == Split {
		f.Host, f.Gate = "", a.Subject
	}
	e := c.event(f)
	if err := c.Shared.Report(e, c.Now()); err != nil {
		return err
	}
	records, err := c.Shared.Open(e.Gate)
	for i := range records {
		if records[i].Kind == e.Kind && records[i].Subject == e.Subject {
			a.Record = records[i].ID()
			return nil
		}
	}
	return cmp.Or(err, fmt.Errorf("the notice about %s is not there after it was written", a.Subject))
}

// close leads to one line that the alert is over.
func (c *council) close(a *alert, id string) error {
	if a.Closing {
		return nil
	}
	if err := c.report(a, id); err != nil { // where another host told it, that is the first that this outbox hears of it
		return err
	}
	a.Closing = true
	subject := noticeName(a.Subject)
	return c.Shared.Clear(kindOfNotice, subject, string(a.Kind), c.over(*c.memory, subject, a.Kind), c.Now())
}

// silence takes back what this host has on its way, without a word to the receivers.
func (c *council) silence(a *alert) error {
	c.memory.Drop = append(c.memory.Drop, a.Record)
	err := c.Shared.Clear(kindOfNotice, noticeName(a.Subject), string(a.Kind), "another host told it", c.Now())
	a.Record, a.Sent, a.Closing = "", false, false
	return err
}

// forget ends an alert. What this host said of it stays in its word for a while, as over.
func (c *council) forget(id string) {
	delete(c.memory.Alerts, id)
	if s, ok := c.memory.Said[id]; ok {
		s.Over = true
		c.memory.Said[id] = s
	}
}

// tellUnavailable says that nothing is known of other hosts, or of one. There is nobody to agree with on that.
func (c *council) tellUnavailable() error {
	grace := hiccup
	for _, h := range c.Inventory {
		grace = max(grace, h.Grace)
	}
	var errs []error
	still := make(map[string]bool)
	for _, f := range c.round.Findings {
		if f.Kind != Unavailable {
			continue
		}
		e := c.event(f)
		still[e.Gate] = true
		if f.For >= grace {
			errs = append(errs, c.Shared.Report(e, c.Now()))
		}
	}
	records, _ := c.Shared.Open("") // one that cannot be read was named when they were recalled
	for _, r := range records {
		if r.Kind == kindOfNotice && r.Subject == string(Unavailable) && !still[r.Gate] {
			errs = append(errs, c.Shared.Clear(r.Kind, r.Gate, r.Subject, c.over(*c.memory, r.Gate, Unavailable), c.Now()))
		}
	}
	return errors.Join(errs...)
}

// note takes in what became of the notices.
func (c *council) note() error {
	records, err := c.Shared.Open("")
	pending, err2 := c.Shared.Pending()
	waiting := make(map[string]bool)
	for _, p := range pending {
		waiting[p.Record] = true
	}
	c.memory.Drop = slices.DeleteFunc(c.memory.Drop, func(record string) bool { return !waiting[record] })
	for id, a := range c.memory.Alerts {
		if a.Record == "" {
			continue
		}
		for i := range records {
			if records[i].ID() == a.Record {
				c.noteSent(id, a, &records[i])
			}
		}
		if a.Closing && !waiting[a.Record] {
			if _, known := c.memory.Said[id]; !known {
				c.memory.Said[id] = said{statement: statement{Alert: id, Kind: a.Kind, Subject: a.Subject}}
			}
			s := c.memory.Said[id]
			s.Round = max(c.standing(id, a).round, 1)
			c.memory.Said[id] = s
			c.forget(id)
		}
	}
	c.prune()
	return errors.Join(err, err2)
}

// prune keeps this host's word short: what is over goes first, the oldest first.
func (c *council) prune() {
	var ids []string
	for id, s := range c.memory.Said {
		if s.Over && s.Age > keepSaid {
			delete(c.memory.Said, id)
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) <= maxTold {
		return
	}
	slices.SortFunc(ids, func(a, b string) int {
		x, y := c.memory.Said[a], c.memory.Said[b]
		if x.Over != y.Over {
			return map[bool]int{true: -1, false: 1}[x.Over]
		}
		return cmp.Or(cmp.Compare(y.Age, x.Age), cmp.Compare(a, b))
	})
	for _, id := range ids[:len(ids)-maxTold] {
		delete(c.memory.Said, id)
	}
}

// publish leaves this host's word in the exchange. Where that fails, the next look tries again.
func (c *council) publish(ctx context.Context) error {
	if len(c.memory.Said) == 0 && c.published == nil {
		return nil
	}
	value, err := sealTold(c.Host, c.Key, c.memory.Said)
	if err != nil {
		return err
	}
	if string(value) == string(c.published) { // signatures of equal text are equal
		return nil
	}
	if err := c.Exchange.Put(ctx, toldKey(c.Host), value); err != nil {
		c.warn("what this host told cannot be left in the exchange: %v", err)
	}
	return nil
}
