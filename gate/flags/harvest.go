package flags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Harvester asks programs for their flags.
type Harvester struct {
	// Reexec is how the calling program starts itself so that it calls Confined: its name, and the words before the
	// arguments for Confined.
	Reexec []string
	// Allowed reports whether the program at an absolute path may be run. A nil Allowed allows nothing.
	Allowed func(path string) bool
	// Getenv finds toolchains below the caller's home (rustup, pyenv). Nil finds none.
	Getenv func(string) string
	// Machine is the id that entries are bound to.
	Machine string
}

// errNotAllowed is for a program that the caller has not allowed to be run.
var errNotAllowed = errors.New("not allowed to be run")

// ErrNoSubcommand is returned where the help of the program does not list the subcommand. It is not asked then: to a
// program that does not know it as a command, it would be an operand.
var ErrNoSubcommand = errors.New("its help lists no such subcommand")

// Harvest asks the program at path, an absolute one, for the flags of sub. parent is the entry of the words before the
// last one of sub, and has to list that; without a parent the caller vouches that it is a subcommand.
//
// An error that is fs.ErrNotExist means that there is no such program. A program that has no help gives an entry without
// flags.
func (h *Harvester) Harvest(ctx context.Context, path string, sub []string, parent *Entry) (*Entry, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("flags of %s: not an absolute path", path)
	}
	before, err := stat(h.Machine, path)
	if err != nil {
		return nil, err
	}
	if h.Allowed == nil || !h.Allowed(path) {
		return nil, fmt.Errorf("flags of %s: %w", path, errNotAllowed)
	}
	for _, word := range sub {
		if word == "" || word[0] == '-' || strings.ContainsAny(word, " /=\n\t\x00") {
			return nil, fmt.Errorf("flags of %s: %q is no subcommand", path, word)
		}
	}
	if len(sub) > 0 && parent != nil && !slices.Contains(parent.Subcommands, sub[len(sub)-1]) {
		return nil, fmt.Errorf("flags of %s: %w", call(path, sub), ErrNoSubcommand)
	}
	sum, marks, err := digest(path)
	if err != nil {
		return nil, err
	}
	a := asking{Harvester: h, ctx: ctx, path: path, sub: sub, program: programFor(path)}
	if err := a.ask(marks); err != nil {
		return nil, fmt.Errorf("flags of %s: %w", call(path, sub), err)
	}
	if after, err := stat(h.Machine, path); err != nil || !after.sameStat(before) {
		return nil, fmt.Errorf("flags of %s: it changed meanwhile; ask again", path)
	}
	before.SHA256 = sum
	return &Entry{File: before, Sub: sub, Sources: a.sources, Help: a.found}, nil
}

// asking is the harvest of one subcommand.
type asking struct {
	*Harvester
	ctx     context.Context
	path    string
	sub     []string
	program program
	found   Help
	sources []string
	listed  bool   // a list of options was found, not only a usage line
	said    string // all that it printed when it was asked for help, help or not: it may name another way to ask
}

// ask goes from the most to the least precise source. Names from completion come without what is known of their values,
// so the help is read as well.
func (a *asking) ask(m marks) error {
	var completed []string
	var err error
	if completed, err = a.complete(m); err != nil {
		return err
	}
	asks := a.program.root
	if len(a.sub) > 0 {
		asks = append(slices.Clone(a.program.sub), a.program.extra[strings.Join(a.sub, " ")]...)
	}
	for _, args := range asks {
		if err := a.help(fill(args, a.sub), true); err != nil {
			return err
		}
	}
	for _, more := range []string{"--help-all", "--help-long", "--help-hidden", "--helpfull", "--help-full", "--help all", "--help full"} {
		f := a.found.Find(more)
		if len(asks) == 1 && (f != nil && f.Value == None || f == nil && mentions(a.said, more)) {
			if err := a.help(append(slices.Clone(a.sub), strings.Fields(more)...), true); err != nil {
				return err
			}
		}
	}
	for _, other := range []string{"-h", "-help", "-?", "--usage", "--longhelp"} {
		if len(a.found.Flags) > 0 || stops(a.path) || other != "-h" && !mentions(a.said, other) {
			continue
		}
		if err := a.help(append(slices.Clone(a.sub), other), false); err != nil {
			return err
		}
	}
	if (a.program.man || !a.listed) && hasManual(a.path) {
		if err := a.manual(); err != nil {
			return err
		}
	}
	a.addCompleted(completed)
	if text := hidden(filepath.Base(a.path), strings.Join(a.sub, " ")); text != "" && len(a.found.Flags)+len(a.found.Subcommands) > 0 {
		a.add(Parse(text), "what no help lists")
	}
	if len(a.sub) == 0 && a.program.commands != nil {
		out, err := a.run(a.ctx, append([]string{a.path}, a.program.commands...))
		if err != nil {
			return err
		}
		if out.code == 0 {
			a.found.Subcommands = nil
			for name := range strings.FieldsSeq(string(out.stdout)) {
				if plain, rest := commandName(name); plain != "" && rest == "" {
					a.found.Subcommands = append(a.found.Subcommands, plain)
				}
			}
		}
	}
	if n := len(a.sub); n > 0 && slices.Contains(a.found.Subcommands, a.sub[n-1]) {
		a.found.Subcommands = nil // the usage of git log names git show beside it
	}
	return nil
}

// help asks with args. The text counts if it looks like help: a bare -h may have meant something else, and a program that
// fails may print anything.
func (a *asking) help(args []string, meant bool) error {
	out, err := a.run(a.ctx, append([]string{a.path}, args...))
	if err != nil {
		return err
	}
	text := string(out.stdout)
	if len(Parse(text).Flags) == 0 {
		text += "\n" + string(out.stderr)
	}
	a.said += text
	lower := strings.ToLower(text)
	if out.late || (out.code != 0 || !meant) && !strings.Contains(lower, "usage") && !strings.Contains(lower, "options:") {
		return nil
	}
	help, listed := parse(text)
	a.add(help, call(filepath.Base(a.path), args))
	a.listed = a.listed || listed
	return nil
}

// add joins what another text says to what is known.
func (a *asking) add(help Help, source string) {
	if len(help.Flags) == 0 && len(help.Subcommands) == 0 {
		return
	}
	a.sources = append(a.sources, source)
	for _, f := range help.Flags {
		a.found.Flags = add(a.found.Flags, f)
	}
	for _, name := range help.Subcommands {
		if !slices.Contains(a.found.Subcommands, name) {
			a.found.Subcommands = append(a.found.Subcommands, name)
		}
	}
}

// manual reads the manual page.
func (a *asking) manual() error {
	for _, man := range []string{"/usr/bin/man", "/bin/man", "/usr/local/bin/man"} {
		if _, err := os.Stat(man); err != nil {
			continue
		}
		page := strings.Join(append([]string{filepath.Base(a.path)}, a.sub...), "-")
		out, err := a.run(a.ctx, []string{man, "--", page})
		if err != nil {
			return err
		}
		if out.code == 0 && !out.late {
			help, _ := parse(string(out.stdout))
			help.Subcommands = nil
			a.add(help, "man "+page)
		}
		return nil
	}
	return nil
}

// environment is all that the program gets to see.
func (h *Harvester) environment(path string) []string {
	env := []string{
		"PATH=" + filepath.Dir(path) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/nonexistent", "LC_ALL=C", "LANG=C", "TERM=dumb", "NO_COLOR=1", "COLUMNS=160", "MANWIDTH=120",
		"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "EDITOR=false",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOENV=off",
		"PYTHONDONTWRITEBYTECODE=1", "npm_config_update_notifier=false", "npm_config_logs_max=0",
	}
	if h.Getenv == nil {
		return env
	}
	home := h.Getenv("HOME")
	for name, below := range map[string]string{
		"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm", "VOLTA_HOME": ".volta",
		"SDKMAN_DIR": ".sdkman", "GOROOT": "", "JAVA_HOME": "",
	} {
		value := h.Getenv(name)
		if value == "" && home != "" && below != "" {
			if _, err := os.Stat(filepath.Join(home, below)); err == nil {
				value = filepath.Join(home, below)
			}
		}
		if filepath.IsAbs(value) {
			env = append(env, name+"="+value)
		}
	}
	return env
}
