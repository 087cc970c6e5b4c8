package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/exchange"
	"gatehouse/internal/cli"
	"gatehouse/peer"
)

func newBeatCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "beat",
		Short: "Tell other hosts how this one stands, and look how they stand",
		Long: `Leave a signed heartbeat in the exchange if a pass was completed since the last, look at those of the other hosts, judge
them, and tell what is to be told. The address of "ping:" is asked for once for each completed pass. The units of warden
install make passes without the network and call this after them, and every few minutes; "warden serve" does the same on
hosts without them.

It exits with 1 where another host is not well, and with 2 where that could not be found out. "warden peers" shows what
was found, without a look.`,
		Example: `  warden beat`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBeat(cmd.Context(), g) },
	}
}

// beatTimeout bounds one beat, the exports and acceptances that are exchanged with it included.
const beatTimeout = 2 * time.Minute

func runBeat(ctx context.Context, g *globals) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	if s.config.Peers == nil && s.config.Ping == "" {
		return errAlone
	}
	done, err := within(ctx, beatTimeout, func(ctx context.Context) (*beat, error) { return g.beat(ctx, s) })
	if err != nil {
		return err
	}
	g.printBeat(done)
	code := done.code()
	// What was found has been said, and needs no notice that the unit failed. What kept this host from speaking does.
	if unit := g.streams.Getenv("GATEHOUSE_UNIT"); unitName.MatchString(unit) && len(done.problems) == 0 {
		err = s.noteRun(run{runSchema, unit, g.streams.Getenv("INVOCATION_ID"), code, time.Now().UTC()})
	}
	if err != nil {
		return err
	}
	return cli.Exit(code)
}

// A beat is what came of speaking to other hosts once.
type beat struct {
	own      *peer.Heartbeat
	unsaid   error       // why it may not be in the exchange
	round    *peer.Round // nil where this host watches nobody, or could not
	problems []error     // what kept this host from speaking or looking; each part is tried whatever became of the others
	warnings []string
}

func (b *beat) code() int {
	code := cli.Yes
	if len(b.problems) > 0 {
		code = cli.Unknown
	}
	if b.round != nil {
		code = max(code, findingsCode(b.round.Findings))
	}
	return code
}

// findingsCode is the exit code of findings: a finding is more than that something could not be told.
func findingsCode(findings []peer.Finding) int {
	code := cli.Yes
	for _, f := range findings {
		if f.Kind.Code() == cli.No {
			return cli.No
		}
		code = cli.Unknown
	}
	return code
}

// beat speaks to other hosts once: ping, heartbeat, look, and what goes along with them.
func (g *globals) beat(ctx context.Context, s *site) (*beat, error) {
	unlock, err := s.lockPeers(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b := &beat{}
	pass, err := s.lastPass()
	if err != nil {
		return nil, err
	}
	if err := s.ping(ctx, pass); err != nil {
		b.warnings = append(b.warnings, err.Error())
	}
	if s.config.Peers == nil {
		return b, nil
	}
	key, err := s.hostKey()
	if err != nil {
		return nil, err
	}
	ex, closeExchange, err := s.exchange(ctx)
	if err != nil {
		ex, closeExchange = unreached{err}, func() {} // which is a finding of its own, and clears none
	}
	defer closeExchange()
	speaker := &peer.Speaker{Host: s.config.Host, Key: key, Exchange: ex, Dir: s.peersDir(), Disk: s.warden.Disk}
	of, maintenance := s.spokenOf(pass)
	b.own, b.unsaid = speaker.Say(ctx, of, func() (peer.Heartbeat, error) { return g.heartbeat(s, pass, maintenance) })
	if b.unsaid != nil && !errors.Is(b.unsaid, exchange.ErrUnavailable) { // which the look finds too
		b.problems = append(b.problems, fmt.Errorf("this host's heartbeat: %w", b.unsaid))
	}
	watcher, err := s.watcher(key, ex, g.streams)
	if err != nil {
		return nil, err
	}
	if b.round, err = watcher.Watch(ctx, b.own); err != nil {
		b.problems = append(b.problems, err)
	}
	if _, out := ex.(unreached); !out {
		switch err := g.exchangeExports(ctx, s, ex); {
		case errors.Is(err, exchange.ErrUnavailable): // the next beat tries again, and its look finds it
			b.warnings = append(b.warnings, err.Error())
		case err != nil:
			b.problems = append(b.problems, err)
		}
	}
	return b, nil
}

// spokenOf names what a heartbeat is made of: a completed pass, and what a person announced since. Without a pass there
// is nothing to say; and that the time of an announcement is over makes no new heartbeat.
func (s *site) spokenOf(pass *donePass) (of string, m *maintenance) {
	if pass == nil {
		return "", nil
	}
	of = pass.id()
	if m = s.maintenance(); m != nil {
		of += " " + m.id()
	}
	return of, m
}

// heartbeat says how this host stands, as the pass left it.
func (g *globals) heartbeat(s *site, pass *donePass, m *maintenance) (peer.Heartbeat, error) {
	h := peer.Heartbeat{BootID: pass.Clock.BootID, At: pass.At.Unix(), Interval: int64(s.config.Peers.Interval / time.Second), Version: cli.Version()}
	if schedule, err := parseSchedule(s.config.Schedule, time.Now()); err == nil {
		h.Interval = max(1, int64(longestGap(schedule, time.Now().UTC())/time.Second))
	}
	events, err := s.warden.History("")
	if err != nil {
		return h, err
	}
	for _, gate := range s.gates {
		status, err := s.warden.Status(gate)
		if err != nil {
			return h, err
		}
		of := peer.Gate{Name: gate.Name, Result: string(status.Result), Tree: status.Tree, Fingerprint: status.Fingerprint, Accepted: status.Accepted}
		for _, e := range slices.Backward(events) {
			if e.Gate == gate.Name && e.Commit != "" && e.Tree == of.Accepted {
				of.Commit = e.Commit
				break
			}
		}
		h.Gates = append(h.Gates, of)
	}
	h.Pending = g.undelivered(s)
	if m != nil && m.left(s) > 0 {
		h.Maintenance = &peer.Maintenance{Left: int64(m.left(s) / time.Second), Why: m.Why}
	}
	return h, nil
}

// undelivered counts the notices that this host cannot get rid of, by the receivers that still wait for them. What a
// pause holds back is not among them.
func (g *globals) undelivered(s *site) (p peer.Pending) {
	now := time.Now()
	count := func(since time.Time) {
		if p.Count++; p.Since == 0 || since.Unix() < p.Since {
			p.Since = max(0, since.Unix())
			p.Oldest = int64(max(0, now.Sub(since)) / time.Second)
		}
	}
	outboxes := g.outboxes(s)
	if shared := s.peerOutboxes(g.streams).shared; shared != nil {
		outboxes = append(outboxes, shared)
	}
	for _, outbox := range outboxes {
		pending, _ := outbox.Pending() // a record that cannot be read is named by the delivery
		for _, n := range pending {
			if !s.paused(n.Gate) {
				count(n.Since)
			}
		}
	}
	return p
}

func (g *globals) printBeat(b *beat) {
	if b.own != nil {
		became := "is in the exchange"
		if errors.Is(b.unsaid, exchange.ErrUnavailable) {
			became = "waits for the exchange"
		} else if b.unsaid != nil {
			became = "was made" // and what became of it is among the problems
		}
		fmt.Fprintf(g.streams.Out, "heartbeat %d of %s %s\n", b.own.Sequence, b.own.Host, became)
	}
	if b.round != nil {
		for _, f := range b.round.Findings {
			fmt.Fprintf(g.streams.Out, "%s  %s: %s\n", cli.Printable(f.Subject()), f.Kind, cli.Line(f.Reason))
		}
		g.printDelivery(b.round.Journal)
		g.printDelivery(b.round.Shared)
		b.warnings = append(b.warnings, b.round.Warnings...)
	}
	for _, w := range b.warnings {
		fmt.Fprintf(g.streams.Err, "warden: %s\n", cli.Line(w))
	}
	for _, err := range b.problems {
		g.complain(err)
	}
}

// unreached stands for an exchange that could not be opened.
type unreached struct{ err error }

func (u unreached) fault() error {
	if errors.Is(u.err, exchange.ErrUnavailable) {
		return u.err
	}
	return fmt.Errorf("%w: %w", exchange.ErrUnavailable, u.err)
}

func (u unreached) Put(context.Context, exchange.Key, []byte) error { return u.fault() }

func (u unreached) Get(context.Context, exchange.Key) (exchange.Entry, error) {
	return exchange.Entry{}, u.fault()
}

func (u unreached) List(context.Context, exchange.Key) iter.Seq2[exchange.Entry, error] {
	return u.none
}

func (u unreached) Claim(context.Context, string, time.Duration) (exchange.Claim, error) {
	return exchange.Claim{}, u.fault()
}

func (u unreached) none(yield func(exchange.Entry, error) bool) { yield(exchange.Entry{}, u.fault()) }

// serveBeats speaks to other hosts after each pass of the service and every few minutes, where no unit does. A network
// that is slow keeps no pass waiting.
func (g *globals) serveBeats(ctx context.Context, passes <-chan struct{}) {
	if g.streams.Getenv("GATEHOUSE_BEAT") == "later" {
		return
	}
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-passes:
		case <-time.After(beatEvery):
		}
		said := ""
		if err := g.serveBeat(ctx); err != nil && ctx.Err() == nil {
			said = err.Error()
			if said != last {
				g.complain(err)
			}
		}
		last = said
	}
}

// beatEvery is how often this host looks at others, between its own passes.
const beatEvery = 5 * time.Minute

func (g *globals) serveBeat(ctx context.Context) error {
	s, err := g.openForPass()
	if err != nil {
		return nil // the pass says so
	}
	if s.config.Peers == nil && s.config.Ping == "" {
		return nil
	}
	done, err := within(ctx, beatTimeout, func(ctx context.Context) (*beat, error) { return g.beat(ctx, s) })
	if err != nil {
		return err
	}
	return errors.Join(done.problems...)
}
