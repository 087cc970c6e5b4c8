package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gatehouse/gate/ltl"
)

// A rule is a Rule in the form in which calls are judged.
type rule struct {
	Rule
	key     string  // what its memory is kept under
	first   pattern // before, at_most, never, require, finally: what the rule is about
	then    pattern // before: what has to wait
	since   pattern // before, finally: what makes it open again
	vars    []string
	times   int
	formula string // ltl

	hasMode, hasScope bool // given in the file
}

// Names of patterns in the formula of a rule.
const (
	nameTarget = "call"
	nameTool   = "tool"
	nameFirst  = "first"
	nameThen   = "then"
	nameSince  = "since"
)

// formulaOf is what a rule says, as a formula over patterns: @call is never's, require's and finally's target, @first,
// @then and @since those of before and finally.
func (r *rule) formulaOf(env *Surroundings, current func(*ltl.Event) *Event) ltl.Formula {
	match := func(name string, p pattern) ltl.Formula {
		return ltl.Match{Name: name, Pattern: &bridge{p, env, current}}
	}
	switch r.Kind {
	case Never:
		return ltl.Unary{Op: 'G', F: ltl.Not{F: match(nameTarget, r.first)}}
	case Require:
		tool := ltl.Match{Name: nameTool, Pattern: &toolBridge{r.first, current}}
		return ltl.Unary{Op: 'G', F: ltl.Implies{If: tool, Then: match(nameTarget, r.first)}}
	case AtMost:
		f := match(nameTarget, r.first)
		return ltl.Unary{Op: 'G', F: ltl.Implies{If: f, Then: ltl.CountBefore{F: f, Op: ltl.LT, N: r.times}}}
	case Before:
		if len(r.vars) > 0 {
			first := ltl.Bind{Name: nameFirst, Vars: r.vars, Pattern: &bindBridge{r.first, env, r.vars, current}}
			then := ltl.Bind{Name: nameThen, Vars: r.vars, Pattern: &bindBridge{r.then, env, r.vars, current}}
			body := ltl.Unary{Op: 'Y', F: ltl.Unary{Op: 'O', F: first}}
			return ltl.Unary{Op: 'G', F: ltl.Each{Pattern: then, Body: body}}
		}
		var past ltl.Formula = ltl.Unary{Op: 'O', F: match(nameFirst, r.first)}
		if r.since != nil {
			past = ltl.Binary{Op: 'S', L: ltl.Not{F: match(nameSince, r.since)}, R: match(nameFirst, r.first)}
		}
		return ltl.Unary{Op: 'G', F: ltl.Implies{If: match(nameThen, r.then), Then: ltl.Unary{Op: 'Y', F: past}}}
	case Finally:
		done := ltl.Unary{Op: 'F', F: match(nameTarget, r.first)}
		if r.since == nil {
			return done
		}
		return ltl.Unary{Op: 'G', F: ltl.Implies{If: match(nameSince, r.since), Then: done}}
	default:
		f, err := ltl.Parse(r.formula, nil)
		if err != nil {
			return ltl.Constant{} // Parse has read it before
		}
		return f
	}
}

// A bridge lets a formula ask a pattern.
type bridge struct {
	p       pattern
	env     *Surroundings
	current func(*ltl.Event) *Event
}

// Match answers for an event of a trace.
func (b *bridge) Match(e *ltl.Event) ltl.Truth { return b.p.match(b.current(e), b.env) }

type toolBridge struct {
	p       pattern
	current func(*ltl.Event) *Event
}

// Match answers for an event of a trace.
func (b *toolBridge) Match(e *ltl.Event) ltl.Truth { return b.p.tool(b.current(e)) }

type bindBridge struct {
	p       pattern
	env     *Surroundings
	vars    []string
	current func(*ltl.Event) *Event
}

// Bind answers for an event of a trace.
func (b *bindBridge) Bind(e *ltl.Event) ltl.Bound {
	got := b.p.bind(b.current(e), b.env, b.vars)
	return ltl.Bound{Sure: got.sure, Maybe: got.maybe, Any: got.any}
}

// tool says whether e is a call of one of the tools of p.
func (p pattern) tool(e *Event) ltl.Truth {
	if !p.names(e) {
		return ltl.No
	}
	return ltl.Yes
}

// digest makes the key of what a rule remembers: a rule that says something else begins anew. What has been counted for one
// limit holds for another, so that a lower one takes effect at once.
func (r *rule) digest() string {
	sum := sha256.Sum256([]byte(r.patterns()))
	return r.ID + "#" + hex.EncodeToString(sum[:6])
}

// says is the whole of what a rule says, as text; two rules with one text judge alike.
func (r *rule) says() string {
	if r.Kind == AtMost {
		return r.patterns() + ", " + times(r.times)
	}
	return r.patterns()
}

// patterns is what a rule says but for the limit of at_most.
func (r *rule) patterns() string {
	if r.Kind == LTL {
		return "ltl: " + r.formula
	}
	var b strings.Builder
	b.WriteString(r.Kind.String())
	for _, p := range []struct {
		joint string
		p     pattern
	}{{": ", r.first}, {", then ", r.then}, {", since ", r.since}} {
		if p.p != nil {
			fmt.Fprintf(&b, "%s%s", p.joint, p.p)
		}
	}
	return b.String()
}

// String returns the pattern as text.
func (p pattern) String() string {
	parts := make([]string, len(p))
	for i := range p {
		parts[i] = p[i].String()
	}
	return alternatives(parts)
}

// String returns the target as text: git_push with force=true.
func (t target) String() string {
	text := alternatives(shown(t.tools))
	for _, c := range t.with {
		if c.name != "" {
			text += fmt.Sprintf(" with %s=$%s", c.arg, c.name)
			continue
		}
		if sub, ok := c.value.(string); ok && c.arg == "subcommand" && len(t.tools) == 1 {
			text += " " + sub // go test
			continue
		}
		text += fmt.Sprintf(" with %s=%v", c.arg, c.value)
	}
	for _, c := range t.where {
		if c.use != 0 {
			text += fmt.Sprintf(" that %s %s", [...]string{touches: "touches", reads: "reads", writes: "writes"}[c.use], strings.Join(c.patterns, " or "))
			continue
		}
		text += fmt.Sprintf(" where %s is %s", c.arg, strings.Join(c.patterns, " or "))
	}
	switch t.exists {
	case yes:
		text += " on what exists"
	case no:
		text += " on what does not exist"
	}
	switch t.succeeded {
	case yes:
		text += " that succeeded"
	case no:
		text += " that failed"
	}
	if t.sure {
		text += " for sure"
	}
	return text
}

// alternatives lists alternatives: a, b or c.
func alternatives(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// succeeding returns p without the condition that the calls succeeded, if each of its targets has it.
func (p pattern) succeeding() (pattern, bool) {
	plain := slices.Clone(p)
	for i := range plain {
		if plain[i].succeeded != yes {
			return p, false
		}
		plain[i].succeeded = either
	}
	return plain, len(p) > 0
}

// shown leaves out the second spelling that a name with dashes got.
func shown(tools []string) []string {
	var all []string
	for i, name := range tools {
		if i > 0 && tools[i-1] != name && underscored(tools[i-1]) == name {
			continue
		}
		all = append(all, name)
	}
	return all
}

// String returns the kind as it stands in files.
func (k Kind) String() string {
	switch k {
	case Never:
		return "never"
	case Before:
		return "before"
	case Require:
		return "require"
	case AtMost:
		return "at_most"
	case Finally:
		return "finally"
	case LTL:
		return "ltl"
	default:
		return "none"
	}
}

// String returns the mode as it stands in files.
func (m Mode) String() string {
	switch m {
	case Warn:
		return "warn"
	case AskFirst:
		return "ask"
	case Retry:
		return "retry"
	case StopAll:
		return "stop"
	case Log:
		return "log"
	default:
		return "block"
	}
}

// String returns the scope as it stands in files.
func (s Scope) String() string {
	if s == Project {
		return "project"
	}
	return "session"
}

// String returns the action in a word.
func (a Action) String() string {
	switch a {
	case Stop:
		return "stop"
	case Ask:
		return "ask"
	case Note:
		return "note"
	default:
		return "deny"
	}
}
