package peer

import (
	"cmp"
	"slices"
)

// heard is what one host said of an alert. It can say "told" once and "over" once for each time that this watcher sees
// the alert open: what it changes after that, takes back or says again counts for nothing. Otherwise one that lies could
// keep an alert from being told for ever, by saying something new whenever its last word is about to count no more.
type heard struct {
	Round int  `json:"round"`
	Told  bool `json:"told"`
	Over  bool `json:"over"`
	Spent bool `json:"spent"` // its heartbeats were in question meanwhile: nothing of it counts
}

// plausible is up to which round a host is believed on its own. Above, each only follows the one before.
const plausible = 1 << 10

// hear takes up what is new in what others say of the alert. own is the round in which this host told it.
func (a *alert) hear(words []word, own int) {
	words = slices.Clone(words)
	slices.SortFunc(words, func(x, y word) int { return cmp.Or(cmp.Compare(x.Round, y.Round), cmp.Compare(x.host, y.host)) })
	for _, w := range words {
		h, known := a.Heard[w.host]
		if !a.mayBeToldBy(w) || h.Spent || h.Told && (h.Over || !w.Over) || known && !h.Told && w.Over {
			continue
		}
		if !h.Told || !known || w.Round > h.Round { // who told a round may end a later one, which another told
			h.Round = w.Round
			if h.Round > plausible {
				h.Round = min(h.Round, 1+a.highest(own))
			}
		}
		h.Told, h.Over = h.Told || !w.Over, w.Over
		if a.Heard == nil {
			a.Heard = make(map[string]heard)
		}
		a.Heard[w.host] = h
	}
}

// mayBeToldBy reports whether a word is about this alert, and from another than the host that it is about.
func (a *alert) mayBeToldBy(w word) bool {
	if w.Kind != a.Kind || noticeName(w.Subject) != noticeName(a.Subject) {
		return false
	}
	return a.Kind == Split || noticeName(w.host) != noticeName(a.Subject)
}

func (a *alert) highest(own int) int {
	for _, h := range a.Heard {
		own = max(own, h.Round)
	}
	return own
}

// distrust takes back what hosts said that are in question now, for good.
func (a *alert) distrust(inQuestion func(host string) bool) {
	for host, h := range a.Heard {
		if inQuestion(host) {
			h.Spent = true
			a.Heard[host] = h
		}
	}
}

// believed is what others said and counts.
func (a *alert) believed() (words []word) {
	for host, h := range a.Heard {
		if !h.Spent {
			words = append(words, word{host, statement{Kind: a.Kind, Subject: a.Subject, Round: h.Round, Over: h.Over}})
		}
	}
	return words
}
