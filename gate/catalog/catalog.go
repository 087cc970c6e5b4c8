// Package catalog runs the tools of a frozen catalogue: where a job can be said in named tools, no shell is in it at all.
//
// tools.json lists the tools. Each has a closed JSON Schema of its arguments, all of them strings, and a template of the
// argument vector in which a whole word may be a slot. tools.lock, written by a person with gate catalog freeze, names the
// bytes of tools.json and the digest of each executable. Nothing starts unless both files are ones that a person let into
// force: accepted by the warden, or, where there is none, committed and clean in git.
//
// One call has these steps, always in this order:
//
//   - job: its state is locked and read. A job counts its steps, never back; the first failure ends it;
//   - catalogue: opened, and the same that the job began with (source.go, lock.go);
//   - call: one JSON object {tool, args}, held against the schema, then value by value against what a slot may never hold
//     (call.go, value.go), and put into the template;
//   - place: the working directory and the executable, whose digest is taken anew;
//   - policy: what the policy in force forbids is refused, and the decision logged (judge.go);
//   - begin: the step is on the disk before anything runs. A step that began and never ended is a failure;
//   - run: in a process group of its own, held by Landlock, resource limits and a time limit, with output that is capped;
//     nothing that it started outlives it, or the call has failed (run.go, supervise_linux.go, become_linux.go);
//   - end: the outcome is on the disk, and the policy's memory has it.
//
// Whatever goes wrong has a Code, which is stable and says whether the answer is no (the job is over) or that nobody could
// tell (nothing ran, and the job is as it was).
//
// Where the state of jobs belongs to the user who calls, the counter is a guard against accidents and each Result says so;
// a service that runs Host as a user of its own makes it a boundary. Host knows no socket and no wire format.
package catalog

import (
	"encoding/json"
	"time"
)

// The files of a catalogue, in the policy directory.
const (
	File     = "tools.json"
	LockFile = "tools.lock"
)

// A Catalogue is what tools.json says. Parse returns only those that are wholly in order.
type Catalogue struct {
	Steps  int // that one job may take
	Tools  []Tool
	Digest string // SHA-256 of the bytes of tools.json
	// From says whose word it is that this catalogue counts. open sets it.
	From Source
}

// A Tool is one entry of a catalogue.
type Tool struct {
	Name        string
	Description string
	Args        json.RawMessage // JSON Schema of the arguments: a closed object of required strings
	Argv        []string        // as written, {slots} and all
	Cwd         string          // "project", a directory below it, or an absolute path
	Env         []string        // NAME, taken over from the caller or the system, or NAME=value
	Timeout     time.Duration
	Output      int   // bytes of standard output, and of standard error, that are handed on
	CutOutput   bool  // more output than that is cut and no failure
	OKExit      []int // exit statuses that are no failure
	Limits      Limits
	Confine     *Confine // nil: only what the user may do holds it
	Line        int      // in tools.json

	frozen *frozen  // of tools.lock
	slots  []string // in the order of the template
	values map[string]property
}

// Limits are resource limits of one tool; 0 leaves one as it is.
type Limits struct {
	CPUSeconds  uint64
	Memory      uint64 // address space, bytes
	FileSize    uint64 // largest file it may write, bytes
	Processes   uint64 // of the user, all told
	Descriptors uint64
}

// Confine is the Landlock profile of a tool. What it does not list the tool can neither read, run nor write. Paths are
// absolute, or "project" and below.
type Confine struct {
	Read  []string // with all below; files may be run
	Write []string // with all below; read and run as well
	// Connect lists TCP ports that it may connect to; nil: Landlock does not hold its connections.
	Connect []uint16
}

// Find returns the tool of that name, nil if there is none.
func (c *Catalogue) Find(name string) *Tool {
	for i := range c.Tools {
		if c.Tools[i].Name == name {
			return &c.Tools[i]
		}
	}
	return nil
}
