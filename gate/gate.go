// Package gate decides: it takes a line that an agent wants to run, or the call of a client's tool, and answers allow,
// ask or deny with the reasons. It never runs anything.
//
// One decision has these stages, always in this order:
//
//   - policy: which policy decides, and whether it can be read (source.go). Root's index says so where it lists the user;
//     without it the live files decide;
//   - shell: the line is taken apart into calls with what each of them does (gate/shell, gate/spec);
//   - protect: nothing may change the gate's own files, its state, or the hooks of its clients (protect.go);
//   - deny: no deny entry may cover a call, or could cover it at run time;
//   - binary: the program is on this machine, is the one that the entry means, and nothing on the line shadows its name;
//   - entry: an allow entry covers each call;
//   - flags: each flag is one of that very program;
//   - env: assignments before a command are among those that the policy lists;
//   - paths: every effect on files, with globs expanded and symbolic links resolved, is within what the policy lets;
//   - dynamic: no value that is known only at run time could turn one of these answers;
//   - rules: what the session and the project did before (gate/rules);
//   - grant: an exception that root made, and enforce: observe.
//
// Between entry and flags stands what a program runs that is no word of the line: texts that options name (runs.go), and
// which repository git works on (repository.go). In the stage of the paths each call is also held against what its spec does
// not say: programs, instructions and lists that options name (doors.go, lists.go), commands in the program's own language
// (speech.go, spawn.go), and names that it makes of its words (names.go).
//
// Decisions about what an agent can prepare and let another program run later:
//
//   - git trusts the repository of the project and no other. In any other (nested, named by -C or --git-dir, at the other end
//     of a push to a path) its configuration and its hooks are read, and if one of them names a program, cannot be read, or
//     is made by the line itself, that is a value of run time. What git clone and git init make has none. This is judged
//     where the line calls git: what make, npm or a script does in such a repository belongs to the code that their entry
//     covers.
//   - The configuration and the hooks of a repository, of any directory laid out like one, and of the user are not written:
//     not by a redirection or a program, not by a client's tool, and not by git config where the setting makes git run
//     something. That is no self-protection: enforce: observe lets it pass. .gitmodules and .gitattributes name no programs
//     and may be written, .git/info too.
//   - A file of commands (psql -f, sqlite3 < FILE) is read and judged like a text on the line; where it cannot be read, comes
//     out of a pipe or is written by the same line, it is a value of run time. A configuration that names programs in ways of
//     its own (ssh -F, vim -S) is one always.
//   - An entry for an interpreter or for make covers the code that it runs. But makefiles that the line writes are a value of
//     run time, and deny entries and denied paths hold for what a program on the line starts by a text in quotes.
//   - Names that a list, an archive or a server chooses may be any name: where one of those below the directory is kept by the
//     policy, or by the gate, that is a value of run time (lists.go). What cp, mv and rsync put there has names that can be
//     looked up (lands.go), and so have the files that find and its like bring to xargs, if nothing between them does more
//     than choose among lines (arriving.go).
//   - What shells read as they start is not written either: it says what the names on every later line mean. Texts whose
//     front matter may name hooks of a client are a value of run time (orders.go).
//
// The work of one decision has a bound in steps, not only in time (budget.go): a line that takes more is refused.
//
// The whole line is all or nothing. The stages do not stop at the first reason: all are collected, the most severe
// first. A stage that cannot do its work refuses, a panic refuses, and the zero Decision refuses.
//
// The stages are functions of the calls, the policy and facts; facts about the disk come through the interface Disk,
// whose implementation never blocks and never reads without bound. Open, Check and Decide are the edges: they read the
// policy, the memory of rules and the grants; only Decide and Record write.
package gate

import (
	"context"
	"time"

	"gatehouse/config"
	"gatehouse/gate/call"
	"gatehouse/internal/durable"
)

// An Action is an answer. The zero Action denies.
type Action uint8

// The answers, the most severe first.
const (
	Deny Action = iota
	Ask
	Allow
)

// String returns the answer as it stands in JSON.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "deny"
	}
}

// MarshalText gives the answer as String does.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// A Stage is a part of the pipeline; it stands in reasons and logs and does not change.
type Stage string

// The stages.
const (
	StagePolicy  Stage = "policy"
	StageShell   Stage = "shell"
	StageProtect Stage = "protect"
	StageEntry   Stage = "entry" // deny and allow entries
	StageBinary  Stage = "binary"
	StageFlags   Stage = "flags"
	StageEnv     Stage = "env"
	StagePaths   Stage = "paths"
	StageDynamic Stage = "dynamic"
	StageRules   Stage = "rules"
	StageGrant   Stage = "grant"
	StageFault   Stage = "fault" // of the gate itself, not of the line
)

// A Request is what is to be judged: a line for a shell, one argument vector that no shell reads, or the call of a
// client's own tool. Exactly one of Line, Argv and Tool is set.
type Request struct {
	Line string
	Argv []string
	Tool *Tool

	Cwd     string // where it would run, absolute
	Session string // of the client; "": none, and then no rule remembers anything
	Client  string // which client asks: claude-code, codex, …; "": a person
	// Generation names the answer of the model that the request belongs to: requests of one answer were made without
	// knowing of each other's refusal. "": each is its own.
	Generation string
	Unattended bool // nobody is there to ask
	// Deferred is set where the client cannot ask a person: the person's next message is the answer (Prompt).
	Deferred bool
	// Objections are what the caller itself has against the request; they count as they are.
	Objections []Reason
	// Home is the home directory of the shell that would run it; "": that of the gate's user.
	Home string
	// Env is the environment of that shell; nil: nothing of it is known but PATH, which is then that of the system.
	Env func(name string) (string, bool)
}

// A Tool is the call of a tool that the client brings itself, or that an MCP server offers it.
type Tool struct {
	Name string
	Args map[string]any // as decoded from JSON
}

// A Decision is the answer to a request, with all that led to it. The zero Decision denies.
type Decision struct {
	ID      string // c-…; set by Decide, which writes it into the log
	Action  Action
	Calls   []call.Call
	Reasons []Reason // the most severe first; of those that are alike, in the order of the calls
	// Subject names this very request under this very policy: what a grant is for.
	Subject string
	Policy  Provenance
	// Observed is set if the policy only observes: Action is what happens, and Would what the policy says.
	Observed bool
	Would    Action
	// Granted is the grant that let it pass, nil if there was none.
	Granted *Grant
	// Repeated is how often the same request was refused in this session before. Decide sets it.
	Repeated int
	// Notes are texts of rules for the agent that change nothing about the answer.
	Notes []Reason
}

// A Reason is one thing that speaks against a request.
type Reason struct {
	Action Action // Deny or Ask
	Stage  Stage
	Call   int    // index in Decision.Calls; -1: the request as a whole
	Source string // the text of that call
	Rule   string // the entry, the pattern or the id of the rule
	At     string // where that stands: gate.yaml:12
	Text   string // what is wrong, for the agent: one sentence without a full stop
	Why    string // the owner's words
	Fix    string // a line that does the same and passes
	Hint   string // what to do instead, in our words
}

// A Provenance says which policy decided.
type Provenance struct {
	Gate string // its name in root's index; "" without a warden
	Dir  string // where its files are
	Tree string // digest of its files
	// Mode is accepted (root's copy), live (the files of the agent's user), or none (there is no policy that counts).
	Mode   string
	Decide config.Decide // what root's index says; "" without a warden
	// Fingerprint is that of the drift that the index knows of, "" if none.
	Fingerprint string
	// Differs is set if the live files are known to differ from the accepted copy; Change says how that is known.
	Differs bool
	Change  string
}

// A Grant is an exception that root made for one subject until a time.
type Grant struct {
	Decision  string
	By        string
	ExpiresAt time.Time
}

// Options say for whom a gate is opened.
type Options struct {
	Index string // root's index; "": config.DefaultIndex
	UID   uint32 // whose calls are judged
	// Policy is a policy directory, or a gate.yaml, that decides instead of the one that is in force. It is for commands
	// of people, such as gate check; with Strict it is an error.
	Policy string
	// Strict is for whoever enforces (hook, call, mcp): if the index lists UID, nothing else has a say.
	Strict bool
	Home   string                           // of that user; "": as the system's user database says
	State  string                           // what the agent's side keeps; "": .local/state/gatehouse in Home
	Flags  []string                         // more directories of harvested flags, behind root's and State's
	Disk   durable.Disk                     // for what Decide and Record write
	Now    func() time.Time                 // nil: time.Now
	Getenv func(name string) (string, bool) // the gate's own environment, asked only where Strict lets it; nil: nothing
}

// An Outcome says how a request ended that was allowed.
type Outcome struct {
	Status *int // exit status; nil: not known
	Failed bool // the client says that it failed, and not with which status
}

// Open finds the policy that decides for the user and reads it. A policy that cannot be read is no error of Open: the
// gate that is returned denies everything and says why. An error means that the options contradict each other.
func Open(o Options) (*Gate, error) { return open(o) }

// Check judges a request. It writes nothing and runs nothing. Whatever goes wrong in it is a Deny of the stage fault.
func (g *Gate) Check(ctx context.Context, r Request) Decision { return g.check(ctx, r) }

// Decide judges a request, writes the decision into the log, and counts a refusal in the memory of its session. An error
// means that one of the latter was not done; the Decision stands, with its ID.
func (g *Gate) Decide(ctx context.Context, r Request) (Decision, error) { return g.decide(ctx, r) }

// Record remembers that a request which was allowed has run, and how that ended: what rules over the order of calls look
// back on. An error means that it was not remembered.
func (g *Gate) Record(ctx context.Context, r Request, d Decision, o Outcome) error {
	return g.record(ctx, r, d, o)
}
