// Package systemd says what systemd knows of a unit, whether its process holds the files that are on the disk, and what
// unit files make a host run by itself.
//
// Checker.Check judges one unit against the live files of its gate. The steps are:
//
//   - ask: the manager that runs the unit, over D-Bus and under a deadline; for a user's unit also the system manager,
//     for where that user's manager runs. What a user's manager says is a claim: it can make the verdict worse;
//   - look: the processes in the unit's control groups, as the kernel tells root in /proc. They are read as data; nothing
//     there is run, evaluated or waited for. Of all of them the oldest counts, since it may hold the oldest files; one
//     that was forked and runs no program of its own holds what its parent read;
//   - hash the live files, after the processes were looked at, so that no process is younger than what it is judged by;
//   - judge, in a pure function of these facts, by the best evidence there is.
//
// Evidence comes in this order. The process's own record (loaded.json in its runtime directory) is written by the
// suspect and only ever makes the verdict worse. The snapshot is root's own note of what the files were when all of them
// were older than the start of this very run: an equal digest is loaded, another one stale, whatever the times say. The
// clocks come last: ctime and mtime of files, links and directories against the start of the oldest process. They are
// believed only while the clock was not set since the start, and a file time within the tolerance decides nothing.
//
// No verdict but loaded says that all is well, and the zero Verdict is unknown. "Unknown" names what is not known.
//
// What is not promised: that a process which reads files again while it runs, or whose memory its own user changed, is
// noticed. A process that leaves its unit is noticed where it was seen in the unit before.
//
// The unit files that a host needs are made by Units from a description of the host and nothing else.
//
// systemd knows manifest, safefs and durable. It does not know the configuration or what a drift is; the commands join
// those.
package systemd

import (
	"time"
)

// A Verdict says whether a process holds what is on the disk. The zero Verdict reads as unknown.
type Verdict string

// The verdicts.
const (
	Loaded     Verdict = "loaded"
	Stale      Verdict = "stale"
	Unknown    Verdict = "unknown"
	NotRunning Verdict = "not-running"
)

func (v Verdict) String() string {
	switch v {
	case Loaded, Stale, NotRunning:
		return string(v)
	default:
		return string(Unknown)
	}
}

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Evidence that decides. No evidence means that the facts did not get that far.
const (
	ByRecord   = "record"   // what the process wrote about itself
	BySnapshot = "snapshot" // what root noted of the files for this very run
	ByClocks   = "clocks"   // times of the files against the start
)

// A Watch is a unit whose process holds files of a gate in its memory.
type Watch struct {
	Gate     string
	Unit     string // name of a service
	User     bool   // UID's own manager runs it
	UID      uint32 // the gate's user
	UserName string
	Files    []string // globs over paths in the manifest
}

// A Process is what Check found out about the process of a unit.
type Process struct {
	Unit     string  `json:"unit"`
	Scope    string  `json:"scope"` // system or user
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`   // one sentence for a person
	Evidence string  `json:"evidence"` // what decided; empty where nothing did

	Since        time.Time `json:"since,omitzero"` // start of the process that was judged
	InvocationID string    `json:"invocation,omitempty"`
	PID          int       `json:"pid,omitempty"`
	Run          string    `json:"-"` // identity of this run: a new one means that the unit was restarted

	Newest string        `json:"newest,omitempty"` // path of the newest file, link or directory that matters
	By     time.Duration `json:"by,omitempty"`     // how much newer than the start it is; negative: older
	Fix    string        `json:"fix,omitempty"`    // the whole command that helps
	Disk   string        `json:"-"`                // where there is a fix: the tree of the live files that decided
	Fault  bool          `json:"fault"`            // the manager could not be asked
	Clock  bool          `json:"clock,omitempty"`  // unknown by the clocks alone
}
