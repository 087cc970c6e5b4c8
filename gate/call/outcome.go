package call

import "strings"

// Known says what is known of whether a call ran. Anything but the constants counts as MaybeRan.
type Known string

// What can be known.
const (
	MaybeRan  Known = "maybe ran"
	Ran       Known = "ran"
	DidNotRun Known = "did not run"
)

// An Outcome is what is known of one call after its line has ended.
type Outcome struct {
	Known  Known
	Status *int // its own exit status, nil where it is not known
}

// Outcomes says for each of the calls of line what is known of it, given the exit status of the whole line: nil where
// nobody knows it, negative where it is only known that the line failed.
//
// A line that is plain (pipelines of commands, with or without a "!", joined by && || ; and line ends) is followed on all
// the ways that lead to its status (ways.go). In any other line, nothing is known but that what is not conditional ran.
// Whatever may have been skipped has only maybe run, and a status is given only where no other is possible: that of pytest
// in "pytest | tee log" is known under pipefail alone. The statuses 126 and 127 can mean that there was no such program,
// and those above 128 that the whole line was ended from outside.
//
// It is taken for granted that redirections succeed, and that a status that the caller does not know is that of a line
// which came to its end.
func Outcomes(line string, calls []Call, status *int) []Outcome {
	out := make([]Outcome, len(calls))
	script{line, calls, out, 0, shellOptions{}}.judge(status)
	return out
}

// A script is a text of a shell with the calls in it: a line, or what bash -c runs. Its own commands have the depth
// depth; the others are in substitutions and wrappers.
type script struct {
	text    string
	calls   []Call
	out     []Outcome
	depth   int
	options shellOptions
}

func (s script) judge(status *int) {
	units, ok := s.plain()
	if ok {
		ok = follow(units, s.options, status)
	}
	if !ok {
		s.roughly(status)
		return
	}
	for _, u := range units {
		for i, st := range u.stages {
			s.stage(st, u, i == len(u.stages)-1, status)
		}
	}
}

// roughly judges a script whose shape is not known.
func (s script) roughly(status *int) {
	ended := status != nil && *status >= 126
	type around struct {
		depth   int
		known   Known
		errexit bool
	}
	var stack []around // the calls that can be a wrapper of the next one, the innermost last
	for i := range s.calls {
		c := &s.calls[i]
		for len(stack) > 0 && stack[len(stack)-1].depth >= c.Meta.Depth {
			stack = stack[:len(stack)-1]
		}
		here := around{c.Meta.Depth, Ran, s.options.errexit}
		if c.Meta.Wrapper != "" && len(stack) > 0 {
			here.known, here.errexit = stack[len(stack)-1].known, stack[len(stack)-1].errexit
			if passes(c.Meta.Wrapper) == no || passes(c.Meta.Wrapper) == ifZero {
				here.known = MaybeRan
			}
		}
		if c.Meta.Conditional || c.Meta.Repeated || c.Meta.Background || ended && (i > 0 || len(s.calls) == 1) ||
			here.errexit && i > 0 && c.Meta.Operator != "wrap" {
			here.known = MaybeRan
		}
		s.out[i] = Outcome{Known: here.known}
		if passes(c.Argv[0]) == script1 {
			_, o := scriptOf(c.Argv)
			here.errexit = here.errexit || o.errexit
		}
		stack = append(stack, here)
	}
}

// stage judges one command of a pipeline, and what runs within it.
func (s script) stage(st stage, u *unit, last bool, line *int) {
	o := Outcome{Known: u.known}
	status := u.status
	if u.negated {
		status = nil
		if u.status != nil && *u.status == 1 {
			status = new(int)
		}
	}
	if u.known == Ran && (last && !u.pipefail || len(u.stages) == 1 || u.pipefail && status != nil && *status == 0) {
		o.Status = status
	}
	if missing(line) && u.mayEnd {
		o.Known = MaybeRan // there may be no such program
	}
	own := &s.calls[st.call]
	s.out[st.call] = o
	for i := st.from; i < st.call; i++ { // substitutions in its words
		known := o.Known
		if s.calls[i].Meta.Conditional || s.calls[i].Meta.Background || s.calls[i].Meta.Repeated {
			known = weaker(known)
		}
		s.out[i] = Outcome{Known: known}
	}
	if st.call+1 < st.to {
		script{"", s.calls[st.call+1 : st.to], s.out[st.call+1 : st.to], s.depth + 1, shellOptions{}}.within(own, o)
	}
}

// within judges what the wrapper own runs, of which o is known.
func (s script) within(own *Call, o Outcome) {
	how := passes(s.calls[0].Meta.Wrapper)
	switch {
	case o.Known != Ran, how == no, how == ifZero && (o.Status == nil || *o.Status != 0), o.Status != nil && 125 <= *o.Status && *o.Status <= 127:
		for i := range s.calls {
			s.out[i] = Outcome{Known: weaker(o.Known)}
		}
		return
	}
	status := o.Status
	if status != nil && (*status == 124 || *status > 128) {
		status = nil // that of the wrapper itself, timeout say
	}
	switch {
	case how == script1:
		s.text, s.options = scriptOf(own.Argv)
	case s.calls[0].Meta.Wrapper == "time":
		s.text = strings.TrimPrefix(own.Meta.Source, "time")
	default:
		s.text = s.calls[0].Meta.Source
	}
	s.judge(status)
}

func weaker(k Known) Known {
	if k == Ran {
		return MaybeRan
	}
	return k
}

func missing(status *int) bool { return status != nil && (*status == 126 || *status == 127) }

// A passing says whether a wrapper ends with the status of what it runs.
type passing uint8

const (
	no      passing = iota
	yes             // it runs one command, always
	ifZero          // it may refuse to, and then fails
	script1         // a shell that runs one of its words
)

// passes is about wrappers by the name of the call that runs another. What is not listed may run it never, or many times.
func passes(wrapper string) passing {
	switch wrapper {
	case "env", "nice", "nohup", "time", "timeout", "stdbuf", "ionice", "chrt", "taskset", "command", "builtin", "exec", "python -m", "strace":
		return yes
	case "sudo", "doas", "flock", "uv", "poetry", "pipenv", "npx", "setpriv":
		return ifZero
	case "bash", "sh", "dash", "zsh", "ksh":
		return script1
	default:
		return no
	}
}

// scriptOf is the script in the words of a shell, and the options that it begins with.
func scriptOf(argv []string) (text string, o shellOptions) {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+") {
			break
		}
		takes := o.set(word)
		if takes && i+1 < len(argv) {
			i++
			o.name(word[0] == '-', argv[i])
		}
		if !strings.HasPrefix(word, "--") && strings.Contains(word, "c") && i+1 < len(argv) {
			return argv[i+1], o
		}
	}
	return "", o
}
