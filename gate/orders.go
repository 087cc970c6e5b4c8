package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
)

// The rules by which files are protected that others take orders from.
const (
	ruleGit   = "git-protection"
	ruleShell = "shell-protection"
	ruleHooks = "client-hooks"
)

// obeyed refuses a write to what git or a shell takes its orders from, by other means than git's. It reports whether it did.
func (j *judge) obeyed(i int, e *call.Effect, place string) bool {
	if e.Kind != call.Write && e.Kind != call.Append || e.Sure != call.Sure && !e.Pattern && !j.view.at(place).exists {
		return false
	}
	c := &j.calls[i]
	if gitCall(c) && !strings.HasPrefix(e.Arg, "redirect") && e.Arg != "file" && e.Arg != "output" {
		return false // what git itself writes there, or puts into a new work tree
	}
	if c.Name == "mkdir" && path.Base(place) != "objects" && path.Base(place) != "refs" {
		return false
	}
	r, is := j.orders(i, place)
	switch {
	case is:
		j.add(r)
		return true
	case mayNameHooks(place):
		j.dynamic(hooksReason(i, j.show(place)))
	}
	return false
}

// orders is the reason against a write to a path where others find which programs to run.
func (j *judge) orders(i int, p string) (r Reason, is bool) {
	r = Reason{Stage: StageProtect, Call: i, Hint: "only a person may change it, in a shell of their own"}
	switch {
	case j.instructs(p):
		r.Rule, r.Text = ruleGit, fmt.Sprintf("git takes from %s which programs to run", j.show(p))
	case startup(p, j.g.home):
		r.Rule, r.Text = ruleShell, fmt.Sprintf("a shell takes from %s, as it starts, what the names of commands mean", j.show(p))
	default:
		return r, false
	}
	return r, true
}

// startup reports whether a path is one that shells read as they start.
func startup(p, home string) bool {
	if startsWith(behind(p, home), shellFiles[:]) {
		return true
	}
	return strings.HasPrefix(p, "/etc/") && slices.ContainsFunc(systemShellFiles[:], func(dir string) bool { return within(p, dir) })
}

var (
	shellFiles = [...]string{".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".pam_environment", ".config/environment.d",
		".config/fish/config.fish", ".config/fish/conf.d", ".config/fish/functions"}
	systemShellFiles = [...]string{"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/environment",
		"/etc/fish", "/etc/ld.so.preload"}
)

// mayNameHooks reports whether a path is that of a text whose front matter can name hooks.
func mayNameHooks(p string) bool {
	return strings.HasSuffix(p, ".md") && containsAny(p, "/.claude/agents/", "/.claude/skills/", "/.claude/commands/")
}

func hooksReason(i int, shown string) Reason {
	return Reason{Call: i, Rule: ruleHooks, At: "built in", Text: fmt.Sprintf("%s may name hooks, programs that a client runs and nobody judges", shown),
		Hint: "a person can look at the text and let it pass"}
}
