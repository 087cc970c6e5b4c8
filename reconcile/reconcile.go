// Package reconcile keeps a gate's live files to what a person accepted. It reports; it never corrects.
//
// One pass over a gate has these steps, always in this order:
//
//   - expire: remove the exceptions whose time is up;
//   - settle: finish or undo an acceptance that was cut short, by its intent record, and bring the compiled form of the
//     accepted policy up to date;
//   - observe: read the accepted copy, HEAD of the repository, the publisher's export and, as a witness, the live files;
//   - judge: compare them (a pure function of those facts, what is remembered and the time);
//   - stage: copy the changed objects, each once, and keep them only if they hash to what the manifest says; then look
//     whether the manifest is still the same, and start over, three times at most, if it is not; after that nothing is
//     taken from the export, and what root itself sees has to do;
//   - remember: write the state, then report to the outbox, which says a thing once.
//
// Accept, Deploy and Rollback make another set of files the accepted one. Each prepares the whole generation first,
// then writes its intent, then commits (Deploy: nothing to commit), then swaps the link state/accepted/<gate>; so a
// crash leaves the old acceptance or an intent that the next run finishes. The accepted tree is what the link points
// to and nothing else.
//
// Decisions where the design is silent: a gate of which nothing was ever accepted drifts from the empty set. A
// publisher's sequence numbers count milliseconds, so a forged high one is told by the clock and never raises the mark.
// "unpublished" and "in-flux" are announced only when they outlast an interval, since the next export cures them.
// An export that is overdue can still be accepted from where root itself has just seen the same live files. How the
// gate's log of decisions is held to go on is in log.go.
//
// Grant makes an exception for one call and a time, and Revoke ends it. Both stand in the history before they count.
//
// The gates of other hosts (ReconcileFleet) are judged from what was fetched of them, under the same rules and without a
// witness; what they have in common is found, told and accepted once (fleet.go). A host can take over what such a hub
// accepted (Adopt, in follow.go).
//
// reconcile knows manifest, vendor-gate, notify and durable. It does not know configuration, systemd or the command
// line: cmd/warden joins those, and passes the policy compiler as Compile.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/notify"
	vendorgate "gatehouse/vendor-gate"
)

// A Gate is what a pass needs to know of one gate.
type Gate struct {
	Name    string
	Problem error  // why nothing can be said of it, such as a user that does not exist
	User    string // as sudo takes it; empty leaves it out of the commands that are named to people
	GroupID int    // of the gate's user, who may read the accepted copy; -1 leaves the group alone
	Export  string
	Source  manifest.Source // the live files and whose they must be
	Witness bool
	// ByAccepted says that the accepted copy is what judges the agent's calls, so that its log has to name that.
	ByAccepted bool
	Interval   time.Duration
	Follows    string // the hub whose acceptances this gate takes over, empty for none
}

// A Warden makes passes over gates and carries out what a person decides about them.
type Warden struct {
	Host          string
	State         string                 // root's own directory
	BootID        string                 // of this host now, as the kernel has it
	Program       string                 // how warden is called in the commands that reports and notices name
	Repository    *vendorgate.Repository // nil where it cannot be opened, for the reason in RepositoryErr
	RepositoryErr error
	Outbox        *notify.Outbox
	Disk          durable.Disk
	// Compile turns the files of a gate, by their paths, into the form that the gate reads fast, or says why it cannot:
	// every problem on a line of its own. The same files always give the same form. May be nil.
	Compile func(paths []string, open func(path string) (io.ReadCloser, error)) ([]byte, error)
	// Processes says how the services that hold a gate's files in memory stand against the disk, which is as root has
	// just seen it, or nil for not yet seen. May be nil; it must answer within the time that its context gives.
	Processes func(ctx context.Context, g Gate, seen *manifest.Snapshot) []Process
	Now       func() time.Time
	LockFor   time.Duration // how long to wait for another warden process
}

// A Pass is the outcome of looking at gates once.
type Pass struct {
	Reports  []Report
	Delivery notify.Delivery
}

// Reconcile makes one pass over the gates. Problems of one gate are in its report; the error is for what concerns all.
func (w *Warden) Reconcile(ctx context.Context, gates []Gate) (*Pass, error) {
	pass := new(Pass)
	err := w.locked(ctx, func() error {
		for i, g := range gates {
			report, err := w.pass(ctx, g, len(gates)-i)
			if err != nil {
				return err
			}
			pass.Reports = append(pass.Reports, *report)
		}
		return w.deliver(ctx, pass, gates)
	})
	return pass, err
}

// pass looks at one of the gates that are left, in its share of the time. What goes wrong with the gate itself is a
// report with the result Error; the error is for what must stop the run.
func (w *Warden) pass(ctx context.Context, g Gate, left int) (*Report, error) {
	now := w.Now().UTC()
	if err := w.expireGrants(g.Name, now); err != nil {
		return nil, err
	}
	s, err := w.loadState(g.Name)
	if err == nil && g.Problem != nil {
		err = g.Problem
	} else if err == nil {
		var seen *looked
		if seen, err = bounded(ctx, left, func(ctx context.Context) (*looked, error) {
			fresh := *s // what is stuck must not change what goes on without it
			fresh.boot = w.BootID
			report, err := w.look(ctx, g, &fresh, now)
			return &looked{&fresh, report}, err
		}); err == nil {
			if err := w.remember(g, seen.state, seen.report, now); err != nil {
				return nil, err
			}
			return seen.report, nil
		}
		// What the look finished before it failed, such as a deploy that was cut short, is on the disk.
		if saved, loadErr := w.loadState(g.Name); loadErr == nil {
			s = saved
		}
	}
	report := &Report{Gate: g.Name, CheckedAt: now, Since: now, Changes: []manifest.Change{}}
	report.add(Error, short(err), w.command(g, "warden doctor"))
	report.Stuck = errors.Is(err, ErrStuck)
	report.settle()
	if s != nil {
		if err := w.remember(g, s, report, now); err != nil {
			return nil, err
		}
		return report, nil
	}
	return report, w.announce(g, new(state), report, now)
}

// looked is what one look at a gate came to.
type looked struct {
	state  *state
	report *Report
}

const (
	reserve  = 5 * time.Second // of a run's time, for what follows the looks
	patience = time.Second     // with a look that should have ended
)

// bounded runs look in its share of the time that ctx leaves, and goes on without it where it is stuck in a system
// call: that cannot be called back, and the process had better end soon.
func bounded(ctx context.Context, left int, look func(context.Context) (*looked, error)) (*looked, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return look(ctx)
	}
	share := max(time.Until(deadline)-reserve, 0) / time.Duration(left)
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	type outcome struct {
		seen *looked
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		seen, err := look(ctx)
		done <- outcome{seen, err}
	}()
	tooLong := fmt.Errorf("not done within %v", share.Round(time.Second))
	select {
	case o := <-done:
		if o.err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", tooLong, o.err)
		}
		return o.seen, o.err
	case <-time.After(share + patience):
		return nil, fmt.Errorf("%w: %w", tooLong, ErrStuck)
	}
}

// ErrStuck means that something does not answer and that a part of this process waits for it for ever.
var ErrStuck = errors.New("something in the agent's tree, or a disk, does not answer")

// maxRestarts bounds how often a pass starts over because the export changed under it.
const maxRestarts = 3

// look settles, observes, judges and stages. It changes s to what is to be remembered.
func (w *Warden) look(ctx context.Context, g Gate, s *state, now time.Time) (*Report, error) {
	if _, err := w.settle(ctx, g, s); err != nil {
		return nil, err
	}
	broken, err := w.recompile(g)
	if err != nil {
		return nil, err
	}
	for restarts := 0; ; restarts++ {
		f, err := w.observe(ctx, g, s)
		if err != nil {
			return nil, err
		}
		f.broken = broken
		if restarts == maxRestarts { // what root sees itself still counts
			f.claim, f.claimErr = nil, fmt.Errorf("%w: it was replaced %d times while it was read", errExportMoved, maxRestarts)
		}
		s.InForce = s.InForce.next(tree(f.accepted), now)
		s.Gone, s.Source = goneRoots(s.Gone, *f, now), s.Source.next(&g.Source, now)
		report := judge(g.Name, *f, s, g.Interval, now)
		if err := w.judgeFollowed(g, &report); err != nil {
			return nil, err
		}
		err = w.stage(ctx, g, &report, f)
		if errors.Is(err, errExportMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w.judgeProcesses(ctx, g, f.witness, &report)
		for i := range report.Findings {
			report.Findings[i].Next = w.command(g, report.Findings[i].Next)
		}
		if f.claim != nil && !report.Has(Replayed) {
			s.Publication = s.Publication.next(f.claim, f.digest, s.boot, now)
			s.Log = s.Log.next(f.claim.Log, now)
		}
		return &report, nil
	}
}

// command puts the way this program is called before a command of it, and the user before one of the agent's side.
func (w *Warden) command(g Gate, next string) string {
	if rest, ok := strings.CutPrefix(next, "warden "); ok {
		return w.Program + " " + rest
	}
	if strings.HasPrefix(next, "gate ") && g.User != "" {
		return "sudo -u " + g.User + " " + next
	}
	return next
}

// remember writes the state with the report and tells the outbox.
func (w *Warden) remember(g Gate, s *state, r *Report, now time.Time) error {
	r.Since = now
	if last := s.Report; last != nil && last.Result == r.Result && last.Fingerprint == r.Fingerprint {
		r.Since = last.Since
	}
	for fingerprint := range s.Rejected {
		if r.Complete() && fingerprint != r.Fingerprint {
			delete(s.Rejected, fingerprint)
		}
	}
	if r.Files() == InSync {
		s.Replaced.Paths = nil // live has taken it over
	}
	if s.saw(r.Fingerprint); r.Fingerprint != "" {
		r.ID = s.driftID(r.Fingerprint)
	}
	switch curable := slices.ContainsFunc(r.Findings, func(f Finding) bool { return r.curable(f.Result) }); {
	case !curable:
		s.Held = time.Time{}
	case s.Held.IsZero():
		s.Held = now
	}
	if s.Pause != nil && !s.paused(now) {
		s.Pause = nil
	}
	s.Silent = unreached(s.Silent, r.Processes, now)
	s.Report = r
	if err := w.saveState(s); err != nil {
		return err
	}
	return w.announce(g, s, r, now)
}

// locked runs do while no other warden process is at work on this state.
func (w *Warden) locked(ctx context.Context, do func() error) error {
	if err := w.prepare(); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, w.LockFor)
	defer cancel()
	lock, err := durable.AcquireLock(wait, filepath.Join(w.State, "lock"))
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w; waited %v", err, w.LockFor)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Unlock())
}
