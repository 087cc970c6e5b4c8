package wiring

import (
	"path/filepath"
	"strings"
)

// A client is an agent client, as data.
type client struct {
	name     string
	aliases  []string
	programs []string // names on PATH
	signs    []string // below home; any of them says that the client is used
	lacks    []Scope
	why      map[Scope]string // why a scope is lacking, and what to do instead
	places   func(h Host, s Scope) []place
	hazards  func(h Host, s *survey) // what switches its hooks off
}

// A place is a file that a client reads, and how the gate's words come into it and out of it.
type place struct {
	path string
	mode uint32 // of a new file
	// within is the directory that links may not lead out of; "" for an administrator's file.
	within string
	// put returns the text with the gate's words in it: the same bytes if they are there. old is nil if there is no file.
	put func(old []byte) ([]byte, error)
	// cut returns the text without them, nil where nothing would be left.
	cut func(old []byte) ([]byte, error)
	// asks says whether the text makes the client ask the gate; nil for files that only belong to it.
	asks func(text []byte) bool
}

// clients lists all of them.
func clients() []client {
	return []client{
		claude(), codex(), gemini(), copilot(), cursor(), opencode(), openclaw(),
		vibe(), hermes(), windsurf(), kiro(), cline(),
	}
}

// within is the directory of a scope that links may not lead out of.
func (h Host) within(s Scope, path string) string {
	switch {
	case s == Managed:
		return ""
	case s == Project:
		return h.Project
	case !below(path, h.Home): // a variable of the client's puts it elsewhere
		return filepath.Dir(path)
	default:
		return h.Home
	}
}

// place returns a place of a scope.
func (h Host) place(s Scope, path string, p place) place {
	p.path, p.within = path, h.within(s, path)
	if p.mode == 0 {
		p.mode = 0o644
	}
	return p
}

// program is how hooks of a scope name the gate. Files of a project are read on other machines as well.
func (h Host) program(s Scope) string {
	if s == Project {
		return "gate"
	}
	return h.Gate
}

// heard is the command line of a hook that only hears of something, for a shell. If it fails, nothing is refused: 1 is the
// status that clients show and take no notice of. Gemini waits for the end of a gate that hangs.
func (h Host) heard(s Scope, client string) string {
	return "/bin/sh -c " + quote(findTimeout+`$t -s KILL 5 "$@" || exit 1`) + " gatehouse " + h.told(s, client)
}

// told is the command that tells the gate of an event, for a shell.
func (h Host) told(s Scope, client string) string {
	words := append([]string{h.program(s), "hook", client}, h.Flags...)
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

// line is the command line of a hook that judges, for a shell. A client may hand it to the shell that its user likes, so
// that what has to be understood by sh stands in one word.
func (h Host) line(s Scope, client string) string {
	return "/bin/sh -c " + quote(judged) + " gatehouse " + h.told(s, client)
}

// judged passes on what the gate says, and makes a refusal of everything that is no answer: most clients run the command
// when a hook cannot be started, is killed, hangs or prints something odd. A refusal is exit 2 with a word on the error
// output. timeout is there for a gate that is stopped from outside: its own clock would stop with it.
//
// Everything in it is the system's own: a directory that PATH names first, as ~/.local/bin often is, may be one in which an
// agent can put a sh or a timeout of its own, and a bash that is called sh takes functions and options from the environment.
const judged = `set +e; ` + noFunctions + `; ` + findTimeout + `a=$($t -s KILL 5 "$@"); case $?$a in 0) ;; 0{*}) printf "%s\n" "$a" || exit 2;; ` +
	`2|2{*}) printf "%s\n" "$a"; exit 2;; *) echo "` + noAnswer + `" >&2; exit 2;; esac`

// noFunctions takes away functions by the names of what a line calls. The commands that sh calls special cannot be ones;
// [ can, and could not be taken away by its name.
const noFunctions = `unset -f printf echo test`

// findTimeout sets t. The second place is that of NixOS.
const findTimeout = `t=/usr/bin/timeout; test -x $t || t=/run/current-system/sw/bin/timeout; `

const noAnswer = "gatehouse: the gate did not answer (is it installed?), so nothing runs"

// quote makes one word of a shell of any text.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isHook reports whether a command line asks the gate: a program called gate with the words "hook NAME".
func isHook(line string) bool {
	return gateIn(strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(line))) >= 0
}

// gateIn finds the gate among the words of a command that asks it, -1 if it does not.
func gateIn(words []string) int {
	for i, w := range words {
		if filepath.Base(w) == "gate" && i+2 < len(words) && words[i+1] == "hook" {
			return i
		}
	}
	return -1
}
