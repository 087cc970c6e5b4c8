package rules

import (
	"strings"

	"gatehouse/gate/call"
)

// Prove notes on the events of a line which later ones run only if an earlier one succeeded: in "pytest && git push" the
// push needs no record of what pytest ended with. It sees only chains of && of one shell. A line with a "!" proves
// nothing, since calls do not say that they are negated.
func Prove(line string, calls []call.Call, events []Event) {
	if strings.Contains(line, "!") || !strings.Contains(line, "&&") {
		return
	}
	for i := range events {
		e := &events[i]
		if e.Call >= len(calls) || e.Remote || calls[e.Call].Meta.Background {
			continue
		}
		from := i
		for e := &events[from]; from > 0 && transparent(calls[e.Call].Meta) && !e.Remote; e = &events[from] {
			from-- // what it wraps ends as the wrapper does
		}
		e.Proves = chain(calls, events, from)
		if e.Proves.From <= i {
			e.Proves = Span{}
		}
	}
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
