package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// check judges by each policy that is in force; the strictest answer counts.
func (g *Gate) check(ctx context.Context, r Request) Decision {
	d := g.judgeBy(ctx, g.sources[0], r)
	for _, s := range g.sources[1:] {
		if next := g.judgeBy(ctx, s, r); next.Action < d.Action {
			d = next
		}
	}
	return d
}

// judgeBy judges by one policy. Whatever goes wrong, it denies.
func (g *Gate) judgeBy(ctx context.Context, s *source, r Request) (d Decision) {
	defer func() {
		if fault := recover(); fault != nil {
			d = Decision{Policy: s.from, Reasons: []Reason{{
				Stage: StageFault, Call: -1,
				Text: fmt.Sprintf("the gate itself failed (%v); this says nothing about the line", fault),
				Hint: "tell a person; a bug report needs the line and this: " + firstFrames(debug.Stack()),
			}}}
		}
	}()
	d = Decision{Policy: s.from, Subject: Subject(r, s.from.Tree)}
	if s.err != nil && s.drift && g.restores(ctx, s, &r) {
		d.Action = Allow // it ends the drift, and must not wait for that
		return d
	}
	if s.err != nil {
		d.Reasons = []Reason{{Stage: StagePolicy, Call: -1, Text: s.err.Error(), Hint: s.hint}}
		return d
	}
	if err := wrong(r); err != nil {
		d.Reasons = []Reason{{Stage: StageFault, Call: -1, Text: err.Error()}}
		return d
	}
	j := g.judge(ctx, s, &r)
	j.stages()
	j.bounded()
	if err := ctx.Err(); err != nil {
		j.add(Reason{Stage: StageFault, Call: -1, Text: "the time for the decision ran out"})
	}
	d.Calls, d.Notes = j.calls, j.notes
	d.Action = j.answer(&d)
	d.Reasons = j.reasons
	return d
}

// restores reports whether a request is this very program putting the accepted files back, and nothing else.
func (g *Gate) restores(ctx context.Context, s *source, r *Request) bool {
	if r.Tool != nil || wrong(*r) != nil {
		return false
	}
	j := g.judge(ctx, s, r)
	if !j.parse() || len(j.calls) != 1 {
		return false
	}
	c := &j.calls[0]
	if len(c.Argv) < 2 || c.Argv[1] != "restore" || len(c.Meta.Redirects) > 0 || len(c.Meta.Env) > 0 || len(c.Meta.DynamicArgs) > 0 {
		return false
	}
	file, known := j.program(0)
	own, err := os.Executable()
	return known && file != "" && err == nil && j.view.at(file).real == j.view.at(own).real
}

// firstFrames is the part of a stack that says where it went wrong.
func firstFrames(stack []byte) string {
	var at []string
	for line := range strings.Lines(string(stack)) {
		line = strings.TrimSpace(line)
		if file, _, ok := strings.Cut(line, " +0x"); ok && strings.Contains(file, "/gate/") && len(at) < 3 {
			at = append(at, filepath.Base(file))
		}
	}
	return strings.Join(at, " < ")
}

func wrong(r Request) error {
	set := 0
	for _, is := range []bool{r.Line != "" || r.Argv == nil && r.Tool == nil, r.Argv != nil, r.Tool != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return errors.New("a request has one of line, argv and tool")
	case !filepath.IsAbs(r.Cwd):
		return fmt.Errorf("the working directory %q is not an absolute path", r.Cwd)
	case r.Argv != nil && (len(r.Argv) == 0 || r.Argv[0] == ""):
		return errors.New("an argument vector begins with the name of a program")
	}
	return nil
}

// A judge takes one request through the stages.
type judge struct {
	ctx    context.Context
	g      *Gate
	s      *source
	r      *Request
	p      *policy.Policy
	view   view
	linked *view // with the links that the line makes; nil: it makes none
	host   policy.Host
	cwd    string
	home   string
	ground ground

	commands []shell.Command // of this machine
	calls    []call.Call     // one for each of commands
	covers   []policy.Cover
	found    map[string]string // programs by name and PATH
	machine  string            // as machineID has it, once it was asked for
	made     made
	globs    globbing
	owned    []string
	ownRepo  *string // the repository of the project, once it was looked for
	climbsAt int     // the call of which climbs speaks
	climbs   bool    // two dots stand in a word of it
	alone    bool    // the line is judged by itself: nothing came before it that rules could look for
	spoken   int     // files of commands that others name
	deep     int     // how many lines run this one by a word of theirs
	reasons  []Reason
	notes    []Reason
}

func (g *Gate) judge(ctx context.Context, s *source, r *Request) *judge {
	j := &judge{ctx: ctx, g: g, s: s, r: r, p: s.content.policy, view: view{ctx: ctx, disk: g.disk, budget: &budget{left: maxWork, until: time.Now().Add(maxTime)}}, climbsAt: -1, cwd: filepath.Clean(r.Cwd), home: r.Home}
	if j.home == "" {
		j.home = g.home
	}
	j.view.enter(j.cwd)
	j.host = policy.Host{Find: j.findAnywhere, Dashed: j.dashed}
	j.ground = j.findGround()
	return j
}

// stages runs every stage that can run.
func (j *judge) stages() {
	for _, o := range j.r.Objections {
		if o.Action != Allow {
			j.add(o)
		}
	}
	if j.r.Tool != nil {
		j.tool()
		return
	}
	if !j.parse() {
		return
	}
	j.globs = j.shopts()
	for _, stage := range [...]func(*judge){
		(*judge).cutURL, (*judge).links, (*judge).protect, (*judge).entries, (*judge).runs, (*judge).repositories, (*judge).binaries,
		(*judge).flags, (*judge).env, (*judge).foreign, (*judge).paths, (*judge).rules,
	} {
		if j.over(len(j.calls)) {
			return
		}
		stage(j)
	}
}

// add records a reason.
func (j *judge) add(r Reason) {
	if r.Call >= 0 && r.Call < len(j.calls) && r.Source == "" {
		r.Source = j.calls[r.Call].Meta.Source
	}
	for i := range j.reasons {
		if have := &j.reasons[i]; have.Stage == r.Stage && have.Text == r.Text && have.Source == r.Source && have.Action <= r.Action {
			return // a loop that was unrolled says the same many times
		}
	}
	if n := len(j.reasons); n >= maxReasons {
		if j.reasons[n-1].Action > r.Action {
			j.reasons[n-1] = r // the most severe counts
		}
		return
	}
	j.reasons = append(j.reasons, r)
}

// answer is what the reasons come to.
func (j *judge) answer(d *Decision) Action {
	slices.SortStableFunc(j.reasons, func(a, b Reason) int { return int(a.Action) - int(b.Action) })
	action := Allow
	if len(j.reasons) > 0 {
		action = j.reasons[0].Action
	}
	if action != Allow {
		if grant := j.g.granted(j.s, d.Subject); grant != nil && !j.faulty() {
			d.Granted = grant
			return Allow
		}
	}
	if action == Ask && j.r.Unattended && j.p.Unattended == policy.Refuse {
		action = Deny
		j.reasons[0].Hint = join(j.reasons[0].Hint, "a person would have to be asked, and nobody is there")
	}
	d.Would = action
	if action != Allow && j.p.Observes(j.g.now()) && !j.always() {
		d.Observed = true
		return Allow
	}
	return action
}

// faulty reports whether a reason is no judgement of the line.
func (j *judge) faulty() bool {
	return slices.ContainsFunc(j.reasons, func(r Reason) bool { return r.Stage == StageFault || r.Stage == StagePolicy })
}

// always reports whether a reason holds even where the policy only observes: what protects the gate is no policy.
func (j *judge) always() bool {
	return j.faulty() || slices.ContainsFunc(j.reasons, func(r Reason) bool { return r.Stage == StageProtect && r.Rule != ruleGit && r.Rule != ruleShell })
}

// parse takes the request apart into calls. It reports false where there are none to judge.
func (j *judge) parse() bool {
	o := shell.Options{Dir: j.cwd, Home: j.home, Limits: shell.Limits{Words: maxWords}}
	line := j.line()
	if strings.TrimSpace(line) == "" {
		return false
	}
	commands, err := shell.Parse(line, o)
	if err != nil {
		j.refuseLine(err)
		return false
	}
	j.commands = commands
	if j.p.Shell == policy.None && j.r.Argv == nil {
		j.plain()
	}
	j.calls = spec.Translate(j.commands, spec.Options{
		Shell: o, Packs: j.s.content.packs, Effects: true, Forms: true, ReadFile: readDiff,
	})
	if len(j.calls) < len(j.commands) {
		j.commands = here(j.commands)
	}
	if len(j.commands) != len(j.calls) {
		panic(fmt.Sprintf("%d commands made %d calls", len(j.commands), len(j.calls)))
	}
	return true
}

// here leaves out the commands that run elsewhere, which are in a call of this machine.
func here(commands []shell.Command) (list []shell.Command) {
	for i := range commands {
		if !commands[i].Remote || len(list) == 0 {
			list = append(list, commands[i])
		}
	}
	return list
}

func (j *judge) refuseLine(err error) {
	var e *shell.Error
	if !errors.As(err, &e) {
		j.add(Reason{Stage: StageFault, Call: -1, Text: err.Error()})
		return
	}
	text, hint, _ := strings.Cut(e.Message, "; ")
	j.add(Reason{Stage: StageShell, Call: -1, Source: e.Source, Rule: string(e.Kind), Text: text, Hint: hint})
}

// line is what a shell would read: an argument vector as a line that means the same.
func (j *judge) line() string {
	if j.r.Argv != nil {
		return quoted(j.r.Argv)
	}
	return j.r.Line
}

// quoted is the line that means one argument vector: each word stands for itself.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// readDiff reads what a call takes its instructions from.
func readDiff(path string) ([]byte, error) { return readRegular(path, 2<<20+1) }

// plain refuses what is not one simple command, as shell: none wants it.
func (j *judge) plain() {
	bad := metacharacter(strings.TrimSpace(j.r.Line))
	switch {
	case bad != "":
	case len(j.commands) == 0 || len(j.commands[0].Env) > 0:
		bad = "an assignment"
	}
	if bad != "" {
		j.add(Reason{Stage: StageShell, Call: -1, Source: j.r.Line, Rule: "shell: none", At: j.keyAt("shell"),
			Text: "this policy takes one simple command at a time, and the line has " + bad,
			Hint: "run one program with its arguments; quote characters that mean nothing to the shell"})
	}
}

// metacharacter returns the first character of a line that the shell would take for more than text.
func metacharacter(line string) string {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'':
			if c == quote {
				quote = 0
			}
		case quote == '"':
			switch c {
			case quote:
				quote = 0
			case '$', '`', '\\':
				return fmt.Sprintf("%q", c)
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("|&;<>()$`\\*?[]{}~!#\n\r", c) >= 0:
			if c == '#' && i > 0 && line[i-1] != ' ' && line[i-1] != '\t' {
				continue
			}
			return fmt.Sprintf("%q", c)
		}
	}
	return ""
}

// cutURL refuses a line on which an & that was meant to be a part of an address ends the command.
func (j *judge) cutURL() {
	for i := range j.calls {
		c := &j.calls[i]
		last := c.Argv[len(c.Argv)-1]
		if !c.Meta.Background || !strings.Contains(last, "://") {
			continue
		}
		if _, after, ok := strings.Cut(j.r.Line, last+"&"); ok && after != "" && letter(after[0]) {
			j.add(Reason{Stage: StageShell, Call: i, Text: "the & ends this command, so the address is cut short and the rest is a command of its own",
				Hint: "put the address in quotes: " + quoted([]string{last + "&…"})})
		}
	}
}

// keyAt is where a key of the policy stands.
func (j *judge) keyAt(name string) string {
	for _, k := range j.p.Lines() {
		if k.Name == name && k.Line > 0 {
			return fmt.Sprintf("%s:%d", j.p.File, k.Line)
		}
	}
	return ""
}

// join puts two sentences after each other.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// shopts are the options of the shell that change what a pattern means, if something on the line may set them.
func (j *judge) shopts() (g globbing) {
	for i := range j.calls {
		for _, w := range j.calls[i].Argv[1:] {
			switch w {
			case "dotglob":
				g.dots = true
			case "globstar":
				g.deep = true
			case "nocaseglob":
				g.fold = true
			}
		}
	}
	return g
}
