//go:build linux

package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gatehouse/gate/flags"
	"gatehouse/internal/durable"
)

const (
	pytestHelp = `usage: pytest [options] [file_or_dir] [file_or_dir] [...]

general:
  -k EXPRESSION         only run tests which match
  -x, --exitfirst       exit instantly on first error
  --lf, --last-failed   rerun only the tests that failed

reporting:
  -v, --verbose         increase verbosity
  -q, --quiet           decrease verbosity
`
	gitStatusHelp = `usage: git status [<options>] [--] [<pathspec>...]

    -v, --[no-]verbose    be verbose
    -s, --[no-]short      show status concisely
    -b, --[no-]branch     show branch information
    --[no-]porcelain[=<version>]
                          machine-readable output
`
	gitHelp  = "usage: git [-v | --version] [-h | --help] [-C <path>] <command> [<args>]\n\nThese are common commands:\n\n   status    Show the working tree status\n   log       Show commit logs\n"
	gitLog   = "usage: git log [<options>]\n\n    --[no-]oneline        one line each\n    -n <number>           how many\n"
	headHelp = "Usage: head [OPTION]... [FILE]...\n\n  -c, --bytes=[-]NUM       print the first NUM bytes\n  -n, --lines=[-]NUM       print the first NUM lines\n"
)

// harvested keeps a help text as the real flags of a program on this machine.
func (h *host) harvested(program string, sub []string, text string) {
	t := h.t
	t.Helper()
	machine, err := flags.Machine()
	must(t, err)
	path := filepath.Join(h.bin, program)
	data, err := os.ReadFile(path)
	must(t, err)
	var st syscall.Stat_t
	must(t, syscall.Stat(path, &st))
	sum := sha256.Sum256(data)
	e := &flags.Entry{Sub: sub, Sources: []string{program + " --help"}, Help: flags.Parse(text), File: flags.Identity{
		Machine: machine, Path: path, Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), SHA256: hex.EncodeToString(sum[:]),
	}}
	must(t, flags.Store{Dir: filepath.Join(h.live, "flags")}.Save(durable.Disk{}, e))
}

func newFlagsHost(t *testing.T, policy string) *host {
	h := newHost(t, policy).files("tests/test_gate.py", "src/a.py", "a.txt")
	for _, name := range []string{"pytest", "git", "head", "npm", "mytool", "newtool"} {
		program(t, filepath.Join(h.bin, name))
	}
	h.harvested("pytest", nil, pytestHelp)
	h.harvested("git", nil, gitHelp)
	h.harvested("git", []string{"status"}, gitStatusHelp)
	h.harvested("git", []string{"log"}, gitLog)
	h.harvested("git", []string{"stash"}, "usage: git stash list\n\n    -q, --[no-]quiet      be quiet\n    -m <text>             message\n\ncommands:\n  list  list them\n")
	h.harvested("npm", nil, "Usage:\n  npm <command>\n\n  --version  print it\n")
	h.harvested("npm", []string{"run"}, "Usage:\n  npm run <command>\n\n  -w, --workspace NAME   in that workspace\n  --if-present           no error\n")
	h.harvested("head", nil, headHelp)
	h.harvested("mytool", nil, "Usage: mytool [-o FILE] [--depth N] NAME\n\n  -o FILE      write to FILE\n  --depth N    how deep\n  -v           verbose\n")
	h.harvested("newtool", nil, "Usage: newtool [command]\n\nAvailable Commands:\n  build       Build it\n  clean       Remove what was built\n\nFlags:\n  -v   verbose\n")
	h.harvested("newtool", []string{"build"}, "Usage: newtool build [flags]\n\nFlags:\n  --release   optimised\n")
	return h
}

func TestPlanOfFourLines(t *testing.T) {
	h := newFlagsHost(t, "version: 1\nallow: [pytest, git status, ruff]\n")
	h.options.Getenv = nil
	g := h.open()
	for _, c := range []row{
		{"pytest --only-changed tests/test_gate.py", "deny flags pytest has no option --only-changed"},
		{"pytest -q tests/test_gate.py", "allow"},
		{"git status --porcelain", "allow"},
		{"ruff --fix-all src/", "deny binary ruff is not on PATH"},
		{"curl http://x.example", "deny entry"},
	} {
		r := h.request(c.line)
		r.Env = environment("PATH", h.bin)
		d := g.Check(t.Context(), r)
		h.judged(t, c, d)
	}
	h = newFlagsHost(t, "version: 1\nshell: none\nallow: [pytest, git status, ruff]\n")
	h.judged(t, row{"git status --porcelain | head", "deny shell"}, h.check("git status --porcelain | head"))
}

func TestFlagsOfTheVeryProgram(t *testing.T) {
	h := newFlagsHost(t, "version: 1\nallow: [pytest, git, head, npm, mytool, newtool, touch]\npaths: {root: [/]}\n")
	h.rows([]row{
		{"pytest -xq", "allow"},
		{"pytest -xQ", "deny flags"},
		{"pytest --last-faild", "deny flags did you mean --last-failed?"},
		{"pytest -k 'a and b'", "allow"},
		{"head -20 a.txt", "allow"},
		{"head -n5 a.txt", "allow"},
		{"head -n 5 a.txt", "allow"},
		{"git log -3", "allow"},
		{"git log --oneline", "allow"},
		{"git -C . status -sb", "allow"},
		{"git status --short=x", "deny flags does not take --short=x"},
		{"git diff --stat", "deny flags not known yet"},
		{"git stash push -q", "allow"},
		{"git stash push --no-such", "deny flags has no option --no-such"},
		{"npm run lint -w api", "allow"},
		{"npm run lint --no-such", "deny flags"},
		{"mytool -o out.txt --depth 3 name", "allow"},
		{"mytool -oout.txt", "allow"},
		{"mytool --dept 3", "deny flags"},
		{"mytool -- --dept", "allow"},
		{"newtool build --release src", "allow"}, // no spec has it: its help says what its subcommands are
		{"newtool build -v", "allow"},
		{"newtool build --relase", "deny flags newtool build has no option --relase; did you mean --release?"},
		{"newtool --release", "deny flags newtool has no option"},
		{"newtool other --release", "deny flags"},
		{"newtool clean -v", "deny flags gate flags newtool clean"},
	})
}

func TestFlagsOfAnotherBuildDoNotCount(t *testing.T) {
	h := newFlagsHost(t, "version: 1\nallow: [pytest]\npaths: {root: [/]}\n")
	h.judged(t, row{"pytest -q", "allow"}, h.check("pytest -q"))
	put(t, filepath.Join(h.bin, "pytest"), "#!/bin/sh\nexit 1\n# a new version\n")
	h.judged(t, row{"pytest -q", "deny flags not known yet"}, h.check("pytest -q"))
}
