//go:build linux

package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/gate"
)

// refusing checks that a call does not run, with this code, and leaves the job as it was.
func (w *world) refusing(code Code, part string) {
	w.t.Helper()
	r := w.call("job", "print")
	w.want(r, code)
	if r.Code.Exit() != 2 || r.Step != 0 || r.Ended || !strings.Contains(r.Error, part) {
		w.t.Errorf("exit %d, step %d, ended %t: %s; want %q in it", r.Code.Exit(), r.Step, r.Ended, r.Error, part)
	}
	if len(w.judge.decided) > 0 {
		w.t.Error("it came as far as the policy")
	}
}

func TestACatalogueThatDoesNotCount(t *testing.T) {
	print := entry("print", "", `"print"`, "")
	for name, test := range map[string]struct {
		code   Code
		part   string
		change func(w *world)
	}{
		"edited after freezing": {CatalogueChanged, "gate catalog freeze", func(w *world) {
			w.write("policy/tools.json", w.catalogue(10, entry("print", "", `"print", "other"`, "")))
			w.commit()
		}},
		"edited and not committed":  {NotCommitted, "is not what the commit", func(w *world) { w.write("policy/tools.json", w.catalogue(9, print)) }},
		"edited, frozen, no commit": {NotCommitted, "is not what the commit", func(w *world) { w.write("policy/tools.json", w.catalogue(9, print)); w.freeze() }},
		"staged otherwise": {NotCommitted, "is staged otherwise", func(w *world) {
			before, err := os.ReadFile(w.path("policy/tools.json"))
			w.must(err)
			w.write("policy/tools.json", w.catalogue(9, print))
			w.git("add", "tools.json")
			w.write("policy/tools.json", string(before))
		}},
		"taken out of the index": {NotCommitted, "is staged otherwise", func(w *world) { w.git("rm", "--cached", "--quiet", "tools.json") }},
		"never committed": {NotCommitted, "is not committed", func(w *world) {
			w.git("rm", "--cached", "--quiet", "tools.json")
			w.git("commit", "--quiet", "--message", "without")
		}},
		"no commit at all": {NotCommitted, "has no commit yet", func(w *world) {
			w.must(os.RemoveAll(w.path("policy/.git")))
			w.git("init", "--quiet")
		}},
		"no repository": {NotCommitted, "is in no git repository", func(w *world) { w.must(os.RemoveAll(w.path("policy/.git"))) }},
		"no git":        {NotCommitted, "there is no git", func(w *world) { w.host.Place.Git = "/nonexistent/git" }},
		"no lock":       {NotFrozen, "gate catalog freeze", func(w *world) { w.must(os.Remove(w.path("policy/tools.lock"))) }},
		"a lock without the tool": {NotFrozen, "does not have the tool", func(w *world) {
			w.replace("policy/tools.lock", `"print": {`, `"other": {`)
			w.commit()
		}},
		"a broken lock": {NotFrozen, "line 1", func(w *world) { w.write("policy/tools.lock", "{"); w.commit() }},
		"a lock with a strange key": {NotFrozen, "is no key here", func(w *world) {
			w.replace("policy/tools.lock", `"schema"`, `"x": 1, "schema"`)
			w.commit()
		}},
		"no catalogue": {NoCatalogue, "there is no catalogue", func(w *world) { w.must(os.Remove(w.path("policy/tools.json"))) }},
		"corrupt JSON": {BadCatalogue, "tools.json:1:", func(w *world) { w.write("policy/tools.json", "{\"version\": 1,"); w.commit() }},
		"a link": {NotAccepted, "is a link", func(w *world) {
			w.must(os.Rename(w.path("policy/tools.json"), w.path("elsewhere")))
			w.must(os.Symlink(w.path("elsewhere"), w.path("policy/tools.json")))
		}},
		"a FIFO-like thing": {NotAccepted, "no regular file", func(w *world) {
			w.must(os.Remove(w.path("policy/tools.json")))
			w.must(os.Mkdir(w.path("policy/tools.json"), 0o755))
		}},
		"others can write it":  {NotAccepted, "others could have written it", func(w *world) { w.must(os.Chmod(w.path("policy/tools.json"), 0o666)) }},
		"no policy":            {NoCatalogue, "no policy", func(w *world) { w.host.Place.Policy.Mode = gate.ModeNone }},
		"a named policy":       {NotAccepted, "named by the caller", func(w *world) { w.host.Place.Policy.Mode = gate.ModeGiven }},
		"everything is denied": {NotAccepted, "nobody has accepted", func(w *world) { w.host.Place.Problem = errors.New("nobody has accepted gate x yet") }},
		"executable replaced": {ExecutableChanged, "is not the program that was frozen", func(w *world) {
			w.must(os.Remove(w.binary))
			w.must(os.WriteFile(w.binary, []byte("#!/bin/true\n"), 0o755))
		}},
		"executable one byte longer": {ExecutableChanged, "is not the program that was frozen", func(w *world) {
			data, err := os.ReadFile(w.binary)
			w.must(err)
			w.must(os.Remove(w.binary))
			w.must(os.WriteFile(w.binary, append(data, 0), 0o755))
		}},
		"executable is another by a link": {ExecutableChanged, "is not the program that was frozen", func(w *world) {
			w.must(os.Remove(w.binary))
			w.must(os.Symlink("/bin/true", w.binary))
		}},
		"executable gone":        {ExecutableMissing, "no such file", func(w *world) { w.must(os.Remove(w.binary)) }},
		"executable without x":   {ExecutableMissing, "no file that can be run", func(w *world) { w.plainCopy(0o644) }},
		"executable now a shell": {Shell, "is a shell", func(w *world) { w.must(os.Remove(w.binary)); w.must(os.Symlink("/bin/sh", w.binary)) }},
		"a shell by a hard link or copy": {ExecutableChanged, "", func(w *world) {
			data, err := os.ReadFile("/bin/sh")
			w.must(err)
			w.must(os.Remove(w.binary))
			w.must(os.WriteFile(w.binary, data, 0o755))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 10, print)
			test.change(w)
			w.refusing(test.code, test.part)
		})
	}
}

func (w *world) replace(name, from, to string) {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	w.must(err)
	if !strings.Contains(string(data), from) {
		w.t.Fatalf("%s holds no %q:\n%s", name, from, data)
	}
	w.write(name, strings.Replace(string(data), from, to, 1))
}

// plainCopy replaces the program by a copy, since its links share the mode.
func (w *world) plainCopy(perm os.FileMode) {
	w.t.Helper()
	data, err := os.ReadFile(w.binary)
	w.must(err)
	w.must(os.Remove(w.binary))
	w.must(os.WriteFile(w.binary, data, perm))
}

// The repository of an agent's user can name programs in many places. None of them is run to find out what is committed.
func TestAskingGitRunsNothing(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	ran := filepath.Join(w.dir, "ran")
	script := filepath.Join(w.dir, "evil")
	w.must(os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\ncat\n"), 0o755))
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "filter.x.clean", "filter.x.smudge", "filter.x.process",
		"diff.external", "diff.x.textconv", "core.alternateRefsCommand", "gpg.program", "credential.helper", "core.askPass"} {
		w.git("config", key, script)
	}
	w.git("config", "core.hooksPath", w.dir)
	w.must(os.WriteFile(w.path("policy/.gitattributes"), []byte("* filter=x diff=x\n"), 0o644))
	w.must(os.Symlink(script, filepath.Join(w.dir, "post-index-change")))
	w.want(w.call("job", "print"), OK)
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository was run")
	}
}

func TestARepositoryWithLongIDs(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	w.must(os.RemoveAll(w.path("policy/.git")))
	w.git("init", "--quiet", "--object-format=sha256")
	w.commit()
	w.want(w.call("job", "print"), OK)
}

func TestADirectoryOfALargerRepositoryAndALinkToIt(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	files := filepath.Join(w.home, "dotfiles")
	w.must(os.MkdirAll(files, 0o755))
	w.must(os.RemoveAll(w.path("policy/.git")))
	w.must(os.Rename(w.policy, filepath.Join(files, "gatehouse")))
	w.must(os.Symlink(filepath.Join(files, "gatehouse"), w.policy))
	w.git("-C", files, "init", "--quiet")
	w.git("-C", files, "add", "--all")
	w.git("-C", files, "commit", "--quiet", "--message", "x")
	w.want(w.call("job", "print"), OK)
}

func TestAnAcceptedCatalogueNeedsNoGit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: the accepted copy belongs to it")
	}
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	generation := filepath.Join(w.dir, "accepted")
	root := filepath.Join(generation, "files/policy")
	w.must(os.MkdirAll(root, 0o755))
	w.must(os.MkdirAll(filepath.Join(generation, "files/plugin"), 0o755))
	for _, name := range []string{"gate.yaml", "tools.json", "tools.lock"} {
		data, err := os.ReadFile(w.path("policy/" + name))
		w.must(err)
		w.must(os.WriteFile(filepath.Join(root, name), data, 0o644))
	}
	w.host.Place = Place{Policy: gate.Provenance{Mode: gate.ModeAccepted, Dir: generation, Gate: "claude", Tree: "abc"}, UID: 12345}
	w.write("policy/tools.json", "{}") // the live files do not count
	c, err := w.host.List(t.Context())
	w.must(err)
	if c.From.Mode != "accepted" || c.From.Dir != root || c.From.Commit != "" {
		t.Errorf("from %+v", c.From)
	}
	w.want(w.call("job", "print"), OK)
	w.judge.decided = nil
	w.must(os.Chmod(filepath.Join(root, "tools.json"), 0o666))
	w.refusing(NotAccepted, "others could have written it")
	w.must(os.Chmod(filepath.Join(root, "tools.json"), 0o644))
	w.must(os.Chown(filepath.Join(root, "tools.lock"), 12345, -1))
	w.refusing(NotAccepted, "belongs to uid 12345")
	w.must(os.RemoveAll(filepath.Join(generation, "files")))
	w.refusing(NoCatalogue, "")
}

func TestABoundaryNeedsProgramsThatOnlyRootCanChange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: to give a program to another user")
	}
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	w.host.Boundary = true
	w.plainCopy(0o755)
	w.must(os.Chown(w.binary, 12345, -1))
	w.refusing(ExecutableOpen, "can be changed by others than root")
	if err := rootsOwn("/bin/true"); err != nil {
		t.Error(err)
	}
}

func TestALockCanHoldTheBuildsOfSeveralHosts(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	data, err := os.ReadFile(w.path("policy/tools.lock"))
	w.must(err)
	old, err := ParseLock("tools.lock", data)
	w.must(err)
	other := strings.Repeat("0123456789abcdef", 4)
	f := old.Tools["print"]
	f.SHA256 = []string{other}
	old.Tools["print"] = f
	tools, err := os.ReadFile(w.path("policy/tools.json"))
	w.must(err)
	c, err := Parse("tools.json", tools)
	w.must(err)
	l, err := c.Freeze(old)
	w.must(err)
	if got := l.Tools["print"].SHA256; len(got) != 2 || got[1] != other {
		t.Errorf("%v", got)
	}
	text, err := l.Marshal()
	w.must(err)
	w.write("policy/tools.lock", string(text))
	w.commit()
	w.want(w.call("job", "print"), OK)
}

// A catalogue of which git had no time to speak is not one that is not committed.
func TestAGitThatTakesTooLongIsAFault(t *testing.T) {
	w := newWorld(t, 10, entry("print", "", `"print"`, ""))
	git := filepath.Join(w.dir, "git")
	w.must(os.WriteFile(git, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := committed(ctx, git, uint32(os.Getuid()), w.policy, nil); CodeOf(err) != Fault || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: %v", CodeOf(err), err)
	}
}
