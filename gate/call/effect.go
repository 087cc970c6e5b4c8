package call

// An Effect is one thing that a call does outside of itself.
type Effect struct {
	Kind EffectKind
	// Path is the file or directory: absolute and lexically clean where it is known, else as written.
	Path string
	// Text is what a run or code effect runs, and the host or address of a net effect, as written; it may be empty.
	Text string
	Arg  string // the argument, or redirect_to and the like, that says so; "": the call as a whole
	Sure Certainty
	// Pattern is set where Path is a glob, with a backslash before each character that is not special in it.
	Pattern bool
	Tree    bool // everything below Path as well
	Remote  bool // on another machine or in a container
	Outside bool // not known to be below the root that was asked for
}

// An EffectKind is what is done. The zero EffectKind is that this is not known.
type EffectKind uint8

// The kinds of effects.
const (
	Any EffectKind = iota // what is done with Path, or at all, is not known
	Read
	Write // makes or replaces
	Append
	Delete
	Chdir   // works in that directory
	Run     // runs Text, or the program at Path
	Code    // evaluates Text in a language of its own
	Net     // talks to Text
	Process // signals processes
	Root    // acts with more rights than the caller has
	System  // changes the state of the machine: services, users, packages
)

var effectKinds = [...]string{
	"any", "read", "write", "append", "delete", "chdir", "run", "code", "net", "process", "root", "system",
}

// String returns the kind as it stands in specs and in JSON.
func (k EffectKind) String() string {
	if int(k) < len(effectKinds) {
		return effectKinds[k]
	}
	return effectKinds[Any]
}

// A Certainty says how exact an effect is. The zero Certainty is that the place is not known.
type Certainty uint8

// The certainties.
const (
	Unknown Certainty = iota // Path or Text is not what it will be at run time
	Maybe                    // this is one of several possibilities
	Sure
)

var certainties = [...]string{"unknown", "maybe", "sure"}

// String returns the certainty as it stands in JSON.
func (c Certainty) String() string {
	if int(c) < len(certainties) {
		return certainties[c]
	}
	return certainties[Unknown]
}
