package catalog

import (
	"errors"
	"fmt"
)

// A Code names one way in which a call ends. Codes are stable: they stand in results, logs and the manual.
type Code string

// OK is the Code of a call whose tool ran and ended well.
const OK Code = "ok"

// Codes that say no: the call is refused, or failed, and the job is over.
const (
	BadCall         Code = "bad-call"         // not one JSON object {tool, args}
	UnknownTool     Code = "unknown-tool"     // the catalogue has none of that name
	MissingArgument Code = "missing-argument" // a key of the schema is not there
	ExtraArgument   Code = "extra-argument"   // a key that the schema does not have
	WrongType       Code = "wrong-type"       // a value that is no string
	BadValue        Code = "bad-value"        // a string that the schema does not let
	Metacharacter   Code = "metacharacter"    // a value with a character that shells know, or one that reads as an option
	PathOutside     Code = "path-outside"     // a path that leaves the working directory
	Refused         Code = "refused"          // the policy in force says deny, or ask
	ToolFailed      Code = "tool-failed"      // another exit status than the tool's own for success, or a signal
	Timeout         Code = "timeout"          // ended by the time limit
	Cancelled       Code = "cancelled"        // ended by the caller
	OutputLimit     Code = "output-limit"     // more output than the tool may give
	JobEnded        Code = "job-ended"        // an earlier call of the job failed
	NoSteps         Code = "no-steps"         // the job has taken all its steps
)

// Codes that say that nobody could tell: nothing ran, and the job is as it was.
const (
	NoJob             Code = "no-job"             // the call names no job, or not one that can be
	NoCatalogue       Code = "no-catalogue"       // there is no tools.json where the policy is
	BadCatalogue      Code = "bad-catalogue"      // tools.json is not in order
	BadTemplate       Code = "bad-template"       // an argv that is no template
	SlotType          Code = "slot-type"          // a slot whose argument is no bounded, required string
	Shell             Code = "shell"              // a program that runs other programs by their text, as argv[0]
	NotAccepted       Code = "not-accepted"       // nobody has let this catalogue into force
	NotCommitted      Code = "not-committed"      // without a warden: not committed, or not clean, in git
	NotFrozen         Code = "not-frozen"         // there is no tools.lock for it
	CatalogueChanged  Code = "catalogue-changed"  // tools.json is not the one that was frozen, or that the job began with
	ExecutableChanged Code = "executable-changed" // the program is not the one that was frozen
	ExecutableOpen    Code = "executable-open"    // others than root could change the program, where that matters
	ExecutableMissing Code = "executable-missing" // there is no such program, or it cannot be run
	NoDirectory       Code = "no-directory"       // the working directory is not there, or not that of the job
	StateCorrupt      Code = "state-corrupt"      // what the job keeps on disk was edited or cut
	StateLost         Code = "state-lost"         // a part of what the job keeps is gone
	Busy              Code = "busy"               // another call of the job, or too many of the user, are still running
	NotConfined       Code = "not-confined"       // this system cannot hold the tool as it has to be held
	NotListed         Code = "not-listed"         // root's index lists no gate of the user who calls the service
	BadRequest        Code = "bad-request"        // what the service was sent is no request of its protocol
	NoService         Code = "no-service"         // the service that takes calls here does not answer, or is not root's
	CallLost          Code = "call-lost"          // the service ended before it said how the call did
	Fault             Code = "fault"              // of the gate or the machine
)

// Exit is the exit code of gate call: 0, 1 for a no, 2 where nobody could tell. A code that it does not know is the last.
func (c Code) Exit() int {
	switch c {
	case OK:
		return 0
	case BadCall, UnknownTool, MissingArgument, ExtraArgument, WrongType, BadValue, Metacharacter, PathOutside, Refused,
		ToolFailed, Timeout, Cancelled, OutputLimit, JobEnded, NoSteps:
		return 1
	default:
		return 2
	}
}

// An Error is a failure with its Code.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func failed(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the Code of an error; one without is a Fault.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if coded := new(Error); errors.As(err, &coded) {
		return coded.Code
	}
	return Fault
}
