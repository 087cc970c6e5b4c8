package harness

import (
	"maps"
	"path"
	"strings"

	"gatehouse/gate"
)

// A kind says what an event of a client is for the gate. The zero kind is none.
type kind uint8

const (
	unknown    kind = iota
	before          // a call that has not run, and runs unless it is refused
	permission      // the client is about to ask a person about a call that was judged before
	after           // a call ran
	start           // a session began
	prompt          // a person spoke
	end             // the agent wants to end its turn
	other           // nothing that the gate has a part in
)

// String returns the kind as it stands in lists of events.
func (k kind) String() string {
	return [...]string{"unknown", "before", "permission", "after", "start", "prompt", "end", "other"}[k]
}

// An event is what a client told the hook.
type event struct {
	kind kind
	name string // as the client spells it
	// flat is set where the client's dialect for this event has no nesting (Copilot).
	flat bool

	session    string
	agent      string // a subagent that acts; "": the main one
	cwd        string
	unattended bool
	// asks is set where the client asks a person itself when it is told to.
	asks bool

	said string // of prompt: the message

	requests []gate.Request
	// input are the arguments of the one shell call that the event is about, where the client is known to run another
	// command than the agent's if it is told to.
	input   object
	ran     bool // of after: it is known that it ran, or may have
	outcome gate.Outcome
	output  string // of after: what the call printed
}

// line is a request for a shell line.
func line(text, cwd string) gate.Request { return gate.Request{Line: text, Cwd: cwd} }

// tool is a request for a call of the client's own tool, with the files that a patch among its arguments names.
func tool(name string, args object) gate.Request {
	if args == nil {
		args = object{}
	}
	r := gate.Request{Tool: &gate.Tool{Name: name, Args: args}}
	if !strings.Contains(strings.ToLower(name), "patch") {
		return r
	}
	var files []any
	for _, key := range sortedKeys(args) {
		files = append(files, patched(text(args, key))...)
	}
	if len(files) > 0 {
		r.Tool.Args = maps.Clone(args)
		r.Tool.Args["paths"] = files
	} else if name == "apply_patch" {
		r = objected(r, "the patch names no file", "")
	}
	return r
}

// objected is a request that is refused whatever the policy says.
func objected(r gate.Request, text, hint string) gate.Request {
	r.Objections = append(r.Objections, gate.Reason{Action: gate.Deny, Stage: gate.StageShell, Call: -1, Text: text, Hint: hint})
	return r
}

// place is where a call runs: its own directory, which may be relative to that of the session.
func place(own, session string) string {
	switch {
	case own == "":
		return session
	case path.IsAbs(own) || session == "":
		return own
	default:
		return path.Join(session, own)
	}
}
