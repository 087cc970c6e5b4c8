package vendorgate

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreign is everything in a repository that is none of a gate's business, in a form that can be compared, and what git
// status says about the gate. It is sparing with processes: some tests call it hundreds of times.
func (g *gitRepo) foreign() map[string]string {
	g.t.Helper()
	dir := ".git"
	if _, err := os.Lstat(filepath.Join(g.path, dir)); err != nil {
		dir = "."
	}
	branch := strings.TrimSpace(strings.TrimPrefix(g.read(dir+"/HEAD"), "ref: "))
	state := map[string]string{"branch": branch, "config": g.read(dir + "/config")}
	for _, name := range []string{"logs/refs/stash", "packed-refs"} {
		data, _ := os.ReadFile(filepath.Join(g.path, dir, name))
		state[name] = string(data)
	}
	err := filepath.WalkDir(filepath.Join(g.path, dir, "refs"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, branch) {
			return err
		}
		data, err := os.ReadFile(name)
		state[strings.TrimPrefix(name, g.path)] = string(data)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	if dir == "." {
		return state
	}
	for line := range strings.Lines(g.git("--no-optional-locks", "status", "--porcelain=v2", "--ignored")) {
		if strings.Contains(line, gateDir+"/") || strings.Contains(line, " "+vendored+"/\n") {
			state["gate"] += line
		} else {
			state["status"] += line
		}
	}
	// One entry and what git keeps about it is six lines.
	debug := strings.SplitAfter(g.git("ls-files", "-v", "-s", "--debug"), "\n")
	for len(debug) >= 6 {
		if !strings.Contains(debug[0], "\t"+gateDir+"/") {
			state["index"] += strings.Join(debug[:6], "")
		}
		debug = debug[6:]
	}
	err = filepath.WalkDir(g.path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == g.path {
			return err
		}
		rel, _ := filepath.Rel(g.path, name)
		if rel == ".git" || rel == gateDir {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		state["file "+rel] = fmt.Sprint(info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			state["file "+rel] += fmt.Sprintf(" %v %q", info.ModTime(), data)
			return err
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	delete(state, "file "+vendored)
	return state
}

// busy puts an operator's unfinished work of every kind into the repository.
func (g *gitRepo) busy() {
	g.t.Helper()
	for i := range 40 {
		g.write(fmt.Sprintf("src/pkg%d/file%d.go", i%5, i), fmt.Sprintln("package", i))
	}
	for _, name := range []string{"skip", "assume", "dirty", "staged", "both", "gone", "moved", "mode", "zz"} {
		g.write("top/"+name, name+"\n")
	}
	g.write(".gitignore", "*.log\n*.yaml\n/build/\n")
	g.commitAll("operator's files")
	g.git("branch", "other")
	g.write("top/dirty", "stashed\n")
	g.git("stash", "-q")

	g.git("update-index", "--skip-worktree", "top/skip")
	g.write("top/skip", "skipped, and changed\n")
	g.git("update-index", "--assume-unchanged", "top/assume")
	g.write("top/assume", "assumed, and changed\n")
	g.write("top/dirty", "unstaged\n")
	g.write("top/staged", "staged\n")
	g.write("top/both", "staged\n")
	g.write("added/new", "staged new\n")
	g.git("add", "top/staged", "top/both", "added")
	g.write("top/both", "and edited again\n")
	g.git("rm", "-q", "top/gone")
	g.git("mv", "top/moved", "top/elsewhere")
	if err := os.Chmod(filepath.Join(g.path, "top/mode"), 0o755); err != nil {
		g.t.Fatal(err)
	}
	g.git("add", "top/mode")
	g.write("untracked/file", "untracked\n")
	g.write("top/intended", "intent to add\n")
	g.git("add", "-N", "top/intended")
	g.write("build/out", "ignored\n")
	g.write("some.log", "ignored\n")
}

// traps makes every program that git could run in the repository leave a mark.
func (g *gitRepo) traps() (sprung func() string) {
	g.t.Helper()
	mark := filepath.Join(g.t.TempDir(), "mark")
	script := filepath.Join(filepath.Dir(mark), "trap")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >>"+mark+"\ncat\n"), 0o755); err != nil {
		g.t.Fatal(err)
	}
	hooks := filepath.Join(g.path, g.line("rev-parse", "--git-path", "hooks"))
	for _, hook := range []string{
		"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
		"post-checkout", "pre-auto-gc",
	} {
		if err := os.MkdirAll(hooks, 0o755); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\necho "+hook+" >>"+mark+"\n"), 0o755); err != nil {
			g.t.Fatal(err)
		}
	}
	g.git("config", "core.fsmonitor", script)
	g.git("config", "filter.trap.clean", script)
	g.git("config", "filter.trap.smudge", script)
	g.git("config", "gpg.program", script)
	g.git("config", "core.editor", script)
	return func() string {
		data, _ := os.ReadFile(mark)
		return string(data)
	}
}

func TestCommitTouchesNothingElse(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*gitRepo){
		"plain":         func(*gitRepo) {},
		"index v3":      func(g *gitRepo) { g.git("update-index", "--index-version", "3") },
		"packed":        func(g *gitRepo) { g.git("gc", "-q"); g.git("pack-refs", "--all") },
		"loose":         func(g *gitRepo) { g.git("config", "core.untrackedCache", "true"); g.git("status") },
		"threads":       func(g *gitRepo) { g.git("config", "index.threads", "2"); g.git("status") },
		"no reflog":     func(g *gitRepo) { g.git("config", "core.logAllRefUpdates", "false") },
		"nested branch": func(g *gitRepo) { g.git("switch", "-qc", "feature/x") },
		"gate is old":   func(g *gitRepo) { g.accept(content{"policy/gate.yaml": "before\n"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			g.busy()
			prepare(g)
			before := g.foreign()
			parent := g.line("rev-parse", "HEAD")
			commit := g.accept(second)
			if diff := cmp.Diff(before, g.foreign()); diff != "" {
				t.Errorf("the commit changed what is not the gate's (-before +after):\n%s", diff)
			}
			g.fsck()
			if got := g.line("rev-parse", "HEAD", "HEAD^"); got != commit+"\n"+parent {
				t.Errorf("HEAD and its parent are\n%s, want\n%s\n%s", got, commit, parent)
			}
			for line := range strings.Lines(g.git("diff", "--name-only", "HEAD^", "HEAD")) {
				if !strings.HasPrefix(line, gateDir+"/") {
					t.Errorf("the commit changes %s", line)
				}
			}
			if got := g.git("status", "--porcelain", "--", vendored); got != "" {
				t.Errorf("status of the gate:\n%s", got)
			}
			// What is staged goes into the operator's next commit, and the gate stays as it was accepted.
			g.git("commit", "-qm", "operator's next")
			if got := g.git("diff", "--name-only", "HEAD^", "HEAD", "--", vendored); got != "" {
				t.Errorf("the operator's next commit changes\n%s", got)
			}
			if diff := cmp.Diff(second.generation(), g.accepted().Generation); diff != "" {
				t.Errorf("after the operator's next commit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommitRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	files := content{"policy/gate.yaml": "a\r\nb\r\n", "policy/data.bin": "\x00\r\n", "policy/audit.log": "ignored by name\n"}
	for name, attributes := range map[string]string{
		"none":      "",
		"text=auto": "* text=auto\n",
		"text":      "* text eol=lf\n",
		"filter":    vendored + "/** filter=trap\n",
		"encoding":  vendored + "/** ident working-tree-encoding=UTF-16\n",
	} {
		for _, autocrlf := range []string{"false", "true", "input"} {
			t.Run(name+"/"+autocrlf, func(t *testing.T) {
				t.Parallel()
				g := newGitRepo(t)
				g.git("config", "core.autocrlf", autocrlf)
				g.write("README", "hello\n")
				g.write(".gitignore", "*.log\n")
				g.commitAll("first")
				g.write(".gitattributes", attributes)
				g.commitAll("attributes")
				sprung := g.traps()
				g.accept(files)
				if got := sprung(); got != "" {
					t.Errorf("programs were run:\n%s", got)
				}
				for path, text := range files {
					// cat-file reads the blob as it is, without filters.
					if got := run(t, g.path, "-c", "core.fsmonitor=false", "cat-file", "blob", "HEAD:"+gateDir+"/files/"+path); got != text {
						t.Errorf("%s is committed as %q, want %q", path, got, text)
					}
					if got := g.read(gateDir + "/files/" + path); got != text {
						t.Errorf("%s is %q in the work tree, want %q", path, got, text)
					}
				}
				status := run(t, g.path, "-c", "core.fsmonitor=false", "status", "--porcelain=v2")
				if status != "" {
					t.Errorf("status:\n%s", status)
				}
				if got := sprung(); strings.Contains(got, "trap ") {
					t.Errorf("git status ran filters over the gate:\n%s", got)
				}
				g.git("config", "core.fsmonitor", "false")
				g.fsck()
			})
		}
	}
}

func TestGitReadsTheCommit(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	commit := g.accept(first)
	got := g.git("log", "-1", "--format=%an <%ae> %ad|%cn <%ce> %cd|%s|%b", "--date=iso")
	want := "Op Erator <op@example> 2026-11-30 12:00:00 +0100|Op Erator <op@example> 2026-11-30 12:00:00 +0100|" +
		"accept drift d-1234 of claude|Two files changed.\n\nGate: claude\nFingerprint: 1234\nAccepted-by: op\n\n"
	if got != want {
		t.Errorf("git log says\n%s, want\n%s", got, want)
	}
	cmd := exec.Command("git", "interpret-trailers", "--parse")
	cmd.Dir, cmd.Stdin = g.path, strings.NewReader(g.git("log", "-1", "--format=%B"))
	trailers, err := cmd.Output()
	if err != nil || string(trailers) != "Gate: claude\nFingerprint: 1234\nAccepted-by: op\n" {
		t.Errorf("git interpret-trailers prints %q, %v", trailers, err)
	}
	for _, log := range []string{"HEAD", "refs/heads/main"} {
		want := fmt.Sprintf("%040d %s Op Erator <op@example> 1796036400 +0100\t", 0, commit) +
			"commit (initial): accept drift d-1234 of claude\n"
		if got := g.read(".git/logs/" + log); got != want {
			t.Errorf("reflog of %s: %q, want %q", log, got, want)
		}
	}
	g.accept(second)
	if got := g.line("reflog", "show", "--format=%gs", "main"); got !=
		"commit: accept drift d-1234 of claude\ncommit (initial): accept drift d-1234 of claude" {
		t.Errorf("reflog of main:\n%s", got)
	}
}
