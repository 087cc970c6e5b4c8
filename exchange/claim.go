package exchange

import (
	"slices"
	"time"
)

// maxDelay is how long claims can hold up an alert, all together: after that everybody may tell it, however many hosts
// claimed it one after another.
const maxDelay = 6 * MaxLease

// A Stored claim is one that an implementation keeps.
type Stored struct {
	Host  string
	At    time.Time // by the exchange's clock
	Lease time.Duration
}

// Holder says who holds id at now, the exchange's time, for host, which asks. The claims come in the order in which they
// were stored. It reports false if nobody does, and host may store a claim.
//
// A claim counts if nobody held the id when it was stored. A host that has claimed before cannot claim again: if nobody
// else holds the id, it is that host's once more. That keeps one host from renewing its claim for ever, and lets a
// watcher that died after its claim, and was started again, go on where no other took over.
func Holder(id string, claims []Stored, host string, now time.Time) (Claim, bool) {
	var held Claim
	for _, c := range claims {
		at, lease := c.At, min(max(c.Lease, 0), MaxLease)
		if at.After(now) || at.Before(held.Until) { // the future is forged, or a clock that stepped
			continue
		}
		held = Claim{ID: id, Holder: c.Host, Mine: c.Host == host, Since: at, Until: at.Add(lease)}
	}
	switch {
	case now.Before(held.Until) && !overdue(claims, now):
		return held, true
	case slices.ContainsFunc(claims, func(c Stored) bool { return c.Host == host }) || overdue(claims, now):
		return Claim{ID: id, Holder: host, Mine: true, Since: now, Until: now.Add(MaxLease)}, true
	default:
		return Claim{}, false
	}
}

func overdue(claims []Stored, now time.Time) bool {
	return len(claims) > 0 && now.Sub(claims[0].At) > maxDelay
}
