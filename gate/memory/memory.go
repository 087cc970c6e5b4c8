// Package memory keeps what a session and a project remember between two commands: the state of the rules over the
// order of calls, and what was refused.
//
// A memory is one file:
//
//	sessions/NAME/state       a few bytes a rule
//	projects/DIGEST/state     the same for a project
//
// It is replaced in one piece and holds a checksum. So a process that is killed leaves the old memory or the new one, and
// what a check has to read does not grow with the calls that were made.
//
// The calls themselves are not kept here: what a rule needs of them is in its state, and the log has them for people.
// Files of an earlier version hold the last of them, and had older ones beside them. These are read past, and swept away.
//
// One process at a time changes a memory; the others wait for its lock, within bounds. A change of two memories, of a
// session and of its project, is first written down as a whole in joint/; whoever comes next finishes what was cut
// short, and a reader believes it from the moment it stands there.
//
// Names of sessions come from clients and may be any bytes.
//
// A memory that cannot be read is an error that says how to go on, never an empty one: the caller refuses.
//
// All of it belongs to the user of the agent, so it guards against accidents and is no evidence. The package reads no
// clock. It knows durable and wire, nothing of rules and calls: their states are bytes to it.
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
	// Rules holds what each rule remembers; the key is the rule's id with a digest of the rule. Values are small.
	Rules map[string][]byte
	// Stopped is the id of the rule that stopped everything, "" if none did.
	Stopped string
	// Finish is how often the agent was sent back when it wanted to end its turn.
	Finish int
	// Extra is for what other parts of the gate remember.
	Extra map[string][]byte

	version uint64 // how often the memory was changed; no two of its states have the same
}
