// Package call is the leaf that everything about commands stands on: a Call is one simple command as a tool name with
// named arguments, an Effect is something that it does to the world outside.
//
// It holds values and their JSON form, and decides nothing. The arguments of a call keep the order of its spec, so that
// the same call always has the same text. An argument is a bool, an int, a string or a list of strings; nothing else
// ever stands in Arg.Value.
//
// It knows no other package of the module.
package call

// A Call is one simple command that a line can make.
type Call struct {
	Name string
	Args Args
	Argv []string // with argv[0], as shown: run-time parts stand as their source text
	Meta Meta
	// Elsewhere are the calls that this one makes in a container or on another host (ssh, docker exec). They are no calls
	// of this machine: their paths are not ours.
	Elsewhere []Call
	// Effects are what the call does, in the order in which it does it; nil where nobody asked for them.
	Effects []Effect
	// Form is how the call's spec reads its words; nil where nobody asked for it.
	Form *Form
}

// Args are named arguments, in the order of the spec.
type Args []Arg

// An Arg is one named argument.
type Arg struct {
	Name  string
	Value any // bool, int, string or []string
}

// Get returns the value of the argument name, and whether it is there.
func (a Args) Get(name string) (any, bool) {
	for i := range a {
		if a[i].Name == name {
			return a[i].Value, true
		}
	}
	return nil, false
}

// Meta says where a call stands in its line, and how sure it is.
type Meta struct {
	Source      string // text of the command
	Index       int    // position in the result, from 0
	Operator    string // how it is joined to what stands before it: "" ";" "&&" "||" "|" "$()" "wrap"
	Pipeline    int    // number shared by the stages of one pipeline; 0: in none
	Conditional bool   // it may be skipped
	Repeated    bool   // it may run any number of times
	Background  bool   // the shell does not wait for it
	Remote      bool   // it runs elsewhere: its paths are not of this machine
	Sourced     bool   // an activation script ran before it, and may have changed what its name means
	Depth       int
	Wrapper     string // nearest command that runs it; "": none
	Redirects   []Redirect
	Env         Env
	DynamicArgs []string // argument words that are known only at run time
	SpecMatched bool     // a spec understands every word of it
}

// A Redirect is a redirection that holds while the call runs.
type Redirect struct {
	Op     string
	Target string
	FD     *int // the number written before the operator
}

// Env are the variables that a command finds set or taken away, in order.
type Env []Var

// A Var is one of them.
type Var struct {
	Name    string // "*" with Unset: all of them
	Value   string // as shown
	Unset   bool
	Dynamic bool // known only at run time
}
