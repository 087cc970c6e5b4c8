package rules

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse/gate/spec"
	"gatehouse/internal/spelling"
)

// A Problem is something in a rule that is likely not what was meant. It does not keep the rule from holding.
type Problem struct {
	Rule string
	At   string // FILE:LINE
	Text string
}

// String returns the problem in a line.
func (p Problem) String() string { return fmt.Sprintf("%s: %s: %s", p.At, p.Rule, p.Text) }

// Lint looks for names that nothing produces, arguments that no spec has, and rules that refuse everything or nothing.
// packs are the specs in force, those of the rule files (Tools) among them.
func (s *Set) Lint(packs *spec.Packs) ([]Problem, error) {
	known, err := gather(packs)
	if err != nil {
		return nil, fmt.Errorf("specs: %w", err)
	}
	var all []Problem
	for i := range s.slots {
		r, err := s.rule(i)
		if err != nil {
			return nil, err
		}
		l := &linter{known: known, r: r}
		l.rule()
		all = append(all, l.found...)
	}
	return all, nil
}

// A vocabulary are the names that calls can have, and their arguments.
type vocabulary struct {
	args  map[string][]string // of each name
	names []string
	execs map[string]bool // names of executables
}

func gather(packs *spec.Packs) (*vocabulary, error) {
	v := &vocabulary{args: make(map[string][]string), execs: make(map[string]bool)}
	schemas, err := packs.Schemas("")
	if err != nil {
		return nil, err
	}
	add := func(name string, args ...string) {
		have := v.args[name]
		for _, a := range args {
			have = appendNew(have, a)
		}
		v.args[name] = have
	}
	for _, s := range schemas {
		var args []string
		for _, p := range s.Properties {
			args = append(args, p.Name, p.Name+"_suffix")
		}
		add(s.Name, args...)
		exec, _, _ := strings.Cut(s.Command, " ")
		v.execs[toolName(exec)] = true
		add(toolName(exec), args...)
	}
	for _, name := range packs.Names() {
		v.execs[toolName(name)] = true
		if _, ok := v.args[toolName(name)]; !ok {
			v.args[toolName(name)] = nil
		}
	}
	for _, t := range clientTools() {
		add(t.name, t.args...)
	}
	for name := range v.args {
		v.names = append(v.names, name)
	}
	slices.Sort(v.names)
	return v, nil
}

// A clientTool is a tool of an agent's client, as Claude Code has it.
type clientTool struct {
	name string
	args []string
}

func clientTools() []clientTool {
	return []clientTool{
		{"Bash", []string{"command", "description", "timeout", "run_in_background"}},
		{"Edit", []string{"file_path", "old_string", "new_string", "replace_all"}},
		{"MultiEdit", []string{"file_path", "edits"}},
		{"Write", []string{"file_path", "content"}},
		{"Read", []string{"file_path", "offset", "limit", "pages"}},
		{"NotebookEdit", []string{"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"}},
		{"Glob", []string{"pattern", "path"}},
		{"Grep", []string{"pattern", "path", "glob", "type", "output_mode"}},
		{"LS", []string{"path", "ignore"}},
		{"Task", []string{"description", "prompt", "subagent_type", "model", "run_in_background"}},
		{"Agent", []string{"description", "prompt", "subagent_type", "model", "run_in_background"}},
		{"WebFetch", []string{"url", "prompt"}},
		{"WebSearch", []string{"query", "allowed_domains", "blocked_domains"}},
		{"TodoWrite", []string{"todos"}},
		{"ExitPlanMode", []string{"plan"}},
		{"Skill", []string{"skill", "args"}},
		{"AskUserQuestion", []string{"questions"}},
		{"KillShell", []string{"shell_id"}},
		{"BashOutput", []string{"bash_id", "filter"}},
		{"SlashCommand", []string{"command"}},
	}
}

// pseudo are the arguments that every call of a line can have.
func pseudo(arg string) bool {
	switch arg {
	case "*", "argv", "env", "prefix_env", "stdin", "wrapper", "piped_from", "host_call", "redirect_to", "overwrite_to",
		"redirect_from", "extra_args", "unknown_paths", "file_path", "":
		return true
	default:
		return false
	}
}

type linter struct {
	known *vocabulary
	r     *rule
	found []Problem
}

func (l *linter) say(format string, args ...any) {
	l.found = append(l.found, Problem{l.r.ID, l.r.At, fmt.Sprintf(format, args...)})
}

func (l *linter) rule() {
	r := l.r
	if r.Kind == LTL {
		tools, _ := r.about()
		for _, name := range tools {
			l.name(name)
		}
		return
	}
	for _, p := range []pattern{r.first, r.then, r.since} {
		for i := range p {
			l.target(&p[i])
		}
	}
	switch r.Kind {
	case Never:
		for _, t := range r.first {
			if t.anyTool() && len(t.with)+len(t.where) == 0 {
				l.say("it refuses every call: %s", t)
			}
		}
		l.ahead("never", r.first)
	case Require:
		l.ahead("require", r.first)
	case AtMost:
		if r.times == 0 {
			l.say("at most 0 times is never: write never, which says so")
		}
		l.ahead("at_most", r.first)
	case Before:
		l.ahead("then", r.then)
		if r.first.String() == r.then.String() {
			l.say("it refuses every call of %s: the first one would have to come before itself", r.then)
		}
		if r.since != nil && r.since.String() == r.first.String() {
			l.say("since does nothing here: it is the first call itself")
		}
	}
}

// ahead reports a condition on how a call ends, of a call that has not run yet.
func (l *linter) ahead(where string, p pattern) {
	for _, t := range p {
		if t.succeeded != either {
			l.say("%s: succeeded is not known before a call runs, so it always may be: put it on a call that comes before", where)
		}
	}
}

func (l *linter) target(t *target) {
	named := true
	for _, name := range shown(t.tools) {
		named = l.name(name) && named
	}
	if !named {
		return
	}
	for _, c := range t.with {
		l.arg(t, c.arg)
	}
	for _, c := range t.where {
		l.arg(t, c.arg)
	}
}

// name reports a name that nothing produces. It returns whether the arguments of such calls are known.
func (l *linter) name(name string) bool {
	if strings.HasPrefix(name, "mcp__") {
		return false
	}
	if isGlob(name) {
		if name != "*" && !slices.ContainsFunc(l.known.names, func(s string) bool { return globMatch(toolGlob(name), s) }) {
			l.say("no call is named like %q", name)
		}
		return false
	}
	if _, ok := l.known.args[underscored(name)]; ok {
		return true
	}
	names := slices.DeleteFunc(slices.Clone(l.known.names), func(s string) bool {
		return strings.HasPrefix(underscored(name), s+"_") // git is not what git_psh was meant to be
	})
	if near := spelling.Nearest(name, names); near != "" {
		l.say("nothing makes calls named %q; did you mean %q?", name, near)
		return false
	}
	if exec, sub, ok := strings.Cut(underscored(name), "_"); ok && l.known.execs[exec] {
		if _, own := l.known.args[exec+"_"+sub]; !own {
			l.say("nothing makes calls named %q; calls of %s are named otherwise: write {tool: %s, with: {argv: %s}}", name, exec, exec, sub)
		}
		return false
	}
	return true
}

// arg reports an argument that no call of the target has.
func (l *linter) arg(t *target, arg string) {
	if pseudo(arg) {
		return
	}
	var all []string
	for _, name := range t.tools {
		if isGlob(name) || strings.HasPrefix(name, "mcp__") {
			return
		}
		args, ok := l.known.args[name]
		if !ok && l.known.args[underscored(name)] == nil {
			if underscored(name) != name {
				continue
			}
			l.say("%s has no spec, so its calls have argv only, and not %q: add a spec under tools", name, arg)
			return
		}
		if slices.Contains(args, arg) {
			return
		}
		all = append(all, args...)
	}
	if near := spelling.Nearest(arg, all); near != "" {
		l.say("calls of %s have no argument %q; did you mean %q?", strings.Join(shown(t.tools), " or "), arg, near)
		return
	}
	l.say("calls of %s have no argument %q", strings.Join(shown(t.tools), " or "), arg)
}
