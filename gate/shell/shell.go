// Package shell reads a line for bash and lists the simple commands that it can run, in the order in which they start,
// without running anything.
//
// Parse works in four steps, always in this order:
//
//   - guard: what the parser is known to read otherwise than bash is refused (guard.go);
//   - parse: mvdan.cc/sh/v3/syntax in the dialect of the shell that will read the text;
//   - walk: every statement is followed with what is known of the shell's state when it is reached: variables, positional
//     parameters, functions, directories, redirections made by exec. A statement has two states after it, one for
//     success and one for failure, so that what stands after && or || starts from the right one; where paths
//     meet again, the states are joined and what differs is known less well (state.go);
//   - unwrap: a command that runs another (sudo, xargs, bash -c) is followed by what it runs (wrapper*.go).
//
// Three answers are possible for a construct. It is exact; or it is listed with marks that say what is not known (a word's
// State, Conditional, Repeated, a Dir with Others); or the whole line is refused with an *Error, whose Kind says why. What
// a command's name is, and what the text of a script is, is never approximated.
//
// Decisions where bash leaves room:
//
//   - A function is followed where it is called; the call itself is not listed, since no program runs.
//   - A static eval, a trap's text, and a script on a static standard input are followed like bash -c.
//   - cd DIR; counts as done in Dir.Path, and the directory before stays in Dir.Others, because cd can fail; after cd DIR &&
//     or cd DIR || exit there is no doubt.
//   - A loop over a list that is known is listed once for each word; any other loop is listed once, and what its body
//     changes is unknown from the start.
//   - source FILE is refused: the file's commands run in this shell, unseen. Only files that set up an environment are taken
//     at their word and listed as the call source, with their path: …/bin/activate (also the bare source activate NAME of
//     conda), …/.cargo/env and …/.local/bin/env. Whoever allows that call by its path trusts the file with as much as a
//     program of that path; it may also change what later names mean, so what follows carries the mark Sourced. That such a
//     file changes neither the directory nor variables other than its own is part of that trust.
//   - What comes after exit, or after a command under set -e, is listed and Conditional.
//   - A redirection is listed for the command that carries it and, as Inherited, for all that it encloses or runs.
//   - Scripts for sh and dash are read as POSIX shell; for fish, csh and PowerShell only text that all shells read alike.
//
// shell knows nothing of the machine: no file is read, no program looked up, and the environment is what Options say.
package shell

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Parse lists the commands that bash can run when it is given line. The error, if any, is an *Error, and then there are
// no commands: a line is understood as a whole or refused.
func Parse(line string, o Options) ([]Command, error) {
	o.Limits.fill()
	w := walkers.Get().(*walker)
	defer walkers.Put(w)
	w.reset(o)
	st := state{dir: w.startDir(o.Dir)}
	w.script(line, bash, ctx{}, &st)
	w.runExits(ctx{}, st)
	if w.work < 0 {
		w.limit("takes too many steps to follow")
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.result(), nil
}

// walkers holds walkers that are not in use, for their parsers, which cost 2.7 KB, and their scratch space.
var walkers = sync.Pool{New: func() any { return &walker{parser: syntax.NewParser(), source: new(source)} }}

// maxWork bounds the steps of a walk, however they come about; a plain line takes a few for each command.
const maxWork = 4_000_000

func (l *Limits) fill() {
	def := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	def(&l.Input, 1<<20)
	def(&l.Commands, 10_000)
	def(&l.Words, 100_000)
	def(&l.Text, 4<<20)
	def(&l.Depth, 100)
	def(&l.Loop, 64)
	def(&l.Passes, 1024)
}

// A dialect says which shell will read a text.
type dialect uint8

const (
	bash  dialect = iota
	posix         // sh, dash
	korn          // mksh
	plain         // any other: only text that means the same everywhere
)

// isShell reports whether a program takes the options of bash.
func isShell(name string) bool {
	switch name {
	case "bash", "rbash", "sh", "dash", "ash", "ksh", "mksh", "zsh":
		return true
	}
	return false
}

func dialectOf(name string) dialect {
	switch name {
	case "bash", "rbash", "zsh", "ksh", "ksh93", "rksh":
		return bash
	case "mksh", "lksh", "pdksh", "oksh":
		return korn
	case "fish", "csh", "tcsh", "pwsh", "powershell", "elvish", "nu", "xonsh":
		return plain
	}
	return posix
}

func (w *walker) parse(text string, d dialect) (*syntax.File, error) {
	lang := syntax.LangBash
	switch d {
	case posix:
		lang = syntax.LangPOSIX
	case korn:
		lang = syntax.LangMirBSDKorn
	}
	if lang != syntax.LangBash {
		syntax.Variant(lang)(w.parser)
		defer syntax.Variant(syntax.LangBash)(w.parser)
	}
	w.source.reset(text)
	file, err := w.parser.Parse(w.source, "")
	w.source.reset("")
	return file, err
}

// syntaxError turns an error of the parser into one that shows the place in text.
func syntaxError(err error, text string) *Error {
	e := &Error{Kind: Syntax, Message: "bash would not read this line; check its quotes, brackets and keywords", Source: excerpt(text, 0)}
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.Is(err, errDeep):
		return &Error{Kind: Limit, Message: "the line is nested too deeply; split it, or put it into a script file"}
	case errors.As(err, &pe):
		e.Message = "bash would not read this line (" + pe.Text + "); check its quotes, brackets and keywords"
		if strings.Contains(pe.Text, "here-document") {
			e.Message = "a here-document without its end; put the delimiter alone on the last line"
		}
		e.Source = excerpt(text, int(pe.Pos.Offset()))
	case errors.As(err, &le):
		e.Message = "the shell that gets this text does not have " + le.Feature + "; use plain forms, or bash -c"
		e.Source = excerpt(text, int(le.Pos.Offset()))
	}
	return e
}

// excerpt is a piece of text, around the place at.
func excerpt(text string, at int) string {
	const before, size = 20, 80
	from := max(0, min(at, len(text))-before)
	return text[from:min(len(text), from+size)]
}

func quoteSource(s string) string { return strconv.Quote(excerpt(s, 0)) }
