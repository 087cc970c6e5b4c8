package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/policy"
)

// entries holds each call against the deny entries and then the allow entries.
func (j *judge) entries() {
	hit := make([]bool, len(j.calls))
	for i := range j.calls {
		entry, match := j.p.Denied(&j.calls[i], j.host)
		switch match {
		case policy.Yes:
			hit[i] = true
			j.add(Reason{Stage: StageEntry, Call: i, Rule: denyRule(entry), At: entry.At,
				Text: fmt.Sprintf("%s is refused by the deny entry %q", j.name(i), denyRule(entry)),
				Why:  entry.Why, Fix: entry.Fix})
		case policy.Maybe:
			j.dynamic(Reason{Call: i, Rule: denyRule(entry), At: entry.At,
				Text: fmt.Sprintf("a value that is known only at run time can make this the denied %q", denyRule(entry)),
				Why:  entry.Why, Fix: entry.Fix,
				Hint: "write the value out; put -- before operands that may begin with a dash"})
		}
	}
	j.covers = j.p.Cover(j.calls, j.host)
	for i := range j.calls {
		c := &j.covers[i]
		if c.OK() || hit[i] {
			continue
		}
		action, ok := ask(j.p.Unlisted)
		if !ok {
			continue
		}
		text := fmt.Sprintf("no allow entry covers %s", j.name(i))
		if c.Why != "" && !strings.HasPrefix(c.Why, "no entry names") {
			text += ": " + c.Why
		}
		hint := "a person can add an entry to gate.yaml; do not look for another way to the same"
		if meant := j.meant(i); meant != "" {
			hint = "did you mean " + meant + "?"
		}
		j.add(Reason{Action: action, Stage: StageEntry, Call: i, Rule: "unlisted", Text: text, At: j.keyAt("unlisted"), Hint: hint})
	}
}

// meant is the beginning of an allow entry that a call is likely a misspelling of, "" if there is none.
func (j *judge) meant(i int) string {
	c := &j.calls[i]
	if c.Form == nil || len(c.Form.Path) < 2 {
		return ""
	}
	program := path.Base(c.Argv[0])
	for n := range j.p.Allow {
		text := j.p.Allow[n].Text
		if !strings.HasPrefix(text, program) {
			continue
		}
		if words := strings.Fields(text); len(words) > 1 && words[0] == program && typo(c.Form.Path[1], words[1]) {
			return words[0] + " " + words[1]
		}
	}
	return ""
}

func denyRule(e *policy.Entry) string {
	if len(e.Flags) == 0 {
		return e.Text
	}
	return e.Text + " " + strings.Join(e.Flags, ", ")
}

// name is a call as a person would name it: the program as it was called, with its subcommands.
func (j *judge) name(i int) string {
	c := &j.calls[i]
	name := path.Base(c.Argv[0])
	if strings.Contains(c.Argv[0], "/") && c.Argv[0][0] != '/' {
		name = c.Argv[0] // ./gen.sh is not a gen.sh that PATH finds
	}
	if c.Form != nil && len(c.Form.Path) > 1 {
		name += " " + strings.Join(c.Form.Path[1:], " ")
	}
	return name
}
