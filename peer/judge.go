package peer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/exchange"
	"gatehouse/manifest"
)

// A view is what a reader saw in the exchange.
type view struct {
	Beats map[string]observed // by host
	Self  *Heartbeat          // the reader's own last one, which takes part in what hosts are to agree on
	Err   error               // why nothing, or not all, could be seen: then nothing counts
}

// An observed is what lies under the name of a host.
type observed struct {
	Value []byte
	Err   error // it is there, and cannot be read
}

// unread says why it could not be read, where that is nobody's doing and tells nothing of the host; else nothing.
func (o observed) unread() string {
	if o.Err == nil || errors.Is(o.Err, exchange.ErrTooLarge) || errors.Is(o.Err, exchange.ErrCorrupt) || !manifest.IsUnread(o.Err) {
		return ""
	}
	return o.Err.Error()
}

// judge holds what was seen against what is remembered, and returns what is now to be remembered and what is not as it
// should be, the worst first. It reads no clock and changes neither of its arguments.
func judge(memory Memory, look view, inventory []Host, now Reading) (Memory, []Finding) {
	next := memory.clone()
	j := judgement{memory: &next, now: now}
	next.Read = now
	passed, sameBoot := now.since(memory.Read)
	if look.Err != nil {
		next.Gap = true
		if sameBoot {
			next.Blind += passed
		}
		next.Reason = look.Err.Error()
	} else {
		j.sight(look, inventory)
		next.Seen, next.Gap, next.Blind, next.Reason = now, false, 0, ""
	}
	j.conclude(look, inventory)
	if !sameBoot {
		passed = 0
	}
	return next, j.settle(passed)
}

type judgement struct {
	memory   *Memory
	now      Reading
	findings []Finding
}

// sight takes in what a look that reached the exchange has shown.
func (j *judgement) sight(look view, inventory []Host) {
	looked, sameBoot := j.now.since(j.memory.Seen)
	known := make(map[string]*Acquaintance, len(inventory))
	for _, h := range inventory {
		a := j.memory.Hosts[h.Name]
		if a == nil || a.Key != FormatKey(h.Key) {
			a = &Acquaintance{Key: FormatKey(h.Key)}
		} else if look.Beats[h.Name].unread() == "" {
			a.pass(j.counted(looked, h), sameBoot)
		} else {
			a.pass(0, sameBoot) // nobody knows whether it said something meanwhile
		}
		known[h.Name] = a
		seen, there := look.Beats[h.Name]
		if a.Unread = seen.unread(); a.Unread == "" {
			a.see(h, seen, there)
		}
	}
	j.memory.Hosts = known
	j.sightSplits(look.Self, inventory, looked, sameBoot)
}

// counted is how much of the time between two looks the reader may hold against a host. A reader that was away for long
// knows no more than that one interval went by: the exchange may have been away as well, or the whole fleet. Where a
// look between the two failed, that is likely, and hosts may only just have come back to it.
func (j *judgement) counted(looked time.Duration, h Host) time.Duration {
	if j.memory.Gap {
		return min(looked, h.Interval/2)
	}
	return min(looked, h.Interval)
}

// pass lets time go by. In a new boot of the reader it begins anew for everybody who is not silent already.
func (a *Acquaintance) pass(looked time.Duration, sameBoot bool) {
	if !sameBoot {
		looked = 0
		if !a.Silent {
			a.Quiet = 0
		}
	}
	a.Quiet += looked
	if a.Beat != nil && a.Beat.Maintenance != nil {
		a.Maintenance += looked
	}
}

// see takes in what lies under the name of a host.
func (a *Acquaintance) see(h Host, seen observed, there bool) {
	if !there {
		a.fault("", "", "")
		return
	}
	digest := digestOf(seen.Value)
	switch {
	case seen.Err != nil:
		a.fault(BadSignature, "what lies there under its name cannot be read: "+seen.Err.Error(), "")
		return
	case digest == a.Digest:
		a.fault("", "", "")
		return
	case a.Fault != "" && digest == a.FaultDigest:
		return // judged before
	}
	beat, err := ParseHeartbeat(h.Name, h.Key, seen.Value)
	if err != nil {
		a.fault(BadSignature, "what lies there under its name is not from it: "+err.Error(), digest)
		return
	}
	if why := a.older(beat); why != "" {
		a.fault(Replayed, why, digest)
		return
	}
	a.believe(beat, digest)
}

// older says why a heartbeat that the host did sign cannot be its newest.
func (a *Acquaintance) older(beat Heartbeat) string {
	switch last := a.Beat; {
	case last == nil:
		return ""
	case beat.Sequence < last.Sequence:
		return fmt.Sprintf("heartbeat %d came after %d: an old one was put back, or its state was lost, or two machines use its name",
			beat.Sequence, last.Sequence)
	case beat.Sequence == last.Sequence:
		return fmt.Sprintf("there are two different heartbeats %d: two machines use its name and key, or its state was put back", beat.Sequence)
	case slices.Contains(a.Boots, beat.BootID):
		return fmt.Sprintf("heartbeat %d is of a boot that had ended: two machines use its name and key", beat.Sequence)
	default:
		return ""
	}
}

const rememberedBoots = 16

func (a *Acquaintance) believe(beat Heartbeat, digest string) {
	if a.Beat != nil && a.Beat.BootID != beat.BootID {
		a.Boots = append(slices.Clone(a.Boots), a.Beat.BootID)
		a.Boots = a.Boots[max(0, len(a.Boots)-rememberedBoots):]
	}
	if beat.Maintenance == nil {
		a.Maintenance = 0
	}
	a.Beat, a.Digest, a.Quiet, a.Silent = &beat, digest, 0, false
	a.fault("", "", "")
}

func (a *Acquaintance) fault(kind Kind, reason, digest string) {
	a.Fault, a.FaultReason, a.FaultDigest = kind, reason, digest
}

// Excused is for how long after its last heartbeat a host said that it may be silent. What it has announced without a
// break before is taken off: nobody is in maintenance for ever.
func (a *Acquaintance) Excused() time.Duration {
	if a.Beat == nil || a.Beat.Maintenance == nil {
		return 0
	}
	left := min(time.Duration(min(a.Beat.Maintenance.Left, int64(MaxMaintenance/time.Second)))*time.Second, MaxMaintenance)
	before := max(0, a.Maintenance-a.Quiet)
	return min(left, max(0, MaxMaintenance-before))
}

// sightSplits notes which gates hosts do not agree on. A host that is silent has no say.
func (j *judgement) sightSplits(self *Heartbeat, inventory []Host, looked time.Duration, sameBoot bool) {
	trees := j.acceptedTrees(self, inventory)
	if !sameBoot {
		looked = 0
	}
	for gate := range j.memory.Splits {
		if len(trees[gate]) < 2 {
			delete(j.memory.Splits, gate)
		}
	}
	for gate, hosts := range trees {
		if len(hosts) < 2 {
			continue
		}
		if lasted, known := j.memory.Splits[gate]; known {
			j.memory.Splits[gate] = lasted + min(looked, shortest(inventory))
		} else {
			j.memory.Splits[gate] = 0
		}
	}
}

// acceptedTrees lists, by gate and accepted tree, the hosts that have it.
func (j *judgement) acceptedTrees(self *Heartbeat, inventory []Host) map[string]map[string][]string {
	trees := make(map[string]map[string][]string)
	add := func(beat *Heartbeat) {
		for _, g := range beat.Gates {
			if g.Accepted == "" {
				continue
			}
			if trees[g.Name] == nil {
				trees[g.Name] = make(map[string][]string)
			}
			trees[g.Name][g.Accepted] = append(trees[g.Name][g.Accepted], beat.Host)
		}
	}
	if self != nil {
		add(self)
	}
	for _, h := range inventory {
		if a := j.memory.Hosts[h.Name]; a != nil && a.Beat != nil && a.Fault == "" && a.Quiet <= h.deadline() {
			add(a.Beat)
		}
	}
	return trees
}

func shortest(inventory []Host) time.Duration {
	interval := 365 * 24 * time.Hour
	for _, h := range inventory {
		interval = min(interval, h.Interval)
	}
	return interval
}

// longestDeadline is when each host has had the time to follow another.
func longestDeadline(inventory []Host) (longest time.Duration) {
	for _, h := range inventory {
		longest = max(longest, h.deadline())
	}
	return longest
}

// conclude lists what is not as it should be. What could not be looked at stands as it stood.
func (j *judgement) conclude(look view, inventory []Host) {
	var grace time.Duration
	for _, h := range inventory {
		grace = max(grace, h.Grace)
		if a := j.memory.Hosts[h.Name]; a != nil {
			j.concludeHost(h, a)
		}
	}
	for gate, lasted := range j.memory.Splits {
		if lasted > longestDeadline(inventory) {
			j.concludeSplit(gate, look.Self, inventory)
		}
	}
	if look.Err != nil {
		j.find(Finding{Kind: Unavailable, For: j.memory.Blind, Alert: alertID(Unavailable, "", j.memory.Seen.BootID, j.memory.Seen.Monotonic),
			Reason: "nothing is known of other hosts: " + j.memory.Reason, Next: "warden beat"})
	}
}

func (j *judgement) concludeHost(h Host, a *Acquaintance) {
	var last uint64
	if a.Beat != nil {
		last = a.Beat.Sequence
	}
	find := func(kind Kind, reason, next string, episode any) {
		j.find(Finding{Kind: kind, Host: h.Name, Alert: alertID(kind, h.Name, a.Key, episode), Reason: reason, Next: next})
	}
	if a.Fault != "" {
		next := "warden peers key # on " + h.Name + ", and compare with peers.hosts here"
		if a.Fault == Replayed {
			next = "warden peers forget " + h.Name + " # once you know why"
		}
		find(a.Fault, a.FaultReason, next, last)
	}
	if a.Unread != "" {
		find(Unavailable, "its heartbeat could not be read, and whether it is silent is not known: "+a.Unread, "warden beat", last)
	}
	late := a.Quiet > h.deadline()+a.Excused()
	switch {
	case !late && !a.Silent:
	case a.Beat == nil:
		a.Silent = true
		find(Unseen, fmt.Sprintf("it is in the inventory, and nothing has come from it for longer than %v", h.deadline()),
			"warden doctor # on "+h.Name, last)
	default:
		a.Silent = true
		reason := fmt.Sprintf("nothing has come from it since heartbeat %d, for longer than %v", last, h.deadline()+a.Excused())
		if announced := time.Duration(a.Beat.Interval) * time.Second; announced > h.Interval {
			reason += fmt.Sprintf("; it says that it makes a pass every %v, and peers.hosts here expects one every %v", announced, h.Interval)
		}
		find(Silent, reason, "systemctl list-timers 'gatehouse-*' # on "+h.Name, last)
	}
	if a.Beat != nil && time.Duration(a.Beat.Pending.Oldest)*time.Second > 2*h.Interval && a.Beat.Pending.Count > 0 {
		p := a.Beat.Pending
		find(Undelivered, fmt.Sprintf("it could not deliver %d of its notices, the oldest for %v", p.Count, round(time.Duration(p.Oldest)*time.Second)),
			"warden notify # on "+h.Name, p.Since)
	}
}

const namedHosts = 4

func (j *judgement) concludeSplit(gate string, self *Heartbeat, inventory []Host) {
	trees := j.acceptedTrees(self, inventory)[gate]
	var list []string
	for tree := range trees {
		list = append(list, tree)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(trees[b]), len(trees[a])), strings.Compare(a, b))
	})
	var parts []string
	for i, tree := range list {
		if i == namedHosts {
			parts = append(parts, fmt.Sprintf("%d more trees", len(list)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%.12s on %s", tree, someOf(trees[tree])))
	}
	slices.Sort(list)
	j.find(Finding{Kind: Split, Gate: gate, Alert: alertID(Split, gate, strings.Join(list, " "), 0), Next: "warden peers",
		Reason: fmt.Sprintf("hosts have other accepted trees of it: %s", strings.Join(parts, "; "))})
}

// someOf names a few hosts, and how many there are.
func someOf(hosts []string) string {
	slices.Sort(hosts)
	if len(hosts) <= namedHosts {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:namedHosts-1], ", "), len(hosts)-namedHosts+1)
}

func (j *judgement) find(f Finding) { j.findings = append(j.findings, f) }

// settle gives findings that were there at the last look the id that they had, counts for how long they are there, and
// puts the worst first.
func (j *judgement) settle(passed time.Duration) []Finding {
	open := make(map[string]opened, len(j.findings))
	for i := range j.findings {
		f := &j.findings[i]
		key := string(f.Kind) + "/" + f.Subject()
		o, known := j.memory.Open[key]
		if known {
			o.For += passed
		} else {
			o = opened{Alert: f.Alert}
		}
		if f.For == 0 {
			f.For = o.For
		}
		f.Alert = o.Alert
		open[key] = o
	}
	j.memory.Open = open
	slices.SortFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Kind.Severity(), a.Kind.Severity()), slices.Index(Kinds(), a.Kind)-slices.Index(Kinds(), b.Kind),
			strings.Compare(a.Subject(), b.Subject()))
	})
	return j.findings
}

// alertID names one episode of a finding, alike on all hosts that see it.
func alertID(kind Kind, subject, of string, episode any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "gatehouse/alert/v1 %q %q %q %v", kind, subject, of, episode))
	return string(kind) + "-" + hex.EncodeToString(sum[:12])
}

func digestOf(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// round shows a duration as people say it.
func round(d time.Duration) time.Duration {
	if d > time.Hour {
		return d.Round(time.Minute)
	}
	return d.Round(time.Second)
}
