package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// runs judges what a call runs by the word of its spec and the shell could not follow: go test -exec CMD, tcpdump -z CMD.
// Such a text is judged as a line of its own, so that an entry for go does not let it run what no entry covers.
func (j *judge) runs() {
	for i := range j.calls {
		c := &j.calls[i]
		if c.Meta.Remote {
			continue
		}
		texts := 0
		for n := range c.Effects {
			if runsText(&c.Effects[n]) {
				texts++
			}
		}
		for n := range c.Effects {
			e := &c.Effects[n]
			if command, is := strings.CutPrefix(e.Text, "ext::"); is && e.Kind == call.Net {
				j.runsLine(i, command) // the transport of git that runs a program
				continue
			}
			if !runsText(e) {
				continue
			}
			if e.Sure == call.Unknown {
				if !j.wraps(i) {
					j.dynamic(Reason{Call: i, Text: fmt.Sprintf("what %s runs (%q) is known only at run time", j.name(i), e.Text), Hint: "write the command out"})
				}
				continue
			}
			if !j.followed(i, e.Text, texts > 1) {
				j.runsLine(i, e.Text)
			}
		}
	}
}

func runsText(e *call.Effect) bool {
	return e.Kind == call.Run && e.Path == "" && e.Text != "" && !e.Remote
}

// followed reports whether the calls of a text are among those that the shell found behind the call i. Where the call
// runs more than one text, their words have to agree.
func (j *judge) followed(i int, text string, several bool) bool {
	if !j.wraps(i) {
		return false
	}
	if !several {
		return true
	}
	text = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(text), ";+"))
	commands, err := shell.Parse(text, shell.Options{Dir: j.cwd, Home: j.home})
	if err != nil || len(commands) == 0 {
		return false
	}
	for n := range commands {
		found := false
		words := wordsOf(&commands[n])
		for k := i + 1; k < len(j.calls) && j.calls[k].Meta.Depth > j.calls[i].Meta.Depth && !found; k++ {
			argv := j.calls[k].Argv
			found = len(argv) >= len(words) && slices.Equal(argv[:len(words)], words)
		}
		if !found {
			return false
		}
	}
	return true
}

func wordsOf(c *shell.Command) []string {
	words := make([]string, len(c.Words))
	for n := range c.Words {
		words[n] = c.Words[n].Text
	}
	return words
}

// runsLine judges a text that the call i runs as if it were a line, and takes over what speaks against it.
func (j *judge) runsLine(i int, text string) {
	r := *j.r
	r.Line, r.Argv, r.Tool, r.Objections = text, nil, nil, nil
	r.Cwd = j.cwd
	if dir := &j.commands[i].Dir; dir.Exact() && path.IsAbs(dir.Path) {
		r.Cwd = dir.Path
	}
	if j.over(200) {
		return
	}
	inner := j.g.judge(j.ctx, j.s, &r)
	inner.view.budget = j.view.budget
	inner.made, inner.linked, inner.alone, inner.deep = j.made, j.linked, true, j.deep+1
	if inner.deep > maxDeep {
		j.add(Reason{Stage: StageShell, Call: i, Text: "what it runs runs too many others in turn"})
		return
	}
	inner.stages()
	for _, reason := range inner.reasons {
		if reason.Source == "" {
			reason.Source = text
		}
		reason.Call = i
		j.add(reason)
	}
}

// maxDeep bounds texts that run texts.
const maxDeep = 5
