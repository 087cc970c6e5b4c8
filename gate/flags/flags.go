// Package flags knows the real flags of the binaries on this machine.
//
// It works in four steps, each of use without the others:
//
//   - Parse reads one help text or rendered manual page: flags with all their names, whether they take a value, and the
//     subcommands. A flag that the text does not name is never returned; a kind of value that the text leaves open is
//     marked uncertain rather than guessed.
//   - Harvester runs one binary, and only one that the caller named, to get such texts: structured completion where the
//     binary is known to have it, then --help, then the manual page. The run is confined (confine.go): it can write
//     nothing, reach no network, ask nobody, and ends after ten seconds. No operand is ever passed, but for the word of a
//     "--help all" that the program itself has named.
//   - Store keeps what was harvested, one file per binary and subcommand. An entry counts only on the machine and for the
//     very file that it was made from (Identity); anything else is a miss. Stores are asked in order of trust. One below
//     the agent's home is a guard against accidents: the agent can write it.
//   - Entry.Known answers whether one word of a command line is a flag of the binary: exact names, --name=value, glued
//     values, and bundles of short flags letter by letter. Abbreviations are not known.
//
// That a flag is not known means "not in this program's help", not "not valid": programs have hidden flags.
//
// flags knows gate/call and internal/durable at most. It has no policy: which binaries may be run, and what an unknown
// flag means for a verdict, is the caller's business.
package flags

import "slices"

// A Value says whether a flag takes a value. The zero Value means that nobody said.
type Value uint8

// The kinds of value.
const (
	Unknown  Value = iota
	None           // never
	Required       // always: glued, after =, or the next word
	Optional       // perhaps; the next word is one only if Flag.Next says so
)

// String is the word that stands in JSON.
func (v Value) String() string { return valueNames[min(int(v), len(valueNames)-1)] }

var valueNames = [...]string{"unknown", "none", "required", "optional", "invalid"}

// A Flag is one flag with all its names, dashes included.
type Flag struct {
	Names       []string
	Value       Value
	Choices     []string // what the value may be; nil if the text does not say, empty for none at all
	Arity       int      // number of values where that is more than one
	Next        bool     // Optional: the next word may be the value too
	Repeat      bool     // the text says that it may be given again
	Variadic    bool     // takes more values, up to the next flag or a closing word
	EndsOptions bool     // what follows belongs to another program
	Uncertain   bool     // Value is the likely reading of a text that does not say
	Digits      bool     // the name stands for any number: -NUM
}

// Help is what one text says.
type Help struct {
	Flags       []Flag
	Subcommands []string
}

// Find returns the flag that has this very name.
func (h *Help) Find(name string) *Flag {
	for i := range h.Flags {
		if slices.Contains(h.Flags[i].Names, name) {
			return &h.Flags[i]
		}
	}
	return nil
}
