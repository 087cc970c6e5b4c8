package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/manifest"
	vendorgate "gatehouse/vendor-gate"
)

// facts is what one look at a gate found. A nil generation stands for none.
type facts struct {
	accepted *manifest.Generation // root's own copy
	at       vendorgate.Head      // where the repository stood
	head     *manifest.Generation // vendored there
	claim    *manifest.Manifest   // what the publisher says; nil with claimErr
	claimErr error
	export   string             // the directory that the claim is from
	digest   string             // SHA-256 of the manifest's bytes
	witness  *manifest.Snapshot // what root saw itself; nil without a witness

	byAccepted bool  // the accepted copy is what judges the agent's calls
	broken     error // why the accepted policy does not compile
}

// judge says how a gate stands. It reads no clock and no file.
func judge(gate string, f facts, s *state, interval time.Duration, now time.Time) Report {
	r := Report{Gate: gate, CheckedAt: now, Accepted: tree(f.accepted), Vendored: tree(f.head), Changes: []manifest.Change{}}
	if f.broken != nil {
		r.Findings = append(r.Findings, brokenPolicy(f.broken))
	}
	if f.claim == nil {
		r.Findings = append(r.Findings, unreadable(f.export, f.claimErr))
		r.Findings = append(r.Findings, unclaimed(f)...)
		r.addFinding(s.Log.finding(gate))
		r.settle()
		return r
	}
	r.Tree = f.claim.Tree
	if finding := s.Publication.order(f.claim, f.digest, now); finding != nil {
		r.Findings = append(r.Findings, *finding) // an old claim says nothing about now
		r.Findings = append(r.Findings, unclaimed(f)...)
		r.addFinding(s.Log.finding(gate))
		r.settle()
		return r
	}
	direction(&r, f, s)
	if overdue := s.Publication.overdue(f.claim, interval, now); overdue != nil {
		r.Findings = append(r.Findings, *overdue)
	}
	r.Findings = append(r.Findings, refusals(f)...)
	if f.witness != nil {
		r.Findings = append(r.Findings, compareWitness(f, s, now)...)
	}
	r.addFinding(s.Log.next(f.claim.Log, now).finding(gate))
	r.addFinding(otherPolicy(f, s))
	r.settle()
	return r
}

// direction compares live, accepted and HEAD, as the table in the design has it.
func direction(r *Report, f facts, s *state) {
	unjudged := unjudgedPaths(f)
	live, accepted, head := judged(liveSide(f), unjudged), judged(entries(f.accepted), unjudged), judged(entries(f.head), unjudged)
	liveTree, acceptedTree, headTree := manifest.Tree(live), manifest.Tree(accepted), manifest.Tree(head)
	deploy := "warden deploy " + r.Gate
	switch {
	case liveTree == acceptedTree && headTree == acceptedTree:
		if f.accepted == nil && len(live) == 0 {
			r.add(Missing, "nothing was accepted yet, and no live file is there", "")
		}
	case liveTree == acceptedTree && f.head == nil:
		r.Changes = manifest.Diff(accepted, head)
		r.add(Behind, "git has nothing for the gate on the branch that is checked out; switch to the one that has it, or "+
			"take the gate out of the configuration", "")
	case liveTree == acceptedTree:
		r.Changes = manifest.Diff(accepted, head)
		r.add(Behind, "git has a reviewed change that is not in force yet", deploy)
	case headTree == acceptedTree && f.accepted != nil && s.replaced(f.accepted.Tree) == liveTree:
		r.Restorable = true
		r.Changes = manifest.Diff(accepted, live)
		r.add(Behind, "the accepted files are in force, but the live ones are still those that were replaced", "gate restore")
	case headTree == acceptedTree:
		r.Changes = manifest.Diff(accepted, live)
		r.Fingerprint = manifest.Fingerprint(r.Gate, r.Changes)
		r.Undoes = s.undone(r.Accepted, r.Changes)
		if rejection, ok := s.Rejected[r.Fingerprint]; ok {
			r.add(Rejected, fmt.Sprintf("rejected by %s: %s", rejection.By, rejection.Why), "gate restore")
			return
		}
		if len(r.Undoes) > 0 {
			r.add(Drifted, fmt.Sprintf("the live files have changes of their own and have not taken over what was deployed (%s)",
				strings.Join(r.Undoes, ", ")), "gate restore")
			return
		}
		reason := fmt.Sprintf("the live files differ from what was accepted in %s", count(len(r.Changes), "entry", "entries"))
		if f.accepted == nil {
			reason = fmt.Sprintf("nothing was accepted yet: %s that nobody has reviewed", count(files(live), "file", "files"))
		}
		r.add(Drifted, reason, "warden accept "+s.driftID(r.Fingerprint))
	case liveTree == headTree:
		r.Changes = manifest.Diff(accepted, head)
		r.add(Behind, "live and git agree on a state that is not in force yet", deploy)
	default:
		r.Changes = manifest.Diff(accepted, live)
		r.HeadChanges = manifest.Diff(accepted, head)
		r.Fingerprint = manifest.Fingerprint(r.Gate, r.Changes)
		r.add(Diverged, "live, accepted and git all differ", deploy)
	}
}

// unreadable turns the reason for having no claim into a finding.
func unreadable(export string, err error) Finding {
	switch {
	case err == nil:
		return Finding{Result: Error, Reason: "there is no manifest and no reason why"}
	case isMissing(err):
		return Finding{Result: Missing, Reason: fmt.Sprintf("nothing is published: no manifest in %q", export), Next: "gate publish"}
	case isInFlux(err), errors.Is(err, errExportMoved):
		return Finding{Result: InFlux, Reason: err.Error()}
	case manifest.IsHostile(err):
		return Finding{Result: Refused, Reason: fmt.Sprintf("the export cannot be judged: %v", err), Next: "gate publish"}
	default:
		return Finding{Result: Error, Reason: err.Error()}
	}
}

// unclaimed compares what root has seen with what was accepted, where no claim is to be had. It can be told, but not
// staged.
func unclaimed(f facts) []Finding {
	if f.witness == nil || f.accepted == nil {
		return nil
	}
	finding := Finding{Result: Unpublished, Next: "gate publish",
		Reason: "root itself sees live files that differ from what was accepted, and no manifest says so"}
	unjudged := make(map[string]bool)
	for _, r := range f.witness.Refused {
		unjudged[r.Path] = true
	}
	for _, c := range manifest.Diff(judged(f.accepted.Entries, unjudged), judged(f.witness.Entries, unjudged)) {
		finding.Items = append(finding.Items, Item{ID: "unclaimed/" + c.ID(), Text: ChangeText(&c)})
	}
	if len(finding.Items) == 0 {
		return nil
	}
	return []Finding{finding}
}

// unjudgedPaths are the paths that are neither there nor gone. With a witness they are what root itself could not
// read: that the publisher refuses a path is a claim, and hides nothing that root can see.
func unjudgedPaths(f facts) map[string]bool {
	refused := claimRefused(f)
	if f.witness != nil {
		refused = make(map[string]bool)
		for _, r := range f.witness.Refused {
			refused[r.Path] = true
		}
	}
	return refused
}

// claimRefused are the paths that the publisher refuses and says nothing else about.
func claimRefused(f facts) map[string]bool {
	paths := make(map[string]bool)
	if f.claim == nil {
		return paths
	}
	for _, r := range f.claim.Refused {
		paths[r.Path] = true
	}
	for i := range f.claim.Entries {
		for path := f.claim.Entries[i].Path; path != ""; path = parentOf(path) {
			delete(paths, path)
		}
	}
	return paths
}

// liveSide is what is live, as the publisher says, with what it refuses as root has seen it.
func liveSide(f facts) []manifest.Entry {
	refused := claimRefused(f)
	if f.witness == nil || len(refused) == 0 {
		return f.claim.Entries
	}
	live := slices.Clone(f.claim.Entries)
	for _, e := range f.witness.Entries {
		if below(refused, e.Path) {
			live = append(live, e)
		}
	}
	slices.SortFunc(live, func(a, b manifest.Entry) int { return strings.Compare(a.Path, b.Path) })
	return live
}

// judged returns the entries without those that are, or lie below, an unjudged path.
func judged(list []manifest.Entry, unjudged map[string]bool) []manifest.Entry {
	if len(unjudged) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e manifest.Entry) bool { return below(unjudged, e.Path) })
}

// refusals lists what the publisher or the witness could not judge, each path once.
func refusals(f facts) []Finding {
	refused := Finding{Result: Refused, Reason: "something in the live tree cannot be judged; remove it or exclude it"}
	influx := Finding{Result: InFlux, Reason: "files kept changing while they were read"}
	seen := make(map[string]bool)
	add := func(list []manifest.Refusal, whose string, believed bool) {
		for _, r := range list {
			if seen[r.Path] {
				continue
			}
			seen[r.Path] = true
			item := Item{ID: "refused/" + r.Path, Text: r.Path + ": " + whose + r.Reason}
			if r.InFlux() && believed {
				influx.Items = append(influx.Items, item)
			} else {
				refused.Items = append(refused.Items, item)
			}
		}
	}
	if f.witness != nil {
		add(f.witness.Refused, "", true)
	}
	add(f.claim.Refused, "the publisher says: ", f.witness == nil)
	return slices.DeleteFunc([]Finding{refused, influx}, func(f Finding) bool { return len(f.Items) == 0 })
}

func (r *Report) add(result Result, reason, next string) {
	r.Findings = append(r.Findings, Finding{Result: result, Reason: reason, Next: next})
}

// addFinding adds a finding, if there is one.
func (r *Report) addFinding(f *Finding) {
	if f != nil {
		r.Findings = append(r.Findings, *f)
	}
}

// DriftID is how a fingerprint is shown: "d-" and its first 12 digits.
func DriftID(fingerprint string) string {
	if len(fingerprint) > 12 {
		fingerprint = fingerprint[:12]
	}
	return "d-" + fingerprint
}

func tree(g *manifest.Generation) string {
	if g == nil {
		return ""
	}
	return g.Tree
}

func entries(g *manifest.Generation) []manifest.Entry {
	if g == nil {
		return nil
	}
	return g.Entries
}

func files(entries []manifest.Entry) int {
	n := 0
	for i := range entries {
		if entries[i].Type == manifest.File {
			n++
		}
	}
	return n
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// parentOf returns the path of the directory that holds path, or nothing for a live root.
func parentOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ""
	}
	return path[:i]
}
