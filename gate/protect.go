package gate

import (
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/config"
	"gatehouse/gate/call"
)

// protect refuses calls that change the gate itself: its files, its state, the hooks of the clients, or what is in force.
// No policy can allow them.
func (j *judge) protect() {
	for i := range j.calls {
		c := &j.calls[i]
		if c.Meta.Remote {
			continue
		}
		if what := j.changesGate(c); what != "" {
			j.add(Reason{Stage: StageProtect, Call: i, Rule: "self-protection",
				Text: fmt.Sprintf("%s changes what guards this session", what), Hint: "only a person may do that, in a shell of their own"})
		}
		for n := range c.Effects {
			if j.over(1) {
				return
			}
			e := &c.Effects[n]
			if e.Sure == call.Unknown && writes(e.Kind) && !e.Remote {
				j.protectFound(i, e)
			}
			if e.Remote || !writes(e.Kind) && e.Kind != call.Any || e.Path == "" || e.Path[0] != '/' || e.Sure == call.Unknown {
				continue
			}
			if j.linked == nil && stream(e.Path) {
				continue
			}
			j.protectFrom(i, e)
		}
	}
}

func (j *judge) protectFrom(i int, e *call.Effect) {
	paths := []string{e.Path}
	if e.Pattern {
		var ok bool
		if paths, ok = j.view.glob(e.Path, j.globs); !ok {
			return // the stage of the paths refuses it
		}
	}
	for _, p := range paths {
		if up := j.upward(i, e, p); up != "" {
			paths = append(paths, up)
		}
	}
	for _, p := range paths {
		for _, place := range j.places(p) {
			if e.Kind == call.Any && !j.view.at(place).exists {
				continue
			}
			if j.protected(place) {
				j.add(protectReason(i, j.show(place)))
				return
			}
			if j.obeyed(i, e, place) {
				return
			}
			inner := j.holdsProtected(i, e, place)
			if inner == "" {
				inner = j.becomesProtected(i, e, place)
			}
			if inner != "" {
				r := protectReason(i, j.show(inner))
				if inner != place {
					r.Text = fmt.Sprintf("%s holds %s", j.show(place), strings.Replace(r.Text, " belongs", ", which belongs", 1))
				}
				j.add(r)
				return
			}
		}
	}
}

func protectReason(i int, shown string) Reason {
	return Reason{Stage: StageProtect, Call: i, Rule: "self-protection",
		Text: fmt.Sprintf("%s belongs to the gate or to the hooks that lead to it", shown),
		Hint: "only a person may change it, in a shell of their own"}
}

// holdsProtected returns something protected below a directory that the effect takes as a whole.
func (j *judge) holdsProtected(i int, e *call.Effect, dir string) string {
	closes := false // chmod 000 .claude
	if c := &j.calls[i]; e.Kind == call.Write && !e.Tree {
		closes = slices.Contains([]string{"chmod", "chown", "chgrp", "setfacl", "chattr"}, c.Name) && dir != j.g.home && dir != j.ground.place.Project
	}
	if e.Kind == call.Any || !e.Tree && e.Kind != call.Delete && !closes {
		return ""
	}
	if c := &j.calls[i]; strings.HasPrefix(c.Name, "git") && e.Sure != call.Sure {
		return "" // git brings back what was committed
	}
	for _, p := range j.own() {
		if below(p, dir) {
			return p
		}
	}
	for p := range j.hooksBelow(dir) {
		if j.view.at(p).exists {
			return p
		}
	}
	return ""
}

// hooksBelow lists the places below a directory where clients read which hooks to run in the home and the project.
func (j *judge) hooksBelow(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, base := range []string{j.g.home, j.ground.place.Project} {
			if base == "" || !within(base, dir) && !below(dir, base) {
				continue
			}
			hooks := projectHooks[:]
			if base == j.g.home {
				hooks = homeHooks[:]
			}
			beyond := behind(dir, base)
			for _, hook := range hooks {
				if !strings.HasPrefix(hook, beyond) {
					continue // not below dir, and not worth joining
				}
				if p := base + "/" + hook; below(p, dir) && !yield(p) {
					return
				}
			}
		}
	}
}

// becomesProtected returns what would be protected below a directory that the effect makes out of another: mv x .claude,
// where x holds settings.json. Where it is made out of what nobody has seen, as by git clone, it may hold anything.
func (j *judge) becomesProtected(i int, e *call.Effect, dir string) string {
	c := &j.calls[i]
	if e.Kind != call.Write || c.Name == "mkdir" || strings.HasPrefix(e.Arg, "redirect") || j.view.at(dir).exists || within(j.g.home, dir) || within(j.ground.place.Project, dir) {
		return ""
	}
	for p := range j.hooksBelow(dir) {
		rest := p[len(dir):]
		seen := false
		for n := range c.Form.Parts {
			if strings.HasPrefix(c.Name, "git_") && c.Name != "git_mv" {
				break // what was committed there is not looked at
			}
			part := &c.Form.Parts[n]
			if part.Role != call.Operand || part.Value == "" || part.Dynamic {
				continue
			}
			for _, from := range []string{j.commands[i].Dir.Path, path.Dir(dir)} { // a link starts from where it is
				source := path.Clean(part.Value)
				if !path.IsAbs(source) {
					source = path.Join(from, source)
				}
				s := j.view.at(source)
				if s.exists && !s.dir || source == dir || !s.exists && !j.writtenBefore(i, source) {
					continue
				}
				seen = true
				if j.view.at(source+rest).exists || j.writtenBefore(i, source+rest) {
					return p
				}
			}
		}
		if !seen {
			return p
		}
	}
	return ""
}

// writtenBefore reports whether a call before the call i makes a path or something below it.
func (j *judge) writtenBefore(i int, p string) bool {
	for n := range i {
		for k := range j.calls[n].Effects {
			if e := &j.calls[n].Effects[k]; writes(e.Kind) && (within(e.Path, p) || e.Tree && within(p, e.Path)) {
				return true
			}
		}
	}
	return false
}

// protectFound refuses changes of files that a find on the same line brings, where one of them is protected.
func (j *judge) protectFound(i int, e *call.Effect) {
	trees, over, ok := j.comesFrom(i, e)
	if !ok {
		return
	}
	for n := range trees {
		t := &trees[n]
		for _, p := range slices.AppendSeq(slices.Clone(j.own()), j.hooksBelow(path.Dir(t.Path))) {
			if !within(p, t.Path) && !within(t.Path, p) {
				continue
			}
			s := j.view.at(p)
			if !s.exists {
				continue
			}
			hit := p
			if s.dir {
				hit, _ = j.view.find(p, func(string) bool { return true }, over)
			} else if over.file != nil && over.file(p) {
				hit = ""
			}
			if hit != "" {
				j.add(protectReason(i, j.show(hit)))
				return
			}
		}
	}
}

// protected reports whether a path is one of the gate's, or below one, or where clients read which hooks to run.
func (j *judge) protected(p string) bool {
	for _, own := range j.own() {
		if within(p, own) {
			return true
		}
	}
	return startsWith(behind(p, j.g.home), homeHooks[:]) || startsWith(behind(p, j.ground.place.Project), projectHooks[:]) || clientHook(p)
}

// behind is what of a path follows a directory that it is below, "" if it is not.
func behind(p, dir string) string {
	if dir == "" || !below(p, dir) {
		return ""
	}
	return strings.TrimPrefix(p[len(dir):], "/")
}

// startsWith reports whether a relative path is one of the paths, or below one.
func startsWith(rel string, paths []string) bool {
	for _, p := range paths {
		if strings.HasPrefix(rel, p) && (len(rel) == len(p) || rel[len(p)] == '/') {
			return true
		}
	}
	return false
}

// own lists the files and directories that are the gate's, by their names and where these lead: what it is, what it
// judges by, what it remembers, and where the clients' settings for all users are.
func (j *judge) own() []string {
	if j.owned == nil {
		ours := append(slices.Clip(j.g.owned()), movedHooks(j.r.Env)...)
		j.owned = make([]string, 0, len(ours)+2)
		for _, p := range ours {
			j.owned = append(j.owned, p)
			if strings.HasPrefix(p, "/etc/") || strings.HasPrefix(p, "/var/lib/") || p == j.g.program {
				continue // root's, and no links of the agent's; the program's name is what its link leads to
			}
			if real := j.view.at(p).real; real != p {
				j.owned = append(j.owned, real)
			}
		}
	}
	return j.owned
}

func (g *Gate) owned() []string {
	g.once.Do(func() { g.ours = g.listOwned() })
	return g.ours
}

func (g *Gate) listOwned() []string {
	list := append([]string{"/etc/gatehouse", "/var/lib/gatehouse", "/var/lib/gatehouse-export"}, systemHooks[:]...)
	add := func(paths ...string) {
		for _, p := range paths {
			if filepath.IsAbs(p) && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	add(g.index, g.state)
	if exe, err := os.Executable(); err == nil {
		add(exe)
		g.program = exe
	}
	for _, s := range g.sources {
		add(s.from.Dir, s.entry.Export, s.entry.Accepted)
		for _, l := range s.entry.Live {
			add(l.Root)
		}
		if s.entry.Accepted != "" {
			add(rootState(s.entry))
		}
	}
	if g.home != "" {
		add(g.home + "/.config/gatehouse")
	}
	return list
}

// rootState is the state directory of the warden that an index entry comes from.
func rootState(e config.IndexGate) string { return filepath.Dir(filepath.Dir(e.Accepted)) }

// The places where clients read which hooks to run.
var (
	homeHooks = [...]string{
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".claude/plugins",
		".codex/hooks.json", ".codex/config.toml", ".codex/.env", ".copilot/hooks", ".copilot/settings.json",
		".gemini/settings.json", ".gemini/extensions", ".gemini/.env", ".gemini/trustedFolders.json", ".cursor/hooks.json",
		".config/opencode/plugins", ".config/opencode/plugin", ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc",
		".config/opencode/config.json", ".config/opencode/tool", ".config/opencode/tools", ".cline/hooks",
		".openclaw/openclaw.json", ".openclaw/extensions", ".openclaw/plugins", ".openclaw/.env", ".vibe/hooks.toml", ".vibe/config.toml",
		".hermes/plugins", ".hermes/shell-hooks-allowlist.json", ".hermes/config.yaml",
		".codeium/windsurf/hooks.json", ".codeium/hooks.json", "Documents/Cline/Hooks", ".kiro/hooks", ".kiro/agents",
		".kimi-code/config.toml",
	}
	projectHooks = [...]string{
		".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".codex/hooks.json", ".codex/config.toml",
		".github/hooks", ".github/copilot", ".gemini/settings.json", ".gemini/extensions", ".gemini/.env", ".cursor/hooks.json", ".cline/hooks",
		".opencode/plugins", ".opencode/plugin", ".opencode/tool", ".opencode/tools", "opencode.json", "opencode.jsonc", ".opencode/opencode.json",
		".opencode/opencode.jsonc",
		".openclaw/extensions", ".vibe/hooks.toml", ".windsurf/hooks.json", ".clinerules/hooks", ".kiro/hooks", ".kiro/agents",
		".devin/hooks.v1.json",
	}
	systemHooks = [...]string{
		"/etc/claude-code", "/etc/codex", "/etc/github-copilot", "/etc/gemini-cli", "/etc/cursor", "/etc/windsurf", "/etc/opencode",
	}
)

// movedHooks lists the places of homeHooks in the directories that a client's variables name in the place of its usual
// ones: the client that runs the hook has the same environment.
func movedHooks(env func(name string) (string, bool)) (places []string) {
	if env == nil {
		return nil
	}
	for _, v := range [...]struct{ name, usual string }{
		{"CLAUDE_CONFIG_DIR", ".claude/"}, {"CODEX_HOME", ".codex/"}, {"COPILOT_HOME", ".copilot/"}, {"XDG_CONFIG_HOME", ".config/"},
		{"OPENCLAW_STATE_DIR", ".openclaw/"}, {"VIBE_HOME", ".vibe/"}, {"HERMES_HOME", ".hermes/"},
	} {
		dir, _ := env(v.name)
		for _, hook := range homeHooks {
			if rest, ok := strings.CutPrefix(hook, v.usual); ok && path.IsAbs(dir) {
				places = append(places, path.Join(dir, rest))
			}
		}
	}
	if file, _ := env("OPENCLAW_CONFIG_PATH"); path.IsAbs(file) {
		places = append(places, path.Clean(file))
	}
	return places
}

// clientHook reports whether a path is such a place in whatever project.
func clientHook(p string) bool {
	if !strings.Contains(p, "/.") {
		return false
	}
	for _, hook := range projectHooks {
		if at := strings.Index(p, "/"+hook); at >= 0 && strings.Contains(hook, "/") {
			if rest := p[at+1+len(hook):]; rest == "" || rest[0] == '/' {
				return true
			}
		}
	}
	return false
}

// changesGate names a command of the gate's own programs that changes what guards the agent, "" for all others.
func (j *judge) changesGate(c *call.Call) string {
	base := path.Base(c.Argv[0])
	if base != "gate" && base != "warden" {
		return ""
	}
	var words []string // what can be a command: not an option, or not known
	for _, w := range c.Argv[1:] {
		if slices.Contains(c.Meta.DynamicArgs, w) {
			w = "*"
		} else if strings.HasPrefix(w, "-") {
			if base == "warden" && (w == "--help" || w == "--version" || w == "-h") {
				return ""
			}
			continue
		}
		words = append(words, w)
	}
	is := func(n int, names ...string) bool {
		return n < len(words) && (words[n] == "*" || slices.Contains(names, words[n]))
	}
	if base == "warden" {
		if len(words) == 0 || words[0] != "*" && is(0, "status", "diff", "history", "loaded", "peers", "doctor", "help", "completion") {
			return ""
		}
		return strings.Join(append([]string{"warden"}, words[0]), " ")
	}
	for n := range words {
		switch {
		case is(n, "init") && n == 0:
			return "gate init"
		case is(n, "hook") && is(n+1, "install", "remove"):
			return "gate hook " + words[n+1]
		case is(n, "rules") && is(n+1, "add", "remove"):
			return "gate rules " + words[n+1]
		case is(n, "catalog") && is(n+1, "freeze"):
			return "gate catalog freeze"
		}
	}
	return ""
}
