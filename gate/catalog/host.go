package catalog

import (
	"context"
	"time"

	"gatehouse/gate"
	"gatehouse/internal/durable"
)

// A Runner is who takes calls: a Host in this process, or one of another user behind a socket.
type Runner interface {
	List(ctx context.Context) (*Catalogue, error)
	Call(ctx context.Context, r Request) Result
}

// A Request is one call. The step counts whatever comes of it.
type Request struct {
	Job  string // which job it belongs to: any text up to 200 bytes that a person can read
	Call []byte // the JSON object {"tool": …, "args": {…}}
	// Progress, if set, is told about once a second that the tool is still at work. It must not block for long.
	Progress func(Progress) `json:"-"`
}

// A Progress is how far a running tool is.
type Progress struct {
	Tool    string
	Elapsed time.Duration
	Timeout time.Duration
	Bytes   int64 // of output so far
}

// A Result is the outcome of a call. It can be shown to an agent as it is.
type Result struct {
	Schema string `json:"schema"` // gatehouse/call/v1
	Code   Code   `json:"code"`
	Error  string `json:"error,omitempty"` // one sentence for whoever called, with the way out; "" with OK
	Tool   string `json:"tool,omitempty"`
	Job    string `json:"job,omitempty"`
	Step   int    `json:"step,omitempty"` // which step of the job this was; 0: none was taken
	Steps  int    `json:"steps,omitempty"`
	// Ended is set if the job takes no more calls.
	Ended    bool   `json:"ended"`
	Ran      bool   `json:"ran"`            // the tool was started
	Exit     *int   `json:"exit,omitempty"` // its exit status; nil: it was ended by a signal, or did not run
	Signal   string `json:"signal,omitempty"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	Cut      int64  `json:"cut_bytes,omitempty"` // of output that are not shown
	Killed   int    `json:"killed,omitempty"`    // processes that the tool left behind, all of them ended
	Took     int64  `json:"took_ms"`
	Decision string `json:"decision,omitempty"` // c-…; gate why shows it
	// Counter is "boundary" where the caller cannot write the job's state, and "guard" where it only guards against accidents.
	Counter string `json:"counter"`
}

// A Judge is the policy in force; a *gate.Gate is one.
type Judge interface {
	Check(ctx context.Context, r gate.Request) gate.Decision
	Decide(ctx context.Context, r gate.Request) (gate.Decision, error)
	Record(ctx context.Context, r gate.Request, d gate.Decision, o gate.Outcome) error
}

// A Log keeps what the catalogue itself refuses, which the policy never gets to see.
type Log interface {
	// Refused writes an entry and returns its id.
	Refused(ctx context.Context, r Result, cwd string, args map[string]any) (id string, err error)
}

// A Host runs the calls of one caller on this machine.
type Host struct {
	Place Place // where the catalogue is, and who answers for it
	Judge Judge
	Log   Log    // nil: refusals of the catalogue are only returned
	Jobs  string // directory of the state of jobs; made with mode 0700
	Cwd   string // of the caller, absolute: the project is found from here
	Home  string // of the caller
	// Client is who calls, for the log: gate-call, mcp, …
	Client string
	// Getenv is the environment of the caller, of which a tool sees what its entry lists.
	Getenv func(name string) (string, bool)
	// Reexec is an argument vector with which this program hands one more word to Stage: {os.Args[0], "call", "--stage"}.
	Reexec []string
	// Boundary says that the caller can neither write Jobs nor signal this process, and that tools have rights of their
	// own. So programs have to be root's, and the project the caller's.
	Boundary bool
	// MaxJobs is how many jobs are kept; 0: as many as there are.
	MaxJobs int
	// Launch starts the supervisor of a tool; nil: as a child of this process, by Reexec.
	Launch Launcher
	// ToolHome is HOME of the tools; "": Home.
	ToolHome string
	Disk     durable.Disk
	Now      func() time.Time // nil: time.Now
}

// List returns the catalogue that is in force.
func (h *Host) List(ctx context.Context) (*Catalogue, error) { return open(ctx, h.Place) }
