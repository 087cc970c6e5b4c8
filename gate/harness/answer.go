package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
)

// The exit statuses of hooks.
const (
	exitDone    = 0
	exitRefused = 2 // the one status that is a refusal to most clients
)

// An action is what a verdict wants. The zero action is that there is no objection.
type action uint8

const (
	pass    action = iota
	approve        // pass, and spare the client's own question
	note           // pass, with a word to the agent
	rewrite        // run input instead
	question
	refuse
)

// A verdict is what the gate has to say to an event.
type verdict struct {
	action action
	reason string // for the agent, and for the person who is asked
	title  string // of a question, in a few words
	input  object // of rewrite: the arguments to run with
}

// An answer is what the hook's process says.
type answer struct {
	out    []byte // standard output, "" for no opinion
	reason string // said on the error output where the exit status is not 0
	exit   int
	// held is set where it refuses or asks: it must not get lost.
	held bool
}

// refusal is an answer that keeps a call from running, by its text alone.
func refusal(reason string, body fields) answer {
	return answer{out: body.line(), reason: reason, exit: exitDone, held: true}
}

// word is an answer that changes nothing about a call.
func word(body fields) answer { return answer{out: body.line()} }

// by2 is a refusal by the exit status, for clients that look at nothing else or cannot be told otherwise.
func by2(reason string, body fields) answer {
	a := answer{reason: reason, exit: exitRefused, held: true}
	if body != nil {
		a.out = body.line()
	}
	return a
}

// universal is a refusal in all dialects at once: exit 2 and the reason on the error output for most clients; the
// object for those that read it before the status, each of which finds its own words in it.
func universal(reason string) answer {
	return by2(reason, fields{
		"decision", "block", "reason", reason, "permissionDecision", "deny", "permissionDecisionReason", reason,
		"permission", "deny", "user_message", reason, "agent_message", reason, "cancel", true, "errorMessage", reason,
		"hookSpecificOutput", fields{"hookEventName", "PreToolUse", "permissionDecision", "deny", "permissionDecisionReason", reason},
	})
}

// send writes an answer, says its reason where the exit status is a refusal, and returns that status. What is held and
// cannot be written to the standard output in one piece is refused by the status.
func send(a answer, out io.Writer, say func(), unheard bool) int {
	exit := a.exit
	if a.held && unheard {
		exit = exitRefused
	}
	if len(a.out) > 0 {
		if n, err := out.Write(a.out); a.held && (err != nil || n < len(a.out)) {
			exit = exitRefused
		}
	}
	if exit != exitDone {
		say()
	}
	return exit
}

// fields are the members of a JSON object, names and values in turn, in the order in which they are written.
type fields []any

// line is the object on a line of its own.
func (f fields) line() []byte {
	var b bytes.Buffer
	f.write(&b)
	b.WriteByte('\n')
	return b.Bytes()
}

func (f fields) write(b *bytes.Buffer) {
	b.WriteByte('{')
	for i := 0; i+1 < len(f); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSON(b, f[i])
		b.WriteByte(':')
		if inner, ok := f[i+1].(fields); ok {
			inner.write(b)
		} else {
			writeJSON(b, f[i+1])
		}
	}
	b.WriteByte('}')
}

func writeJSON(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings and bools cannot fail
	}
	b.Truncate(b.Len() - 1) // the newline
}

func sortedKeys(m object) []string { return slices.Sorted(maps.Keys(m)) }
