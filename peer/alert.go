package peer

import "time"

// How the watchers take turns.
const (
	turn      = 30 * time.Second // between one watcher and the next
	longest   = 10 * time.Minute // that any of them waits for its turn
	leaseTime = 10 * time.Minute // of a claim: longer than a delivery takes, and a look later
	believed  = 24 * time.Hour   // for how long a first "told" counts, doubled with each host that says so
	keepSaid  = 7 * 24 * time.Hour
)

// An alert is a finding that this host saw, on its way to the receivers that all watchers share.
type alert struct {
	Kind     Kind          `json:"kind"`
	Subject  string        `json:"subject"`
	For      time.Duration `json:"for"`       // open, as this host sees it
	Over     bool          `json:"over"`      // this host sees it no more
	OverFor  time.Duration `json:"over_for"`  // since when
	Round    int           `json:"round"`     // the highest that was heard of
	Ended    bool          `json:"ended"`     // that round was said to be over
	RoundFor time.Duration `json:"round_for"` // since when that is known
	Record   string        `json:"record"`    // of its notice, where this host has one
	Sent     bool          `json:"sent"`      // it reached a receiver
	Closing  bool          `json:"closing"`   // the record is cleared, and some receiver may not know
	Lost     bool          `json:"lost"`      // the memory of it was: whether it is over is not known yet
	Held     time.Duration `json:"held"`      // by claims of others, when it was this host's turn
	Reason   string        `json:"reason"`
	Next     string        `json:"next"`
	// Heard is what others said of it, by host: as much of that as counts.
	Heard map[string]heard `json:"heard"`
}

// A move is what a watcher does about an alert.
type move string

const (
	wait   move = "wait"
	tell   move = "tell"   // claim it, and send
	finish move = "finish" // send the closing line
	claim  move = "claim"  // the same, once it is claimed
	drop   move = "drop"   // another told it: say nothing more
	forget move = "forget"
)

// A seat is where a watcher stands among the others for one alert.
type seat struct {
	host   string
	rank   int                    // how many are before it in turn
	gone   func(host string) bool // is a watcher in no state to go on
	settle time.Duration          // after which everybody has seen what there is to see
}

// plan says what this watcher does next about an alert.
func (a *alert) plan(s standing, at seat) move {
	if a.Over {
		return a.planOver(s, at)
	}
	patience := min(time.Duration(at.rank)*turn, longest)
	switch {
	case s.round == 0:
		if a.Record == "" && a.For < patience {
			return wait
		}
		return tell
	case !s.over && s.holder == at.host:
		return wait // it was told by this host
	case a.RoundFor < a.patience(s, at)+patience:
		if a.Record != "" && !a.Sent {
			return drop
		}
		return wait
	case a.Sent && a.Record != "":
		return wait // this host told it once; another round is for the others
	default:
		return tell
	}
}

// patience is for how long what another said counts while this host still sees the finding.
func (a *alert) patience(s standing, at seat) time.Duration {
	if s.over {
		return at.settle
	}
	return believed << min(s.tellers-1, 5)
}

func (a *alert) planOver(s standing, at seat) move {
	patience := min(time.Duration(at.rank)*turn, longest)
	switch {
	case a.Lost && a.OverFor < 2*at.settle:
		return wait // what there is to see has to be seen again first
	case s.over && a.Record != "":
		return drop
	case s.over:
		return forget
	case s.round == 0 && a.Record != "":
		return claim // nobody could be told while it was open; one of those who tried says so now
	case s.round == 0:
		return forget
	case s.holder == at.host:
		return finish
	case at.gone(s.holder) && a.OverFor >= patience, a.OverFor >= at.settle+patience:
		return claim
	default:
		return wait
	}
}
