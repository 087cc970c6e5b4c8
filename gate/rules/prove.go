package rules

import (
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// Prove notes on the events of a line which later ones run only if an earlier one succeeded: in "pytest && git push" the
// push needs no record of what pytest ended with. A line that is nothing but pipelines is followed as the shell does, "!",
// || and set -e included (call.Proofs). In any other one, and within bash -c and the like, it sees chains of && of one
// shell; there a "!" proves nothing, since calls do not say that they are negated.
func Prove(line string, calls []call.Call, events []Event) {
	proofs, plain := call.Proofs(line, calls)
	for i := range events {
		e := &events[i]
		if e.Call >= len(calls) || e.Remote || calls[e.Call].Meta.Background {
			continue
		}
		from := i
		for e := &events[from]; from > 0 && transparent(calls[e.Call].Meta) && !e.Remote; e = &events[from] {
			from-- // what it wraps ends as the wrapper does
		}
		switch outer := &calls[events[from].Call]; {
		case from < i && turned(outer):
		case plain && outer.Meta.Depth == 0:
			e.Proves = between(events, proofs[events[from].Call])
		case !strings.Contains(line, "!") && strings.Contains(line, "&&") && leads(calls, events[from].Call):
			e.Proves = chain(calls, events, from)
		}
		if e.Proves.From <= i {
			e.Proves = Span{}
		}
	}
}

// turned reports whether a wrapper can turn the status of what it wraps around: time is a word of the shell, and takes a
// "!".
func turned(wrapper *call.Call) bool {
	return wrapper.Argv[0] == "time" && strings.Contains(wrapper.Meta.Source, "!")
}

// between returns the events that are some of the calls.
func between(events []Event, calls call.Span) (s Span) {
	for j := range events {
		if c := events[j].Call; c < calls.From || c >= calls.To || events[j].Remote {
			continue
		}
		if s.To == 0 {
			s.From = j
		}
		s.To = j + 1
	}
	return s
}

// leads reports whether a chain of && that goes on behind a call cannot do so without it: in "a || b && c", c can run
// where b did not.
func leads(calls []call.Call, i int) bool {
	depth := calls[i].Meta.Depth
	for j := i; j >= 0; j-- {
		m := &calls[j].Meta
		switch {
		case m.Depth < depth:
			return true
		case m.Depth > depth || m.Operator == "|" || m.Operator == "&&":
		case m.Operator == "||":
			return false
		default:
			return !m.Conditional || !slices.ContainsFunc(calls[:i], func(c call.Call) bool { return c.Meta.Operator == "||" })
		}
	}
	return true
}

// chain returns the events that run only if event i succeeded.
func chain(calls []call.Call, events []Event, i int) Span {
	depth := calls[events[i].Call].Meta.Depth
	var s Span
	for j := i + 1; j < len(events); j++ {
		m := &calls[events[j].Call].Meta
		switch {
		case m.Depth > depth || events[j].Remote:
		case m.Depth < depth:
			return s
		case m.Operator == "&&" && s.To == 0:
			s.From = j
		case m.Operator == "&&" || m.Operator == "|" && s.From > 0:
		default:
			return s
		}
		if s.From > 0 {
			s.To = j + 1
		}
	}
	return s
}

// transparent reports whether a call is run by one that ends with its status.
func transparent(m call.Meta) bool {
	if m.Operator != "wrap" {
		return false
	}
	switch m.Wrapper {
	case "env", "timeout", "time", "nice", "nohup", "command", "stdbuf", "ionice", "sudo", "builtin", "exec", "setsid":
		return true
	default:
		return false
	}
}
