// Package memory keeps what a session and a project remember between two commands: the state of the rules over the
// order of calls, and the trace of the calls that ran.
//
// A memory is a directory with a state file and the segments of its trace:
//
//	sessions/NAME/state       a few hundred bytes a rule, and the youngest records
//	sessions/NAME/00000001    older records, JSON lines; never changed once written
//	projects/DIGEST/…         the same for a project
//
// The state file is the one thing that counts. It is replaced in one piece and holds a checksum, the youngest records,
// and the names of the segments that belong to it; what no state names is left over from a write that was cut short,
// and is written again. So a process that is killed leaves the old memory or the new one, the trace and the state of
// the rules are always of the same calls, and what a check has to read does not grow with the trace.
//
// One process at a time changes a memory; the others wait for its lock, within bounds. A change of two memories, of a
// session and of its project, is first written down as a whole in joint/; whoever comes next finishes what was cut
// short, and a reader believes it from the moment it stands there.
//
// Records hold no secrets (gate/secret) and no text longer than Longest; what was changed so is named in the record. The
// oldest segments are dropped when there are too many. Names of sessions come from clients and may be any bytes.
//
// A memory that cannot be read is an error that says how to go on, never an empty one: the caller refuses.
//
// All of it belongs to the user of the agent, so it guards against accidents and is no evidence. The package reads no
// clock. It knows secret, durable and wire, nothing of rules and calls: their states are bytes to it.
package memory

import (
	"time"

	"gatehouse/internal/durable"
)

// A Store is where memories are kept. Its methods may be called by many processes at once.
type Store struct {
	// Dir is the state directory of the gate. It is made with the mode 0700 where it is missing; nobody else may write it.
	Dir  string
	Disk durable.Disk
	// Wait is how long Update waits for other processes at most; 0: ten seconds. The context may end it earlier.
	Wait time.Duration
}

// State is what one memory holds. A memory that was never written is the zero State.
type State struct {
	// Calls is the number of records that the trace ever had: the Seq of the last one. Only Update changes it.
	Calls uint64
	// Rules holds what each rule remembers; the key is the rule's id with a digest of the rule. Values are small.
	Rules map[string][]byte
	// Stopped is the id of the rule that stopped everything, "" if none did.
	Stopped string
	// Finish is how often the agent was sent back when it wanted to end its turn.
	Finish int
	// Extra is for what other parts of the gate remember.
	Extra map[string][]byte

	kept trace
}

// A Record is one call in a trace.
type Record struct {
	Seq     uint64    // its number in the trace, from 1; set by Update
	Time    time.Time // when it was recorded
	Session string
	Client  string
	Cwd     string
	Line    string // the line that the call was part of; "" for the call of a client's tool
	Index   int    // its place among the calls of that line
	Name    string // of the tool
	Args    []Arg
	Parsed  bool     // every word of it was understood
	Unknown []string // the arguments whose values were not known before it ran
	Status  *int     // its exit status, nil where nobody knows it
	Known   Known
	// Cut lists the arguments that do not stand here as they were: shortened, or a secret taken out. Set by Update.
	Cut []string
}

// An Arg is one named argument: the value is a bool, an int, a string or a list of strings. Any other value is kept as
// its JSON text, and counts as cut.
type Arg struct {
	Name  string
	Value any
}

// Known says what is known of whether a call ran, in the words of the package call. Anything but the constants counts as
// MaybeRan.
type Known string

// What can be known.
const (
	MaybeRan  Known = "maybe ran"
	Ran       Known = "ran"
	DidNotRun Known = "did not run"
)

// Longest is how many bytes of a text are kept in a record.
const Longest = 2000
