package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"gatehouse/internal/spelling"
)

// A step is one line of a file for "gate rules test".
type step struct {
	at     string // FILE:LINE
	expect string // what should be answered; "": whatever is
	text   string // the line, or the call of a tool, as written
	tool   string // name of a client's tool; then args are its arguments
	args   map[string]any
	status int      // what it exits with, if it runs
	order  string   // begin, session, prompt, finish or exists, instead of a line
	paths  []string // of exists
}

// The orders that a step can be. finish can be expected to be refused.
const (
	orderBegin   = "begin"
	orderSession = "session"
	orderPrompt  = "prompt"
	orderFinish  = "finish"
	orderExists  = "exists"
)

// expected is what is answered where a step begins with that word; "" if it is no such word.
func expected(word string) string {
	switch word {
	case "allow", "deny", "ask", "stop", "note":
		return word
	case "fail": // and then it exits with 1
		return "allow"
	case "agreed": // and then the person agrees, and it runs
		return "ask"
	default:
		return ""
	}
}

// parseSteps reads a file for "gate rules test". The error lists everything that is wrong with it.
func parseSteps(name string, data []byte) (steps []step, err error) {
	var errs []error
	number := 0
	for text := range strings.Lines(string(data)) {
		number++
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		s, err := parseStep(text)
		s.at = fmt.Sprintf("%s:%d", name, number)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.at, err))
		}
		steps = append(steps, s)
	}
	return steps, errors.Join(errs...)
}

func parseStep(text string) (step, error) {
	if text == "---" {
		return step{order: orderBegin}, nil
	}
	var s step
	if word, rest, ok := strings.Cut(text, ":"); ok && regexp.MustCompile(`^[A-Za-z]+$`).MatchString(word) {
		if expected(word) == "" {
			return s, fmt.Errorf("%q is nothing to expect; %s", word, orWords(word, "allow, deny, ask, stop, note, fail or agreed"))
		}
		if s.text = strings.TrimSpace(rest); s.text == "" {
			return s, fmt.Errorf("there is no line after %q", word+":")
		}
		s.expect = word
		if word == "fail" {
			s.status = 1
		}
	} else {
		s.text = text
	}
	if strings.HasPrefix(s.text, "@") {
		return s, s.parseOrder()
	}
	s.parseTool()
	return s, nil
}

func orWords(word, all string) string {
	if nearest := spelling.Nearest(word, strings.FieldsFunc(all, func(r rune) bool { return r == ',' || r == ' ' })); nearest != "" && nearest != "or" {
		return "did you mean " + nearest + "?"
	}
	return "use " + all
}

func (s *step) parseOrder() error {
	words := strings.Fields(s.text[1:])
	if len(words) == 0 {
		return errors.New("there is nothing after @")
	}
	s.order = words[0]
	switch s.order {
	case orderExists:
		if s.paths = words[1:]; len(s.paths) == 0 {
			return errors.New("@exists needs the names of files")
		}
	case orderPrompt, orderSession, orderFinish:
		if len(words) > 1 {
			return fmt.Errorf("@%s takes no words", s.order)
		}
	default:
		return fmt.Errorf("@%s is no order; %s", s.order, orWords(s.order, "exists, prompt, session or finish"))
	}
	if s.expect != "" && s.order != orderFinish {
		return fmt.Errorf("@%s is not answered: leave out %q", s.order, s.expect+":")
	}
	return nil
}

// line returns the line that a shell is to run, which may be that of a client's shell tool; false if there is none.
func (s *step) line() (string, bool) {
	if s.tool == "" {
		return s.text, true
	}
	return shellCommand(s.tool, s.args)
}

// parseTool sees whether the step is the call of a client's tool: NAME {JSON}.
func (s *step) parseTool() {
	name, rest, ok := strings.Cut(s.text, " ")
	if !ok || !regexp.MustCompile(`^[A-Za-z_][\w.-]*$`).MatchString(name) {
		return
	}
	var args map[string]any
	if json.Unmarshal([]byte(rest), &args) == nil && args != nil {
		s.tool, s.args = name, args
	}
}
