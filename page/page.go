// Package page shows a host, and the fleet that it knows of, to people and to Prometheus.
//
// HTML and Metrics are pure functions of one value, a Site, and always work in these steps:
//
//   - sort: the worst first, in the order of Results; what Results does not name counts as what could not be told;
//   - group: hosts with the same result of the same gate and the same drift are one group, however many they are;
//   - bound: every list and every text has a limit, and what is left out is counted (bounds.go);
//   - write: html/template, or the text exposition format by hand.
//
// The page is read-only, is one file, has no script and loads nothing. Its style is in it and is admitted by its digest
// (Policy), so that a browser ignores whatever else a name might smuggle in. Colour never says anything alone: a word
// and a shape stand beside it. All names and lines come from the trees of agents or from other hosts; text.go makes them
// harmless. A page that is left open says after a while that it is old, by its style alone; it reloads itself only where
// somebody asked for that (Site.Refresh), since a page that moves under a reader is a hindrance.
//
// Metrics have few labels: gates of this host, results and kinds, never other hosts or drifts. So the number of series
// does not grow with the fleet.
//
// page knows no other package of the house. Who fills a Site decides nothing about how bad a thing is: it gives
// the name of a result, and page knows the names.
package page

import "time"

// A Site is all that is shown.
type Site struct {
	Host    string
	Version string
	At      time.Time // when this was looked at; its location is the one in which times are shown

	Gates    []Gate    // of this host
	Fleet    []Gate    // of other hosts: Host is set
	Peers    []Peer    // the hosts that this one watches, those that are well among them; a host may have several findings
	Failures []Failure // runs of our own units
	Notices  []Notice  // that somebody has not been told yet
	History  []Event   // what people decided, oldest first
	Warnings []string  // what could not be looked at

	Served  bool          // by the listener, which knows the query "refresh"
	Refresh time.Duration // the page reloads itself this often; 0 for never
}

// A Gate is how one gate of one host stands.
type Gate struct {
	Host      string // of the fleet; empty for this host
	Name      string
	Result    string // of Results
	Unseen    bool   // no pass was made yet
	ID        string // of the drift, as people give it
	Tree      string // that is in force
	Since     time.Time
	CheckedAt time.Time // by the last pass
	// Unwitnessed says that nobody but the host itself has seen its live files.
	Unwitnessed bool

	Findings  []Finding
	Changes   int    // of the live files, all of them
	Diffs     []Diff // of some or all of the changes
	Processes []Process
	Pause     *Pause
	Grants    []Grant
}

// A Finding is one thing that is not as it should be.
type Finding struct {
	Result string
	Reason string
	Items  []string
	Next   string // the command that helps
}

// A Diff shows one change: its first line says which, the others how.
type Diff struct {
	Lines []string
}

// A Process is what a service has loaded.
type Process struct {
	Unit    string
	Verdict string // loaded, stale, unknown, not-running
	Reason  string
	Since   time.Time // start of the process
	Fix     string    // the command that helps
}

// A Pause holds back notices.
type Pause struct {
	Until   time.Time
	By, Why string
}

// A Grant is an exception that is in force.
type Grant struct {
	ID    string
	Text  string
	Cwd   string
	By    string
	Until time.Time
}

// A Peer is how another host is seen from here.
type Peer struct {
	Host    string    // empty for a finding about no single one
	Finding string    // a kind of package peer; empty for one that is well
	Reason  string    // a sentence for a person
	Since   time.Time // of the finding
	Seen    time.Time // the last heartbeat
	Next    string    // the command that helps
}

// A Failure is a run of a unit that failed.
type Failure struct {
	Summary string
	Command string
	Since   time.Time
}

// A Notice is one that a receiver has not been sent.
type Notice struct {
	ID    string
	Sink  string
	Since time.Time
	Error string // of the last attempt
	Later bool   // another unit sends it
}

// An Event is what a person decided.
type Event struct {
	At     time.Time
	Gate   string
	Action string
	What   string // the drift, the exception or the commit
	By     string
	Why    string
}
