package flags

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the tests' own program be the confined child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "confined" {
		Confined(os.Args[2:])
	}
	os.Exit(m.Run())
}

func harvester() *Harvester {
	return &Harvester{
		Reexec: []string{os.Args[0], "confined"}, Machine: machine, Getenv: os.Getenv,
		Allowed: func(string) bool { return true },
	}
}

// script makes a program that runs a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "prog")
	write(t, path, "#!/bin/sh\n"+text)
	return path
}

func harvest(t *testing.T, path string, sub ...string) *Entry {
	t.Helper()
	e, err := harvester().Harvest(context.Background(), path, sub, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestHarvestOfRealPrograms(t *testing.T) {
	for _, test := range []struct {
		path  string
		sub   []string
		known []string
		not   []string
	}{
		{"/bin/ls", nil, []string{"-la", "--color=auto", "-d", "--sort=time", "-I", "-w80"}, []string{"--colour", "--sort-by", "-laj", "-y"}},
		{"/bin/grep", nil, []string{"-rn", "-A3", "--include=*.go", "-e", "-nE", "-5"}, []string{"--recursive-all", "-rj"}},
		{"/usr/bin/find", nil, []string{"-name", "-maxdepth", "-exec", "-delete"}, []string{"-names", "--name"}},
		{"/usr/bin/tar", nil, []string{"-czf", "--exclude=x", "-C", "--strip-components=1"}, []string{"--strip", "--exclude-dir"}},
		{"/usr/bin/git", nil, []string{"-C", "--no-pager", "-p"}, []string{"--directory"}},
		{"/usr/bin/git", []string{"commit"}, []string{"-am", "--amend", "-q", "--no-verify"}, []string{"--amend-last", "-J"}},
	} {
		if _, err := os.Stat(test.path); err != nil {
			continue // a machine without it: CI has them
		}
		e := harvest(t, test.path, test.sub...)
		for _, word := range test.known {
			if a := e.Known(word, false); !a.Known {
				t.Errorf("%s: %s is not known: %s", call(test.path, test.sub), word, a.Why)
			}
		}
		for _, word := range test.not {
			if a := e.Known(word, false); a.Known {
				t.Errorf("%s: %s is known as %v", call(test.path, test.sub), word, a.Flag)
			}
		}
	}
}

func TestAProgramSaysHowElseItIsAsked(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"more help in the text": {
			`case $1 in --help) echo "usage: x
  --help   Show help (also try --help-long)."; ;; --help-long) echo "usage: x
  --deep   d";; esac`, "--help:n --deep:n",
		},
		"all of curl's kind": {
			`case "$*" in --help) echo "Usage: x
 -a   a
For all options use \"--help all\"."; ;; "--help all") echo "Usage: x
 -a   a
 -b   b";; esac`, "-a:n -b:n",
		},
		"another flag": {
			`case $1 in -help) echo "usage: x [-q]" >&2; exit 1;; *) echo "unknown option $1, try x -help" >&2; exit 255;; esac`, "-q:n",
		},
		"only -h, on the standard error, with a failure": {
			`case $1 in -h) echo "Usage: x [-B] [-f file]" >&2; exit 1;; *) echo "x: bad" >&2; exit 2;; esac`, "-B:n -f:r",
		},
		"nothing that it does not name": {
			`case $1 in -help) echo "usage: x [-q]";; *) echo "bad" >&2; exit 2;; esac`, "",
		},
	} {
		if got := show(harvest(t, script(t, test.text)).Help); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAConfinedProgramChangesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "there"), "old")
	victim := filepath.Join(dir, "there")
	path := script(t, `
echo new > `+dir+`/made; echo new > `+victim+`; rm -f `+victim+`; mv `+victim+` `+dir+`/moved; mkdir `+dir+`/d
chmod 777 `+victim+`; touch -d 2001-01-01 `+victim+`; ln -s / `+dir+`/l
kill -0 `+"$PPID"+` && kill -9 -1
echo "usage: prog [-x]"
for f in `+dir+`/*; do echo "  --saw-$(basename $f)  found"; done
[ -e "$HOME" ] || echo "  --no-home  none"
[ -z "$SECRET" ] && echo "  --no-secret  none"
read line; echo "  --stdin$line  read"
`)
	t.Setenv("SECRET", "x")
	before, err := os.Lstat(victim)
	if err != nil {
		t.Fatal(err)
	}
	e := harvest(t, path)
	if got := show(e.Help); got != "--saw-there:n --no-home:n --no-secret:n --stdin:n -x:n" {
		t.Errorf("the program saw %q", got)
	}
	after, err := os.Lstat(victim)
	if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("changed: %v, %v", after, err)
	}
	if data, _ := os.ReadFile(victim); string(data) != "old" {
		t.Errorf("content is %q", data)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestAConfinedProgramReachesNoNetwork(t *testing.T) {
	python := "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		python = "/usr/bin/perl"
	}
	code := map[string]string{
		"/usr/bin/python3": `import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    try: socket.socket(family, socket.SOCK_DGRAM); print("  --open%d  open" % family)
    except OSError: pass
print("usage: prog [-x]")
`,
		"/usr/bin/perl": `use Socket; for my $f (1, 2, 10, 16) { print "  --open$f  open\n" if socket(my $s, $f, 2, 0) } print "usage: prog [-x]\n";`,
	}[python]
	path := filepath.Join(t.TempDir(), "prog")
	write(t, path, "#!"+python+"\n"+code)
	if got := show(harvest(t, path).Help); got != "-x:n" {
		t.Errorf("got %q: a socket was opened, or nothing ran", got)
	}
}

func TestOutputIsCapped(t *testing.T) {
	path := script(t, `echo "usage: prog [-x]"; exec cat /dev/zero`)
	out, err := harvester().run(t.Context(), []string{path})
	if err != nil || !out.long || len(out.stdout) != outputLimit {
		t.Errorf("long %t, %d bytes, %v", out.long, len(out.stdout), err)
	}
}

func TestAProgramThatHangsIsEndedWithItsChildren(t *testing.T) {
	const mark = "1000.54321"
	path := script(t, `echo "usage: prog [-x]"; sleep `+mark+` & (setsid sleep `+mark+` &) ; sleep `+mark)
	sleepers := func() (names []string) {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Error(err)
		}
		for _, name := range lines {
			if line, _ := os.ReadFile(name); strings.HasPrefix(string(line), "sleep\x00"+mark) {
				names = append(names, name)
			}
		}
		return names
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for end := time.Now().Add(time.Minute); len(sleepers()) < 3 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	out, err := harvester().run(deadline{t.Context(), over}, []string{path})
	if err != nil || !out.late || !strings.Contains(string(out.stdout), "usage") {
		t.Errorf("late %t, printed %q, %v", out.late, out.stdout, err)
	}
	if left := sleepers(); len(left) > 0 {
		t.Errorf("still run: %v", left)
	}
}

// A deadline is a context whose time is over when the channel is closed.
type deadline struct {
	context.Context
	over chan struct{}
}

func (d deadline) Done() <-chan struct{} { return d.over }

func (d deadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestWhatIsNotRun(t *testing.T) {
	trap := script(t, "echo 'usage: prog [-x]'; echo 'Commands:'; echo '  go  run it'\n")
	h := harvester()
	root, err := h.Harvest(t.Context(), trap, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Harvest(t.Context(), trap, []string{"go"}, root); err != nil {
		t.Errorf("a listed subcommand: %v", err)
	}
	h.Reexec = []string{"/nonexistent"} // nothing below may get as far as a run
	h.Allowed = func(path string) bool { return path != "/bin/ls" }
	for _, test := range []struct {
		path   string
		sub    []string
		parent *Entry
		want   error
	}{
		{"/nonexistent/prog", nil, nil, fs.ErrNotExist},
		{"/etc/passwd", nil, nil, errNotProgram},
		{"/bin/ls", nil, nil, errNotAllowed},
		{trap, []string{"stop"}, root, ErrNoSubcommand},
		{trap, []string{"--x"}, nil, nil},
		{trap, []string{"a b"}, nil, nil},
		{"prog", nil, nil, nil},
	} {
		_, err := h.Harvest(t.Context(), test.path, test.sub, test.parent)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s %v: %v, want %v", test.path, test.sub, err, test.want)
		}
	}
	if _, err := (&Harvester{Machine: machine}).Harvest(t.Context(), trap, nil, nil); !errors.Is(err, errNotAllowed) {
		t.Errorf("nobody allowed it: %v", err)
	}
}

func TestAProgramWithoutHelpHasNoFlags(t *testing.T) {
	for name, text := range map[string]string{
		"silent":         "",
		"reads input":    "cat",
		"prints a table": "echo 'Filesystem  Size'; echo '/dev/x  1G'",
		"fails":          "echo '  -x  is what I do not know' >&2; exit 1",
	} {
		if e := harvest(t, script(t, text)); len(e.Flags) != 0 || len(e.Sources) != 0 {
			t.Errorf("%s: %v from %v", name, show(e.Help), e.Sources)
		}
	}
}

func TestHelpOnStandardErrorWithAStatus(t *testing.T) {
	path := script(t, `case $1 in -h) echo "Usage: prog [-B] [-f file]" >&2; exit 1;; *) exit 2;; esac`)
	e := harvest(t, path)
	if got := show(e.Help) + " " + strings.Join(e.Sources, ","); got != "-B:n -f:r prog -h" {
		t.Errorf("got %q", got)
	}
}

func TestArgcompleteIsAskedWhereAProgramHasIt(t *testing.T) {
	path := script(t, `# PYTHON_ARGCOMPLETE_OK
if [ -n "$_ARGCOMPLETE" ]; then printf '%s' "--hidden`+"\v"+`--all`+"\v"+`word" >&8; exit; fi
echo "usage: prog [--all]"; echo; echo "options:"; echo "  --all  all"`)
	e := harvest(t, path)
	if got := show(e.Help); got != "--all:n --hidden:u" {
		t.Errorf("got %q from %v", got, e.Sources)
	}
}
