package rules

import (
	"slices"
	"strconv"
	"strings"

	"gatehouse/internal/document"
)

// settings are what the rules of all files share.
type settings struct {
	mode          Mode
	scope         Scope
	retries       int  // retry: the attempt that asks a person
	consecutive   bool // retry: a call that ran begins the count anew
	finishRetries int  // how often a turn is not let end
	announce      bool // Start lists the rules
}

// maxCount bounds the counts in a rule file.
const maxCount = 1 << 20

func defaults() settings { return settings{retries: 3, finishRetries: 2, announce: true} }

// readFile takes the settings of a file, which replace those of the files before it, and the built-in rules that are
// switched on or off.
func (s *settings) readFile(v document.Value, builtin map[string]bool) {
	*s = defaults()
	fields := []document.Field{
		document.May("mode", func(v document.Value) { readMode(v, &s.mode) }),
		document.May("scope", func(v document.Value) { readScope(v, &s.scope) }),
		document.May("retries", func(v document.Value) { readCount(v, &s.retries, 1) }),
		document.May("retry_counting", func(v document.Value) {
			word, ok := oneOf(v, "cumulative", "consecutive", "hybrid")
			s.consecutive = ok && word == "consecutive"
		}),
		document.May("finish_retries", func(v document.Value) { readCount(v, &s.finishRetries, 0) }),
		document.May("announce", func(v document.Value) { readTruth(v, &s.announce) }),
		// AgentLTL's, and of no effect: every refusal lists what it has, and what cannot be taken apart is refused.
		document.May("report", func(v document.Value) { readCount(v, new(int), 1) }),
		document.May("unparseable", readUnparseable),
		document.May("scan_output", func(v document.Value) { readTruth(v, new(bool)) }),
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

func readUnparseable(v document.Value) {
	read := func(v document.Value) { oneOf(v, "ask", "note", "allow", "deny") }
	if len(v.Node.Content) == 0 {
		read(v)
		return
	}
	v.Mapping([]document.Field{document.May("interactive", read), document.May("auto", read)})
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
