package rules

import (
	"slices"
	"strconv"
	"strings"

	"gatehouse/internal/document"
)

// Settings are what the rules of all files share.
type Settings struct {
	Mode          Mode
	Scope         Scope
	Retries       int  // retry: the attempt that asks a person
	Consecutive   bool // retry: a call that ran begins the count anew
	Report        int  // how many violations of one action a refusal lists
	FinishRetries int  // how often a turn is not let end
	Unparseable   Unparseable
	Announce      bool // Start lists the rules
	ScanOutput    bool // look for credentials in what calls print
}

// Unparseable says what becomes of a line that cannot be taken apart: "ask", "note", "allow" or "deny". It can only make
// gate.yaml stricter.
type Unparseable struct{ Interactive, Auto string }

// maxCount bounds the counts in a rule file.
const maxCount = 1 << 20

func defaults() Settings {
	return Settings{
		Retries: 3, Report: 3, FinishRetries: 2, Announce: true, ScanOutput: true,
		Unparseable: Unparseable{Interactive: "ask", Auto: "deny"},
	}
}

// read takes the settings of a file, which replace those of the files before it, and the built-in rules that are
// switched on or off.
func (s *Settings) readFile(v document.Value, builtin map[string]bool) {
	*s = defaults()
	fields := []document.Field{
		document.May("mode", func(v document.Value) { readMode(v, &s.Mode) }),
		document.May("scope", func(v document.Value) { readScope(v, &s.Scope) }),
		document.May("retries", func(v document.Value) { readCount(v, &s.Retries, 1) }),
		document.May("retry_counting", func(v document.Value) {
			word, ok := oneOf(v, "cumulative", "consecutive", "hybrid")
			s.Consecutive = ok && word == "consecutive"
		}),
		document.May("report", func(v document.Value) { readCount(v, &s.Report, 1) }),
		document.May("finish_retries", func(v document.Value) { readCount(v, &s.FinishRetries, 0) }),
		document.May("unparseable", s.readUnparseable),
		document.May("announce", func(v document.Value) { readTruth(v, &s.Announce) }),
		document.May("scan_output", func(v document.Value) { readTruth(v, &s.ScanOutput) }),
	}
	for _, name := range []string{"memory_first", "subagents_unchecked"} {
		fields = append(fields, document.May(name, func(v document.Value) {
			var on bool
			if readTruth(v, &on) {
				builtin[name] = on
			}
		}))
	}
	v.Mapping(fields)
}

func (s *Settings) readUnparseable(v document.Value) {
	words := []string{"ask", "note", "allow", "deny"}
	if len(v.Node.Content) == 0 {
		if word, ok := oneOf(v, words...); ok {
			s.Unparseable = Unparseable{word, word}
		}
		return
	}
	read := func(to *string) func(document.Value) {
		return func(v document.Value) {
			if word, ok := oneOf(v, words...); ok {
				*to = word
			}
		}
	}
	v.Mapping([]document.Field{
		document.May("interactive", read(&s.Unparseable.Interactive)),
		document.May("auto", read(&s.Unparseable.Auto)),
	})
}

func readMode(v document.Value, to *Mode) {
	modes := []string{"block", "warn", "ask", "retry", "stop", "log"}
	if word, ok := oneOf(v, modes...); ok {
		*to = Mode(slices.Index(modes, word))
	}
}

func readScope(v document.Value, to *Scope) {
	if word, ok := oneOf(v, "session", "project"); ok {
		*to = Session
		if word == "project" {
			*to = Project
		}
	}
}

func readCount(v document.Value, to *int, least int) {
	text, ok := v.Scalar("a number", "!!int")
	if !ok {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > maxCount {
		v.Bad("must be a whole number from %d to %d", least, maxCount)
		return
	}
	*to = n
}

// readTruth takes true and false, and the other spellings that YAML once had for them.
func readTruth(v document.Value, to *bool) bool {
	text, ok := v.Scalar("true or false", "!!bool", "!!str")
	if !ok {
		return false
	}
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		*to = true
	case "false", "no", "off":
		*to = false
	default:
		v.Bad("must be true or false")
		return false
	}
	return true
}

func oneOf(v document.Value, words ...string) (string, bool) {
	text, ok := v.Scalar("a word", "!!str")
	if !ok {
		return "", false
	}
	if !slices.Contains(words, text) {
		v.Bad("must be one of %s", strings.Join(words, ", "))
		return "", false
	}
	return text, true
}
