// Package policy is gate.yaml: which calls pass, which are refused, which files and variables they may touch. It reads the
// file strictly, compiles it, and compares calls with its entries and paths with its patterns. It decides nothing: gate
// joins its answers with what the machine and the rules say.
//
// An entry of allow or deny is the beginning of a call. Its text is read like a line of the shell and by the spec of its
// command (form.go), as the calls are that it is compared with; so it does not matter how either is spelt. Both have
// subcommands, options and operands, and are compared like this:
//
//   - The program. An entry of allow with a bare name is for the file that PATH finds: a call by path must lead to that
//     very file, and an entry with a path is for calls by that path. Names are compared as written: python3 does not
//     cover python. An entry of deny holds for every path and for every name that the spec has for the program. [ and
//     [[ are test.
//   - Subcommands are those of the spec, found behind global options; their aliases are seen through. Those of the entry
//     must be the first of the call. A subcommand that no spec knows stands as written; where the program has aliases of
//     the user's own, and deny has an entry for the program, only an entry that names it covers it.
//   - Options stand anywhere and in any spelling: -fn, --force, -n -f. An option of the entry must be in the call, with
//     the value that the entry gives it, if any. To be covered, each occurrence must say so, since the last one counts;
//     to be refused, one is enough.
//   - Operands are in order, and those of the entry are the first of the call. An entry of allow whose last operand is a
//     path that ends in a slash wants all further ones to lie below it, by their names alone.
//   - What is not known. An option that the spec does not have may take the next word, and a word that is known only at
//     run time may be anything, also several words and an option. To be covered, no such word may stand before the last
//     subcommand or operand that the entry names. To be refused, it is enough that it can be: Denied says Maybe where
//     that depends on a run-time value, Yes where only the spelling is strange (an option cut short, a letter in a bundle
//     that no spec knows).
//   - Options behind -- are none, in either list.
//
// A line passes if each of its calls is covered (Cover, cover.go) and none refused. Programs that only set surroundings,
// such as env and timeout, need no entry where they run something. All others that run something (xargs, find -exec,
// sh -c, sudo, ssh) need their own, and what they run is judged on its own; of ssh and containers, by deny only. An entry
// that names python -m X covers the call X too, and one that goes on with the command (sudo systemctl status) that one.
//
// Patterns are those of a .gitignore (pattern.go), with these differences: ${PROJECT} and ${HOME} may stand first; a
// pattern that begins with a slash counts below the project and as an absolute path; and the last pattern that matches a
// path or a directory above it decides, also where a directory above was matched before. Bytes are compared as they are.
// Where the directory of a pattern is not known, one that forbids holds in any and one that permits in none.
//
// policy knows the specs and the shell's words. It reads no file and asks nothing of the machine but through Host.
package policy

import (
	"time"

	"gatehouse/gate/call"
)

// A Policy is a gate.yaml that was found in order, with the defaults for what it leaves out.
type Policy struct {
	File  string // its name, as it stands before lines
	Shell Shell
	// Observe lets everything pass until the time Until, and the log says what would have been refused.
	Observe    bool
	Until      time.Time
	Allow      []Entry
	Deny       []Entry
	Unlisted   Answer // a call that no entry covers: Refuse or Ask
	CheckFlags CheckFlags
	Dynamic    Answer // a value known only at run time, where it could turn a limit
	Unattended Answer // an ask that nobody is there to answer
	Paths      Paths
	Env        []Variable
	Tools      []Tool

	keys   []Key
	packed string // keys, where the policy was compiled
	allows index
	denies index
}

// Observes reports whether p lets pass at that time what it would refuse.
func (p *Policy) Observes(now time.Time) bool { return p.Observe && now.Before(p.Until) }

// An Answer is what a key says is done with a call. The zero Answer refuses.
type Answer uint8

// The answers.
const (
	Refuse Answer = iota
	Ask
	Allow
)

// A Shell says which lines are read at all. The zero Shell is the stricter one.
type Shell uint8

// The values of shell.
const (
	None Shell = iota // one simple command
	Full
)

// A CheckFlags says what the options of a call are compared with.
type CheckFlags uint8

// The values of check_flags.
const (
	Help CheckFlags = iota // the help of the very binary
	Spec                   // the command's spec
	Off
)

// An Entry is one item of allow or deny.
type Entry struct {
	Text string // the beginning of the call, as written
	At   string // FILE:LINE

	// Of allow:
	Only     []string // the arguments begin with one of these
	Exact    bool     // nothing may follow
	Trust    bool     // the binary and its parents can be written by root only
	SHA256   string   // digest of the binary in lower hex; "": any
	Match    []string // lines whose first call it covers; checked by Parse
	NotMatch []string // lines that it does not cover; checked by Parse

	// Of deny:
	Flags []string // one of these options
	Why   string   // a sentence of the owner's
	Fix   string   // a line to run instead; "": none

	begins []form // the call; with Only, one form for each of them
	flags  []form
}

// A Tool is one item of tools: what is said of tools of the client and of MCP tools.
type Tool struct {
	Names    []string // as written; a * stands for any text, and a ! at the beginning takes out
	At       string   // FILE:LINE
	Paths    Paths    // Deny, ReadOnly, Redirects and Create only
	Unlisted Answer   // Allow where nothing is said
}

// A Key is one effective setting, for people.
type Key struct {
	Name  string // such as paths.deny[0]
	Value string
	Line  int // 0: it is the default
}

// A Problem is something in a policy that is no error and not likely meant.
type Problem struct {
	At   string // FILE:LINE
	Text string
}

// A Match says whether an entry of deny stands against a call. The zero Match is that it does not.
type Match uint8

// The matches.
const (
	No    Match = iota
	Maybe       // it depends on a value that is known only at run time
	Yes
)

// A Host is what matching asks about the machine. A nil function knows nothing, and then what it would say is taken to
// be against the call.
type Host struct {
	// Find returns the absolute path that PATH of the call leads to for a bare name, "" if there is none. It is asked
	// only where the call or the entry names its program by a path.
	Find func(name string) string
	// Dashed reports whether the glob that stands as this word of the call can match a file whose name begins with a dash.
	Dashed func(c *call.Call, word int) bool
}

// A Cover is the answer of the allow entries for one call of a line. The zero Cover is that none covers it.
type Cover struct {
	Entry *Entry // the one that covers it
	// Free says why the call needs no entry: it only sets the surroundings of the call it runs, or an entry of the call
	// that runs it names it, or no program runs at all.
	Free string
	Why  string // why the nearest entry does not cover it
}

// OK reports whether the call is covered, or needs no entry.
func (c Cover) OK() bool { return c.Entry != nil || c.Free != "" }
