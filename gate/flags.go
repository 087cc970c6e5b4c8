package gate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/flags"
	"gatehouse/gate/policy"
	"gatehouse/internal/spelling"
)

// flags checks that every option of each call is one that its program has.
func (j *judge) flags() {
	if j.p.CheckFlags == policy.Off {
		return
	}
	for i := range j.calls {
		c := &j.calls[i]
		if c.Form == nil || c.Meta.Remote || !j.covers[i].OK() {
			continue // a call that is refused as a whole needs no word about its options
		}
		if j.p.CheckFlags == policy.Spec || !runsProgram(c) {
			j.flagsBySpec(i, c)
		} else {
			j.flagsByHelp(i, c)
		}
	}
}

func (j *judge) flagsBySpec(i int, c *call.Call) {
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		switch {
		case part.Dynamic && part.Role == call.Stranger:
		case part.Role == call.Stranger && builtin(c.Argv[0]) && c.Meta.SpecMatched:
		case part.Role == call.Stranger:
			j.add(Reason{Stage: StageFlags, Call: i, Rule: part.Flag,
				Text: fmt.Sprintf("the spec of %s has no option %s", j.name(i), part.Flag), Hint: "look at its help, and use an option that is there"})
		case part.Cut:
			j.cut(i, part)
		}
	}
}

// cut refuses a long option that is not spelt out: what it is short for depends on the version.
func (j *judge) cut(i int, part *call.Part) {
	j.add(Reason{Stage: StageFlags, Call: i, Rule: part.Flag,
		Text: fmt.Sprintf("%s is written as %s, which is short for it", part.Flag, word(j.calls[i].Argv[part.Word])), Hint: "write the option out"})
}

// word is an option without the value behind its equals sign.
func word(text string) string {
	text, _, _ = strings.Cut(text, "=")
	return text
}

// flagsByHelp looks up each word with options in what was harvested from the very program that the call runs.
func (j *judge) flagsByHelp(i int, c *call.Call) {
	file, known := j.program(i)
	if file == "" || !known {
		return // the stage before has said so
	}
	sub := c.Form.Path[1:]
	if !c.Meta.SpecMatched {
		sub = j.subcommands(file, c)
	}
	levels := make([]*flags.Entry, len(sub)+1)
	done, next, behind := -1, false, 0
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		if part.Role == call.Dashes {
			break
		}
		if part.Role == call.Subcommand {
			behind++
		}
		if part.Role == call.Operand || part.Role == call.Subcommand || part.Word == done {
			next = false
			continue
		}
		if next {
			next, done = false, part.Word
			continue
		}
		done = part.Word
		text := c.Argv[part.Word]
		if part.Open || text == "" || text[0] != '-' && text[0] != '+' {
			continue
		}
		if part.Cut {
			j.cut(i, part)
			continue
		}
		level := part.Level
		if part.Role == call.Stranger {
			level = len(levels) - 1
		}
		entry, answer, ok := j.lookUpFlag(i, file, sub, levels, level, min(behind, len(levels)-1), text, part)
		if !ok {
			return
		}
		if !answer.Known {
			j.unknownFlag(i, sub, entry, text, answer)
			continue
		}
		next = answer.Next && part.Role == call.Stranger
	}
}

// lookUpFlag asks the help of the subcommand that an option stands behind, and then of those above it, whose options may
// stand there too. The spec has the option at level; behind are the subcommands before it, whose own help may list an
// option that is for all of them. ok is false if nothing is known of the program and that has been said.
func (j *judge) lookUpFlag(i int, file string, sub []string, levels []*flags.Entry, level, behind int, text string, part *call.Part) (*flags.Entry, flags.Answer, bool) {
	numbers := part.Role == call.Flag && len(text) > 1 && strings.Trim(text[1:], "0123456789") == ""
	var first *flags.Entry
	var answer flags.Answer
	for l := max(level, behind); l >= 0; l-- {
		if levels[l] == nil {
			entry, err := j.harvested(file, sub[:l])
			if errors.Is(err, flags.ErrMiss) && l > 1 { // git stash push: what the help does not list is never asked; its options are with those above
				if above, e := j.harvested(file, sub[:l-1]); e == nil && len(above.Subcommands) > 0 &&
					!slices.Contains(above.Subcommands, sub[l-1]) {
					entry, err = above, nil
				}
			}
			if err != nil {
				if l > level || l < level && first != nil {
					continue
				}
				j.notHarvested(i, file, sub[:l], err)
				return nil, flags.Answer{}, false
			}
			levels[l] = entry
		}
		if l <= level && len(levels[l].Flags) == 0 && part.Role == call.Flag {
			return levels[l], flags.Answer{Known: true}, true // it shows no help; the spec knows it
		}
		a := levels[l].Known(text, numbers)
		if l == level {
			first, answer = levels[l], a
		}
		if a.Known {
			return levels[l], a, true
		}
	}
	return first, answer, true
}

// subcommands are the first words of a call without a spec that the program's own help has among its subcommands.
func (j *judge) subcommands(file string, c *call.Call) []string {
	n := 1
	for ; n < len(c.Argv); n++ {
		e, err := j.harvested(file, c.Argv[1:n])
		if err != nil || !slices.Contains(e.Subcommands, c.Argv[n]) {
			break
		}
	}
	return c.Argv[1:n]
}

func (j *judge) notHarvested(i int, file string, sub []string, err error) {
	name := strings.Join(append([]string{filepath.Base(j.calls[i].Argv[0])}, sub...), " ")
	r := Reason{Stage: StageFlags, Call: i, Text: fmt.Sprintf("the options of %s are not known yet", name),
		Hint: "a person can read them once with: gate flags " + name}
	if strings.Contains(j.calls[i].Argv[0], "/") {
		r.Hint = "a person can read them once with: gate flags " + file
	}
	if !errors.Is(err, flags.ErrMiss) {
		r.Text += ": " + err.Error()
	}
	j.add(r)
}

func (j *judge) unknownFlag(i int, sub []string, e *flags.Entry, text string, a flags.Answer) {
	name := j.name(i)
	if !j.calls[i].Meta.SpecMatched && len(sub) > 0 {
		name += " " + strings.Join(sub, " ")
	}
	r := Reason{Stage: StageFlags, Call: i, Rule: word(text), Text: fmt.Sprintf("%s has no option %s", name, word(text))}
	if known := e.Find(word(text)) != nil; a.Why != "" && (known || !strings.HasPrefix(text, "--") && len(text) > 2) {
		r.Text = fmt.Sprintf("%s does not take %s: %s", name, text, a.Why)
		if known {
			j.add(r)
			return
		}
	}
	if near := nearest(word(text), e); near != "" {
		r.Hint = fmt.Sprintf("did you mean %s? gate flags %s lists them", near, name)
	} else {
		r.Hint = fmt.Sprintf("gate flags %s lists those that it has", name)
	}
	j.add(r)
}

// nearest returns the option that text is a misspelling of, or begins, if one is near enough.
func nearest(text string, e *flags.Entry) string {
	var names []string
	for _, f := range e.Flags {
		for _, n := range f.Names {
			if len(n) > 3 {
				names = append(names, n)
			}
		}
	}
	return spelling.Nearest(text, names)
}

// harvested is what is known of the options of a program.
func (j *judge) harvested(file string, sub []string) (*flags.Entry, error) {
	if j.machine == "" {
		j.machine = machineID()
	}
	return flags.Lookup(j.g.stores(), j.machine, file, sub)
}

// stores are the places of harvested flags, the most trusted first. Where root keeps some, only what root wrote counts.
func (g *Gate) stores() []flags.Store {
	var stores []flags.Store
	for _, s := range g.sources {
		if s.entry.Accepted != "" && s.from.Mode == ModeAccepted {
			stores = append(stores, flags.Store{Dir: filepath.Join(rootState(s.entry), "flags"), Root: true})
		}
	}
	if g.home != "" {
		stores = append(stores, flags.Store{Dir: filepath.Join(g.home, ".config", "gatehouse", "flags")})
	}
	for _, dir := range g.options.Flags {
		stores = append(stores, flags.Store{Dir: dir})
	}
	return stores
}

// machineID is the id that harvested flags are bound to; one that cannot be read matches nothing.
func machineID() string {
	id, err := flags.Machine()
	if err != nil {
		return "unknown machine"
	}
	return id
}
