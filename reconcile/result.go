package reconcile

import (
	"cmp"
	"slices"
	"time"

	"gatehouse/manifest"
)

// A Result says how a gate stands. The zero Result is no answer and counts as the worst that could not be told.
type Result string

// The results, worst first. Those up to Unknown are findings (exit code 1); those from Missing on mean that it
// could not be told (exit code 2); only InSync is good.
const (
	PublisherDisagrees Result = "publisher-disagrees" // root's own look differs from the claim, and not by age
	Mismatch           Result = "mismatch"            // an object does not hash to its name
	Forged             Result = "forged"              // what came as another host's export is not what that host signed
	Replayed           Result = "replayed"            // an older manifest than one that was seen before
	BrokenPolicy       Result = "broken-policy"       // the accepted policy is one that the gate cannot read
	Diverged           Result = "diverged"            // live, accepted and HEAD all differ
	Drifted            Result = "drifted"             // live differs from what was accepted
	Behind             Result = "behind"              // a reviewed state is not in force or not live yet
	Rejected           Result = "rejected"            // a drift that a person saw and does not want
	OtherPolicy        Result = "other-policy"        // the gate says that it judges by another policy than the accepted
	LogRewound         Result = "log-rewound"         // the log of decisions does not go on from what was seen
	Unfollowed         Result = "unfollowed"          // what the hub accepted could not be taken over
	Unpublished        Result = "unpublished"         // live changed after it was published
	Stale              Result = "stale"               // a service still runs what it loaded before the files changed
	Unknown            Result = "unknown"             // what a service has loaded cannot be told
	Missing            Result = "missing"             // no export, or nothing in it
	Overdue            Result = "overdue"             // no newer manifest within twice the interval
	Refused            Result = "refused"             // an entry that nobody could judge
	InFlux             Result = "in-flux"             // it kept changing while it was read
	Unfetched          Result = "unfetched"           // another host's export could not be fetched
	Unreachable        Result = "unreachable"         // the manager of a service does not answer
	Error              Result = "error"               // something of ours failed
	InSync             Result = "in-sync"
)

// isDrift reports whether r is about live files that are not as accepted.
func isDrift(r Result) bool { return r == Drifted || r == Diverged || r == Rejected }

// beside reports whether r says nothing about how the live files stand against what was accepted: it is about what
// services have loaded, what the gate logged, or what the accepted files are worth. None of it stands in the way of a
// review, which may well be what mends it.
func (r Result) beside() bool {
	switch r {
	case Stale, Unknown, Unreachable, OtherPolicy, LogRewound, Unfollowed, BrokenPolicy:
		return true
	}
	return false
}

// rank is the place in that order; what is not named is as bad as Error.
func (r Result) rank() int {
	i := slices.Index([]Result{PublisherDisagrees, Mismatch, Forged, Replayed, BrokenPolicy, Diverged, Drifted, Behind, Rejected,
		OtherPolicy, LogRewound, Unfollowed, Unpublished, Stale, Unknown, Missing, Overdue, Refused, InFlux, Unfetched, Unreachable, Error, InSync}, r)
	if i < 0 {
		return Error.rank()
	}
	return i
}

// severity is how bad r is for whoever is told. It does not depend on the results that only fleets have.
func (r Result) severity() int {
	n := Error.rank() - r.rank()
	for _, remote := range []Result{Forged, Unfollowed, Unfetched} {
		if r.rank() < remote.rank() {
			n--
		}
	}
	return n
}

// Code is the exit code that stands for r: 0 in sync, 1 a finding, 2 could not tell.
func (r Result) Code() int {
	switch {
	case r == InSync:
		return 0
	case r.rank() < Missing.rank():
		return 1
	default:
		return 2
	}
}

// A Finding is one thing that is not as it should be.
type Finding struct {
	Result Result `json:"result"`
	Reason string `json:"reason"`          // a sentence for a person
	Items  []Item `json:"items,omitempty"` // what it is about, where that is a list
	Next   string `json:"next,omitempty"`  // the command that helps
}

// An Item is one element of a finding. Its ID is the same as long as the element is.
type Item struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// A Report is how one gate stood at CheckedAt.
type Report struct {
	Gate        string            `json:"gate"`
	Host        string            `json:"host,omitempty"` // whose it is; empty for this host
	Result      Result            `json:"result"`         // the worst of Findings, or in-sync
	Findings    []Finding         `json:"findings,omitempty"`
	ID          string            `json:"id,omitempty"`          // of the drift, as people give it
	Fingerprint string            `json:"fingerprint,omitempty"` // of Changes, when live is not what was accepted
	Tree        string            `json:"tree"`                  // live, as published
	Vendored    string            `json:"vendored"`              // HEAD of the repository
	Accepted    string            `json:"accepted"`              // root's copy, in force
	Since       time.Time         `json:"since"`
	CheckedAt   time.Time         `json:"checked_at"`
	Changes     []manifest.Change `json:"changes"`                // accepted to live; when behind, accepted to HEAD
	HeadChanges []manifest.Change `json:"head_changes,omitempty"` // accepted to HEAD, when diverged
	Undoes      []string          `json:"undoes,omitempty"`       // paths whose deployed state accepting would take back
	Processes   []Process         `json:"processes,omitempty"`
	Stuck       bool              `json:"stuck,omitempty"`      // a part of the process still waits for an answer
	Restorable  bool              `json:"restorable,omitempty"` // live is what a deploy replaced
	// Unwitnessed says that nobody on this host can look at the live files: the claim is the other host's, and signed.
	Unwitnessed bool `json:"unwitnessed,omitempty"`
}

// Complete reports whether live and accepted were really compared: only then may an open drift be cleared.
func (r *Report) Complete() bool {
	for _, f := range r.Findings {
		switch f.Result {
		case PublisherDisagrees, Mismatch, Forged, Replayed, Unpublished, Missing, Overdue, Refused, InFlux, Unfetched, Error:
			return false
		}
	}
	return r.Result != ""
}

// Files is the worst result about how the live files stand against what was accepted.
func (r *Report) Files() Result {
	for _, f := range r.Findings { // the worst first
		if !f.Result.beside() {
			return f.Result
		}
	}
	if r.Result == "" {
		return ""
	}
	return InSync
}

// Has reports whether result is among the findings.
func (r *Report) Has(result Result) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Result == result })
}

// curable reports whether the agent's next publish should cure a finding, which is then announced only if one such
// finding or another outlasts an interval. Where there is no claim to begin with, nothing will.
func (r *Report) curable(result Result) bool {
	switch result {
	case Unpublished, InFlux:
		return r.Tree != "" && !r.Has(Replayed)
	case Behind:
		return r.Restorable
	default:
		return false
	}
}

// Worst returns the worst result of the reports, InSync for none.
func Worst(reports []Report) Result {
	worst := InSync
	for _, r := range reports {
		if r.Result.rank() < worst.rank() {
			worst = r.Result
		}
	}
	return worst
}

// settle sorts the findings and takes the worst as the result.
func (r *Report) settle() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Result.rank(), b.Result.rank()) })
	r.Result = InSync
	if len(r.Findings) > 0 {
		r.Result = r.Findings[0].Result
	}
}
