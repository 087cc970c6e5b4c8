package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/memory"
	"gatehouse/gate/rules"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// A ruleTrial plays lines to rules, with a memory that begins empty. It looks at no disk: what exists is what it was told,
// and what the lines that ran have written since.
type ruleTrial struct {
	book             *ruleBook
	cwd, home        string
	session, project *memory.State
	files            map[string]bool
	generation       int
}

func (b *ruleBook) trial(cwd, home string) *ruleTrial {
	t := &ruleTrial{book: b, cwd: cwd, home: home}
	t.begin()
	return t
}

// begin forgets everything.
func (t *ruleTrial) begin() {
	t.session, t.project, t.files = newMemory(), newMemory(), make(map[string]bool)
}

func newMemory() *memory.State {
	return &memory.State{Rules: make(map[string][]byte), Extra: make(map[string][]byte)}
}

func (t *ruleTrial) memories() rules.Memories {
	return rules.Memories{Session: t.session, Project: t.project}
}

// events takes a line apart, or the call of a client's tool.
func (t *ruleTrial) events(s step) (events []rules.Event, calls []call.Call, err error) {
	line, ok := s.line()
	if !ok {
		return []rules.Event{rules.Tool(s.tool, s.args, t.cwd)}, nil, nil
	}
	calls, err = spec.Line(line, spec.Options{
		Shell:   shell.Options{Dir: t.cwd, Home: t.home},
		Packs:   t.book.packs,
		Effects: true,
	})
	events = rules.Events(calls)
	rules.Prove(line, calls, events)
	return events, calls, err
}

// shellCommand returns the line that a client's shell tool is to run.
func shellCommand(tool string, args map[string]any) (string, bool) {
	if e := rules.Tool(tool, nil, ""); e.Name != "Bash" && (len(e.Also) == 0 || e.Also[0] != "Bash") {
		return "", false
	}
	for _, name := range []string{"command", "cmd", "script"} {
		if line, ok := args[name].(string); ok {
			return line, true
		}
	}
	return "", false
}

// judge says what the rules say of a step, and lets it run unless they refuse it.
func (t *ruleTrial) judge(s step) (answer string, verdicts []rules.Verdict) {
	t.generation++
	events, calls, err := t.events(s)
	if err != nil {
		return refusedFor(fmt.Errorf("the line is refused before any rule sees it: %w", err), nil)
	}
	env := t.surroundings()
	verdicts = t.book.set.Judge(t.memories(), events, env)
	answer = answerOf(verdicts)
	runs := answer == "allow" || answer == "note" || answer == "ask" && s.expect == "agreed"
	if !runs {
		err = t.book.set.Refuse(t.memories(), events, verdicts, env)
	} else {
		err = t.record(s, events, calls, env)
	}
	if err != nil {
		return refusedFor(err, verdicts)
	}
	return answer, verdicts
}

// refusedFor is the answer where no rule can say anything.
func refusedFor(err error, verdicts []rules.Verdict) (answer string, all []rules.Verdict) {
	return "deny", append(verdicts, rules.Verdict{Action: rules.Deny, Event: -1, Call: -1, Text: err.Error()})
}

// record counts a step as run.
func (t *ruleTrial) record(s step, events []rules.Event, calls []call.Call, env rules.Surroundings) error {
	status := s.status
	outcomes := []call.Outcome{{Known: call.Ran, Status: &status}}
	if line, ok := s.line(); ok && calls != nil {
		outcomes = call.Outcomes(line, calls, &status)
	}
	ran := events[:0:0]
	for _, e := range events {
		o := outcomes[min(e.Call, len(outcomes)-1)]
		if o.Known == call.DidNotRun {
			continue
		}
		e.Doubt = o.Known != call.Ran
		if !e.Remote {
			e.Status = o.Status
		}
		ran = append(ran, e)
		t.remember(e, calls)
	}
	return t.book.set.Record(t.memories(), ran, env)
}

// remember changes what exists.
func (t *ruleTrial) remember(e rules.Event, calls []call.Call) {
	if calls == nil {
		if name, ok := e.Args["file_path"].(string); ok && (e.Name == "Write" || len(e.Also) > 0 && e.Also[0] == "Write") {
			t.files[t.absolute(name)] = true
		}
		return
	}
	for _, f := range calls[e.Call].Effects {
		if f.Sure != call.Sure || f.Remote || !filepath.IsAbs(f.Path) || strings.HasPrefix(f.Path, "/dev/") {
			continue
		}
		switch f.Kind {
		case call.Write, call.Append:
			if !f.Tree {
				t.files[f.Path] = true
			}
		case call.Delete:
			for name := range t.files {
				if name == f.Path || f.Tree && strings.HasPrefix(name, f.Path+"/") {
					delete(t.files, name)
				}
			}
		}
	}
}

func (t *ruleTrial) absolute(name string) string {
	if strings.HasPrefix(name, "~/") {
		return filepath.Join(t.home, name[2:])
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(t.cwd, name)
	}
	return filepath.Clean(name)
}

// surroundings are the files that the trial knows.
func (t *ruleTrial) surroundings() rules.Surroundings {
	return rules.Surroundings{
		Project: t.cwd, Home: t.home, Cwd: t.cwd,
		Exists: func(name string) bool {
			for file := range t.files {
				if file == name || strings.HasPrefix(file, name+"/") {
					return true
				}
			}
			return false
		},
		Glob: func(pattern string) (names []string, all bool) {
			for file := range t.files {
				if ok, err := path.Match(pattern, file); err == nil && ok {
					names = append(names, file)
				}
			}
			return names, true
		},
		Below: func(dir string, match func(string) bool) (found, all bool) {
			for file := range t.files {
				if strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") && match(file) {
					return true, true
				}
			}
			return false, true
		},
		Generation: strconv.Itoa(t.generation),
	}
}

// answerOf is what the verdicts come to.
func answerOf(verdicts []rules.Verdict) string {
	answer := "allow"
	rank := map[string]int{"allow": 0, "note": 1, "ask": 2, "deny": 3, "stop": 4}
	for _, v := range verdicts {
		if one := actionName(v.Action); rank[one] > rank[answer] {
			answer = one
		}
	}
	return answer
}

func actionName(a rules.Action) string {
	switch a {
	case rules.Stop:
		return "stop"
	case rules.Ask:
		return "ask"
	case rules.Note:
		return "note"
	default:
		return "deny"
	}
}

// play does what a step says. An order has no answer.
func (t *ruleTrial) play(s step) (answer string, verdicts []rules.Verdict) {
	switch s.order {
	case orderBegin:
		t.begin()
	case orderSession:
		t.session = newMemory()
	case orderPrompt:
		t.book.set.Prompt(t.memories())
	case orderExists:
		for _, name := range s.paths {
			t.files[t.absolute(name)] = true
		}
	case orderFinish:
		verdicts, err := t.book.set.Finish(t.memories())
		if err != nil {
			return refusedFor(err, verdicts)
		}
		return answerOf(verdicts), verdicts
	default:
		return t.judge(s)
	}
	return "", nil
}
