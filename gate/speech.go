package gate

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// speech judges the commands that a line gives to a program in the program's own language: on the line, on standard input,
// or in a file that is there and that the gate may read. What runs another program in it is judged as a line, the files that
// it names are held against the denied ones, and what nobody can tell is a value of run time.
func (j *judge) speech(i int, name string) {
	l := languageOf(name)
	if l == nil {
		return
	}
	c := &j.calls[i]
	spoke := false
	for _, option := range l.options {
		for _, g := range options(c, option) {
			spoke = true
			if !g.known && !l.whole {
				j.vague(i, fmt.Sprintf("what %s is told to do is known only at run time", j.name(i)))
				continue
			}
			j.utterance(i, l, g.value)
		}
	}
	for _, option := range l.files {
		for _, g := range options(c, option) {
			spoke = true
			j.spokenFile(i, l, g.value)
		}
	}
	if l.operand > 0 && c.Form != nil {
		list := operandsOf(c)
		for n := l.operand; n < len(list); n++ {
			spoke = true
			j.utterance(i, l, list[n])
		}
	}
	if l.plus {
		for _, w := range c.Argv[1:] {
			if len(w) > 1 && w[0] == '+' {
				j.utterance(i, l, w[1:])
			}
		}
	}
	if l.stdin != noInput && (!spoke || l.stdin == alsoInput) {
		j.heard(i, l)
	}
}

// A language is how a program is told what to do.
type language struct {
	options []string // with a text
	files   []string // with a file of texts
	operand int      // operands from this one on are texts; 0: none are
	plus    bool     // words that begin with a + are texts
	stdin   input
	whole   bool // a full language, whose programs the entry covers whatever they are
	read    func(l *listener, text string)
}

// input says when a program listens to its standard input.
type input uint8

const (
	noInput   input = iota
	onlyInput       // where nothing else is said
	alsoInput
)

func languageOf(name string) *language {
	switch name {
	case "ed", "red":
		return &language{stdin: alsoInput, read: (*listener).ed}
	case "vim", "vi", "ex", "view", "gvim", "vimdiff", "nvim":
		return &language{options: []string{"-c", "--cmd"}, plus: true, stdin: alsoInput, read: (*listener).vim}
	case "less", "more":
		return &language{options: []string{"--cmd"}, plus: true, read: (*listener).less}
	case "gdb":
		return &language{options: []string{"-ex", "--ex", "-iex", "--eval-command", "-eval-command", "-eix", "-eiex", "--init-eval-command"}, stdin: alsoInput, read: (*listener).debugger}
	case "lldb":
		return &language{options: []string{"-o", "--one-line", "-O", "--one-line-before-file", "-k"}, stdin: alsoInput, read: (*listener).debugger}
	case "sqlite3":
		return &language{options: []string{"-cmd", "--cmd"}, operand: 1, stdin: onlyInput, read: (*listener).sqlite}
	case "psql":
		return &language{options: []string{"-c", "--command", "-v", "--set", "--variable"}, files: []string{"-f", "--file"}, stdin: onlyInput, read: (*listener).psql}
	case "mysql", "mariadb":
		return &language{options: []string{"-e", "--execute", "--init-command"}, stdin: onlyInput, read: (*listener).mysql}
	case "ftp", "tnftp", "pftp", "sftp", "lftp":
		return &language{options: []string{"-e", "-c"}, files: []string{"-b"}, stdin: alsoInput, read: (*listener).transfer}
	case "dc":
		return &language{options: []string{"-e", "--expression"}, files: []string{"-f", "--file"}, stdin: alsoInput, read: (*listener).bang}
	case "gnuplot":
		return &language{options: []string{"-e"}, stdin: alsoInput, read: (*listener).plot}
	case "m4":
		return &language{options: []string{"-D", "--define"}, stdin: alsoInput, read: (*listener).code}
	case "tclsh", "expect", "wish":
		return &language{options: []string{"-c"}, stdin: alsoInput, read: (*listener).code}
	case "prename", "file-rename":
		return &language{options: []string{"-e"}, read: (*listener).code}
	case "julia", "R", "Rscript", "octave", "octave-cli", "guile", "sbcl", "erl", "elixir", "emacs", "scala", "groovy", "lua", "perl", "ruby", "node", "nodejs",
		"python", "python3", "php", "deno", "bun", "rake":
		return &language{options: codeOptions(name), whole: true, read: (*listener).code}
	}
	return nil
}

// codeOptions are the options of an interpreter behind which a program stands.
func codeOptions(name string) []string {
	switch name {
	case "python", "python3":
		return []string{"-c"}
	case "php":
		return []string{"-r", "--run", "-B", "-R", "-E"}
	case "emacs", "sbcl", "erl", "octave", "octave-cli":
		return []string{"--eval", "-eval", "--execute"}
	case "guile":
		return []string{"-c"}
	case "perl":
		return []string{"-e", "-E"}
	case "node", "nodejs", "bun":
		return []string{"-e", "--eval", "-p", "--print"}
	}
	return []string{"-e", "--eval", "-E", "-p"}
}

// operandsOf lists the operands of a call, without the texts behind its options.
func operandsOf(c *call.Call) (list []string) {
	for n := range c.Form.Parts {
		if part := &c.Form.Parts[n]; part.Role == call.Operand {
			list = append(list, part.Value)
		}
	}
	return list
}

// heard judges what arrives on standard input.
func (j *judge) heard(i int, l *language) {
	cmd := &j.commands[i]
	switch in := &cmd.Stdin; {
	case in.Known:
		j.utterance(i, l, in.Text)
		return
	case j.calls[i].Meta.Operator == "|":
		j.vague(i, fmt.Sprintf("what %s is told to do comes out of a pipe", j.name(i)))
		return
	}
	for n := range cmd.Redirects {
		r := &cmd.Redirects[n]
		switch {
		case r.FD > 0 || !strings.HasPrefix(r.Op, "<"):
		case r.Op == "<":
			if r.Target.Text == "/dev/null" {
				continue
			}
			j.spokenFile(i, l, r.Target.Text)
		case r.Body.Text != "":
			j.utterance(i, l, r.Body.Text)
		}
	}
}

// spokenFile judges the commands in a file, where it can be read and the line does not write it.
func (j *judge) spokenFile(i int, l *language, file string) {
	if file == "-" {
		j.heard(i, l)
		return
	}
	p := j.absolute(i, file)
	if p == "" {
		j.vague(i, fmt.Sprintf("what %s is told to do is known only at run time", j.name(i)))
		return
	}
	j.reads(i, file)
	data, err := readRegular(j.view.at(p).real, maxCode+1)
	if err != nil || len(data) > maxCode || j.view.at(p).lost || j.writtenBefore(i, p) {
		j.vague(i, fmt.Sprintf("%s does what %s says, and that cannot be seen now", j.name(i), j.show(p)))
		return
	}
	j.utterance(i, l, string(data))
}

// utterance judges one text.
func (j *judge) utterance(i int, l *language, text string) {
	if len(text) > maxCode {
		j.vague(i, fmt.Sprintf("what %s is told is more than the gate looks through", j.name(i)))
		return
	}
	h := listener{}
	l.read(&h, text)
	for _, line := range h.runs {
		j.runsLine(i, line)
	}
	for _, line := range h.spawns {
		j.spawned(i, line)
	}
	for _, file := range h.files {
		if file = strings.Trim(file, `'"`); plausible(file) {
			if p := j.absolute(i, file); p != "" {
				j.denied(i, p)
			}
		}
	}
	for _, file := range h.writes {
		if file = strings.Trim(file, `'"`); plausible(file) {
			j.puts(i, file)
		}
	}
	for _, file := range h.more {
		if j.spoken++; j.spoken > maxSpoken {
			j.vague(i, "too many files take each other's place")
			break
		}
		j.spokenFile(i, l, strings.Trim(strings.TrimSpace(file), `'"`))
	}
	if h.vague != "" {
		j.vague(i, fmt.Sprintf("%s can run programs by %q, which the gate does not follow", j.name(i), clip(h.vague)))
	}
	j.code(i, text)
}

// spawned judges a command that a program in a language of its own starts: its interpreter is covered by its entry, so no
// allow entry is asked for, but deny entries and denied paths hold.
func (j *judge) spawned(i int, line string) {
	before := len(j.reasons)
	j.runsLine(i, line)
	j.reasons = slices.DeleteFunc(j.reasons, func(r Reason) bool {
		before--
		return before < 0 && (r.Rule == "unlisted" || r.Stage != StageEntry && r.Stage != StageProtect && r.Stage != StagePaths || r.Rule == "reads_must_exist")
	})
}

// maxSpoken bounds files of commands that name others.
const maxSpoken = 20

func clip(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 60 {
		return text[:60] + "…"
	}
	return text
}
