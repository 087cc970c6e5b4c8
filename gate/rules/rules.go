// Package rules judges calls by what came before them: rule files in, verdicts out.
//
// A rule file (rules.yaml, AGENTLTL.yaml) is read strictly: every problem is reported with file and line, and a file with
// a problem is no file. The way of a rule:
//
//   - Parse reads the files, adds what they use of the library, and checks every pattern and formula (file.go, read.go,
//     target.go);
//   - the Set keeps each rule in its compiled form, beside an index from the names of tools to rules; a rule is decoded
//     when a call of one of its tools is met (encode.go, decode.go);
//   - Judge says what the calls of one line break, each after those before it (judge.go);
//   - what a line did to the memory is told by the caller: Refuse for a line that was held back, Record for calls that
//     ran, Prompt when a person spoke; Finish judges the end of a turn (book.go).
//
// Calls are events (event.go): the commands of a line, with what they touch on disk, and calls of a client's own tools.
//
// What a rule remembers is a few bytes (native.go): whether the first call of a before is done, how many calls of an
// at_most there were. Values are kept as digests. A formula about the past keeps the values of its operators (past.go),
// any other one its ltl.Monitor (formula.go). What is remembered is that of the rule as it stands: one that says
// something else begins anew, but for the limit of at_most.
//
// What is not known counts against the call: an argument that only the run will tell, a call that its spec did not
// understand, a call that may not have run (Doubt): it meets no requirement and counts against every limit, in rules of
// all kinds. A verdict that rests on that says so (Maybe).
//
// The package reads no file and no clock. It asks the disk through Surroundings, and keeps nothing itself.
package rules

import (
	"gatehouse/gate/ltl"
	"gatehouse/gate/memory"
	"gatehouse/gate/spec"
)

// A File is one rule file.
type File struct {
	Name string // as it stands in problems
	Data []byte
}

// A Library holds rules by name, for "use".
type Library interface {
	Open(name string) ([]byte, bool)
	Names() []string
}

// ParseOptions say what rule files may refer to.
type ParseOptions struct {
	Packs   *spec.Packs // the specs in force; a rule file is judged without them, Lint takes its own
	Library Library     // nil: the one that the program comes with
	Client  string      // for entries of the library that are meant for some clients only; "": all of them
}

// A Kind is what a rule says of calls. The zero Kind is none.
type Kind uint8

// The kinds.
const (
	Never Kind = 1 + iota
	Before
	Require
	AtMost
	Finally
	LTL
)

// A Mode is what happens to a call that breaks a rule. The zero Mode blocks.
type Mode uint8

// The modes.
const (
	Block    Mode = iota // refused every time
	Warn                 // refused once; insisting passes
	AskFirst             // waits for a person
	Retry                // refused a few times, then a person is asked
	StopAll              // refused, and everything after it until the person speaks
	Log                  // passes, with a note
)

// A Scope is which calls a rule looks back on. The zero Scope is the session.
type Scope uint8

// The scopes.
const (
	Session Scope = iota
	Project
)

// A Rule is one rule as it stands in a file.
type Rule struct {
	ID      string
	Kind    Kind
	Mode    Mode
	Scope   Scope
	Why     string
	Fix     string
	At      string // FILE:LINE
	From    []string
	Library string      // the entry of the library that it came from; "": none
	Formula ltl.Formula // what the rule says
	Text    string      // the formula of a person, or the kind and its targets in one line
}

// An Event is one call as rules see it: a simple command of a line (Events), or a call of a client's tool (Tool).
type Event struct {
	ltl.Event
	Also   []string // further names that it goes by: the executable of a command, the common name of a client's tool
	Argv   []string // words after the command, for the argument argv
	Files  []Touch  // what it touches on disk
	Text   string   // as a person reads it: the source of the command
	Call   int      // index of the call in the line
	Proves Span     // set by Prove
	// Remote is set for a call that runs on another machine or in a container: its paths are not ours.
	Remote bool
}

// A Span is a range of events, From included, To not.
type Span struct{ From, To int }

// A Touch is a file that a call touches, or may touch.
type Touch struct {
	Arg     string // the argument that names it; "": the call as a whole; "*": any that can name a file
	Path    string // absolute and clean where it is known
	Reads   bool
	Writes  bool // or appends, makes, deletes; where neither is set, nobody knows what is done
	Pattern bool // Path is a glob, with a backslash before each character that is not special in it
	Tree    bool // everything below Path as well
	Sure    bool
	Unknown bool // some file; which one is not known
}

// Memories are what is remembered of a session and of a project. Where one is nil, nothing is.
type Memories struct{ Session, Project *memory.State }

// Surroundings are what a judgement knows of the world besides the calls. A nil function means that nobody can tell. A
// judgement asks each question once. What its links lead to may be behind a path that Below gives; it is asked for too.
type Surroundings struct {
	Project, Home, Cwd string
	// Exists reports whether there is something at path, or will be when the call runs: a call earlier on the line makes it.
	Exists func(path string) bool
	// Resolve follows the symbolic links of path, as far as it exists.
	Resolve func(path string) string
	// Glob lists what a pattern expands to; ok is false where there may be more.
	Glob func(pattern string) (paths []string, ok bool)
	// Below reports whether match holds for something below dir; ok is false where there may be more than it looked at.
	Below func(dir string, match func(path string) bool) (found, ok bool)
	// Generation names the answer of the model that the calls belong to; two calls with one name were made without
	// knowing of each other's refusal. "": every line is its own.
	Generation string
}

// An Action is what follows from a verdict. The zero Action refuses.
type Action uint8

// The actions, the strongest first.
const (
	Deny Action = iota
	Stop        // refused, and so is what follows until a person speaks
	Ask
	Note // passes, and the agent is told
)

// A Verdict is that one rule has something to say about a line, or about the end of a turn.
type Verdict struct {
	Action    Action
	Rule      string // its id
	Kind      Kind
	Mode      Mode
	At        string // FILE:LINE of the rule
	Event     int    // index of the event that breaks it; -1: the end of the turn, or the line as a whole
	Call      int    // index of the call in the line; -1 likewise
	Text      string // what is wrong, in a sentence for the agent
	Why, Fix  string // the owner's words
	Maybe     bool   // it rests on something that is not known
	Attempt   int    // retry: which refusal this is, from 1
	Attempts  int    // retry: how many there are before a person is asked
	Escalated bool   // retry: the attempts are used up
	Insisted  bool   // warn: it was refused before and passes now

	rule int
}
