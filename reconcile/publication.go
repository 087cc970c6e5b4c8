package reconcile

import (
	"fmt"
	"slices"
	"time"

	"gatehouse/manifest"
)

// publication is what is remembered of a gate's manifests. Times are the warden's own: when a manifest was first seen,
// never what it says of itself.
type publication struct {
	Sequence  uint64    `json:"sequence"` // high-water mark
	Digest    string    `json:"digest"`   // SHA-256 of the bytes of the manifest with that sequence
	Boots     []string  `json:"boots"`    // boot ids of this host from which there were manifests, the present one last
	ArrivedAt time.Time `json:"arrived_at"`
	// Floor is a time before which the newest manifest cannot have been begun: an older one stood there then.
	Floor  time.Time `json:"floor"`
	SeenAt time.Time `json:"seen_at"` // when an accepted-as-ordered manifest was last read
}

const (
	// maxAhead bounds a forged sequence: they count milliseconds since 1970, so an honest one cannot be much ahead.
	maxAhead = time.Hour
	// maxPublish is how long a publisher may have been at work on a manifest before it appeared.
	maxPublish = time.Minute
	maxBoots   = 64
)

// order reports why m cannot be the manifest that follows what was seen, or nil.
func (p *publication) order(m *manifest.Manifest, digest string, now time.Time) *Finding {
	replayed := func(format string, args ...any) *Finding {
		return &Finding{Result: Replayed, Reason: fmt.Sprintf(format, args...), Next: "gate publish"}
	}
	latest := uint64(now.Add(maxAhead).UnixMilli())
	switch boot := slices.Index(p.Boots, m.BootID); {
	case m.Sequence > latest:
		return replayed("the manifest's sequence number %d is ahead of the clock", m.Sequence)
	case m.Sequence < p.Sequence && p.Sequence <= latest: // a mark beyond that was set while the clock was wrong
		return replayed("the manifest has sequence number %d, but %d was seen before", m.Sequence, p.Sequence)
	case m.Sequence == p.Sequence && digest != p.Digest:
		return replayed("there are two manifests with sequence number %d", m.Sequence)
	case boot >= 0 && boot != len(p.Boots)-1:
		return replayed("the manifest is from an earlier boot of the host (%s)", m.BootID)
	}
	return nil
}

// next is what is remembered after m was read in order, on a host whose own boot id is boot.
func (p publication) next(m *manifest.Manifest, digest, boot string, now time.Time) publication {
	if m.Sequence != p.Sequence || digest != p.Digest {
		if !p.SeenAt.IsZero() {
			p.Floor = p.SeenAt.Add(-maxPublish)
		}
		p.Sequence, p.Digest, p.ArrivedAt = m.Sequence, digest, now
	}
	if m.BootID == boot && !slices.Contains(p.Boots, boot) { // a boot that never was counts for nothing
		p.Boots = append(slices.Clone(p.Boots), m.BootID)
		if extra := len(p.Boots) - maxBoots; extra > 0 {
			p.Boots = p.Boots[extra:]
		}
	}
	p.SeenAt = now
	return p
}

// overdue reports that nothing newer than what was seen has arrived for two intervals.
func (p *publication) overdue(m *manifest.Manifest, interval time.Duration, now time.Time) *Finding {
	if m.Sequence != p.Sequence || p.ArrivedAt.IsZero() {
		return nil // it has only just arrived
	}
	if age := now.Sub(p.ArrivedAt); age > 2*interval {
		return &Finding{Result: Overdue, Next: "gate publish",
			Reason: fmt.Sprintf("the newest manifest arrived %v ago; one is due every %v", age.Round(time.Second), interval)}
	}
	return nil
}

// silent is overdue where there is no manifest to hold against what was seen.
func (p *publication) silent(interval time.Duration, now time.Time) *Finding {
	return p.overdue(&manifest.Manifest{Sequence: p.Sequence}, interval, now)
}
