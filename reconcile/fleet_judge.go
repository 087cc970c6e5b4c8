package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/manifest"
)

// A judgement is what a live side comes to, whichever host has it.
type judgement struct {
	report Report
	staged error // why it could not be staged
}

// judgeRemote says how a gate stands on another host. It reads the disk of this host only. The error is about that
// disk; what is wrong with the host is in the report.
func (w *Warden) judgeRemote(ctx context.Context, look *fleetLook, remote *Remote) (*Report, error) {
	h := look.state.host(remote.Host)
	r := &Report{Gate: look.fleet.Gate, Host: remote.Host, Unwitnessed: true, CheckedAt: look.now, Changes: []manifest.Change{},
		Accepted: tree(look.facts.accepted), Vendored: tree(look.facts.head)}
	if look.facts.broken != nil {
		r.Findings = append(r.Findings, brokenPolicy(look.facts.broken))
	}
	if remote.Problem != "" || remote.Claim == nil {
		r.Findings = append(r.Findings, unclaimedRemote(remote))
		if overdue := h.Publication.silent(look.fleet.Interval, look.now); overdue != nil && !r.Has(Missing) {
			r.Findings = append(r.Findings, *overdue)
		}
		r.addFinding(h.Log.finding(r.Gate))
		w.dress(r)
		return r, nil
	}
	claim := remote.Claim
	r.Tree = claim.Tree
	digest := claimDigest(claim)
	if finding := h.Publication.order(claim, digest, look.now); finding != nil {
		r.Findings = append(r.Findings, *finding)
		r.addFinding(h.Log.finding(r.Gate))
		w.dress(r)
		return r, nil
	}
	if err := w.judgeContent(ctx, look, remote, r); err != nil {
		return nil, err
	}
	if overdue := h.Publication.overdue(claim, look.fleet.Interval, look.now); overdue != nil {
		r.Findings = append(r.Findings, *overdue)
	}
	r.Findings = append(r.Findings, refusals(facts{claim: claim})...)
	log := h.Log.next(claim.Log, look.now)
	r.addFinding(log.finding(r.Gate))
	h.Publication, h.Log, h.Content = h.Publication.next(claim, digest, "", look.now), log, remote.Content
	w.dress(r)
	return r, nil
}

// judgeContent compares the live side of a host with what is accepted. Most hosts have the same one: that is compared
// once.
func (w *Warden) judgeContent(ctx context.Context, look *fleetLook, remote *Remote, r *Report) error {
	if remote.More > 0 {
		r.add(Refused, fmt.Sprintf("%d more entries cannot be judged than an export can name, so nothing was compared", remote.More), "gate publish")
		return nil
	}
	plain := len(remote.Claim.Refused) == 0
	j, ok := look.known[remote.Content]
	if !ok || !plain {
		body, err := w.body(look, remote.Content)
		switch {
		case err != nil && len(remote.Bad) > 0:
			r.Findings = append(r.Findings, badObjects(remote.Bad))
			return nil
		case errors.Is(err, fs.ErrNotExist):
			r.add(Unfetched, "what the host has is not fetched yet; the next pass does that", fetchAgain)
			return nil
		case errors.Is(err, manifest.ErrMismatch), errors.Is(err, manifest.ErrInvalid), errors.Is(err, errOther):
			r.Findings = append(r.Findings, badObjects([]Item{{ID: "content", Text: err.Error()}}))
			return nil
		case err != nil:
			return err
		}
		if j, err = w.compareRemote(ctx, look, remote, body); err != nil {
			return err
		}
		if plain {
			look.known[remote.Content] = j
		}
	}
	if j.report.Tree != remote.Claim.Tree {
		r.Findings = append(r.Findings, badObjects([]Item{{ID: "content", Text: fmt.Sprintf(
			"the list of entries is of the tree %.12s, and the export says %.12s", j.report.Tree, remote.Claim.Tree)}}))
		return nil
	}
	r.Changes, r.HeadChanges, r.Fingerprint, r.Restorable = j.report.Changes, j.report.HeadChanges, j.report.Fingerprint, j.report.Restorable
	findings := slices.Clone(j.report.Findings)
	if j.staged != nil {
		for i := range findings {
			if isDrift(findings[i].Result) {
				findings[i].Next = "" // it cannot be accepted like this
			}
		}
		if len(remote.Bad) > 0 {
			findings = append(findings, badObjects(remote.Bad))
		} else {
			findings = append(findings, Finding{Result: Unfetched, Reason: short(j.staged), Next: fetchAgain})
		}
	}
	r.Findings = append(r.Findings, findings...)
	return nil
}

// compareRemote finds the direction of a live side, and stages its changes.
func (w *Warden) compareRemote(ctx context.Context, look *fleetLook, remote *Remote, body *manifest.Generation) (j judgement, err error) {
	f := look.facts
	claim := *remote.Claim
	claim.Entries = body.Entries
	f.claim = &claim
	s := &state{Rejected: look.state.Rejected, Seen: look.state.Seen}
	if look.state.wasAccepted(body.Tree) {
		s.Replaced = replacement{Tree: body.Tree, By: tree(f.accepted)}
	}
	j.report = Report{Gate: look.fleet.Gate, Tree: body.Tree, Accepted: tree(f.accepted), Vendored: tree(f.head), Changes: []manifest.Change{}}
	direction(&j.report, f, s)
	for i := range j.report.Findings {
		finding := &j.report.Findings[i]
		if finding.Result == Behind && j.report.Restorable {
			finding.Reason, finding.Next = "the live files are those of an earlier acceptance; the host has not taken over what is accepted since", "warden pull"
		}
	}
	if j.report.Fingerprint == "" {
		return j, nil
	}
	j.report.ID = s.driftID(j.report.Fingerprint)
	j.staged = w.stageRemote(ctx, j.report.Fingerprint, j.report.Changes)
	if j.staged != nil && !errors.Is(j.staged, errNotFetched) {
		return j, j.staged
	}
	return j, nil
}

// dress sorts the findings of a remote report and makes their commands fit: what the agent's side does is done there.
func (w *Warden) dress(r *Report) {
	for i := range r.Findings {
		next := &r.Findings[i].Next
		switch {
		case *next == "":
		case *next == "warden pull", *next == "warden beat", strings.HasPrefix(*next, "gate "):
			*next = "on " + r.Host + ": " + *next
		default:
			*next = w.command(Gate{}, *next)
		}
	}
	r.settle()
}

// unclaimedRemote turns the reason for having no claim of a host into a finding.
func unclaimedRemote(remote *Remote) Finding {
	f := Finding{Result: remote.Problem, Reason: remote.Reason}
	switch remote.Problem {
	case Missing:
		f.Next = "warden beat"
	case Unfetched:
		f.Next = fetchAgain
	case Forged:
	default:
		f.Result = Error
	}
	return f
}

// fetchAgain is the command that fetches what other hosts published, and judges it.
const fetchAgain = "warden reconcile --from exchange"

func badObjects(items []Item) Finding {
	return Finding{Result: Mismatch, Items: items, Reason: "objects of the export are not what it says; nothing of this drift was staged", Next: "gate publish"}
}

// errOther means that a generation is of another gate.
var errOther = errors.New("of another gate")

// errNotFetched means that an object of another host is not here.
var errNotFetched = errors.New("not fetched yet")

// errSize means that an object has another size than a list of entries says.
var errSize = errors.New("another size")

// body reads a list of entries that was fetched, and checks that it is the one that its name says.
func (w *Warden) body(look *fleetLook, content string) (*manifest.Generation, error) {
	if content == look.acceptedContent {
		return look.facts.accepted, nil
	}
	path := filepath.Join(RemoteObjects(w.State), content)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != content {
		return nil, errors.Join(fmt.Errorf("what was fetched as %.12s…: %w", content, manifest.ErrMismatch), w.Disk.Remove(path))
	}
	body, err := manifest.ParseGeneration(data, look.fleet.Limits)
	if err != nil {
		return nil, err
	}
	if body.Gate != look.fleet.Gate {
		return nil, fmt.Errorf("the list of entries is %w: %q", errOther, body.Gate)
	}
	return body, nil
}

// stageRemote makes state/staged/<fingerprint>/ of what was fetched. The directory appears whole or not at all.
func (w *Warden) stageRemote(ctx context.Context, fingerprint string, changes []manifest.Change) error {
	dir := w.stagedDir(fingerprint)
	if w.isStaged(dir, changes) {
		return nil
	}
	return w.fillStaged(fingerprint, func(fresh string) error {
		for _, c := range changes {
			if c.New == nil || c.New.Type != manifest.File {
				continue
			}
			from := filepath.Join(RemoteObjects(w.State), c.New.SHA256)
			switch err := w.copyVerified(ctx, from, filepath.Join(fresh, c.New.SHA256), c.New.SHA256, c.New.Size); {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%q is %w", c.Path, errNotFetched)
			case errors.Is(err, errSize): // it may be what another host has: only this one says that it is longer, or shorter
				return fmt.Errorf("%q is %w: what was fetched has another size", c.Path, errNotFetched)
			case errors.Is(err, manifest.ErrMismatch):
				return errors.Join(fmt.Errorf("%q is %w: what was fetched has other bytes", c.Path, errNotFetched), w.Disk.Remove(from))
			case err != nil:
				return err
			}
		}
		return nil
	})
}

// copyVerified copies a file of ours and keeps the copy only if it has this digest and size.
func (w *Warden) copyVerified(ctx context.Context, from, to, digest string, size int64) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() != size {
		return errors.Join(err, errSize)
	}
	return w.Disk.PutFrom(to, 0o600, func(out io.Writer) error {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(h, out), io.LimitReader(file, size+1))
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case n != size || hex.EncodeToString(h.Sum(nil)) != digest:
			return manifest.ErrMismatch
		}
		return nil
	})
}
