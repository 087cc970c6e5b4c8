//go:build linux

package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestAnAgentCannotFillTheDiskWithJobs(t *testing.T) {
	w := steps(t, 8)
	w.host.MaxJobs = 2
	w.want(w.call("a", "ok"), OK)
	w.want(w.call("b", "ok"), OK)
	r := w.call("c", "ok")
	if w.want(r, NoJob); !strings.Contains(r.Error, "2 jobs are kept") {
		t.Error(r.Error)
	}
	w.want(w.call("b", "ok"), OK)
	if found, _ := filepath.Glob(filepath.Join(w.jobs, "jobs/*")); len(found) != 4 {
		t.Errorf("a job that was refused left something: %v", found)
	}
	// Calls that come to nothing leave a lock, and count.
	w = steps(t, 8)
	w.host.MaxJobs = 2
	w.must(os.Remove(w.path("policy/tools.lock")))
	for range 2 {
		w.want(w.call("a", "ok"), NotFrozen)
	}
	for _, job := range []string{"b", "c", "d"} {
		w.want(w.call(job, "ok"), NotFrozen)
	}
	w.want(w.call("e", "ok"), NoJob)
}

// A service that takes the next directory with a .git for the project would work on another one.
func TestAClosedProjectSaysHowToOpenIt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: becomes another user")
	}
	w := newWorld(t, 8, strings.Replace(entry("ok", "", `"x"`, ""), `"BIN", "tool", "x"`, `"/usr/bin/true"`, 1))
	tools, err := w.host.List(t.Context())
	w.must(err)
	outer, inner := filepath.Join(w.home, "outer"), filepath.Join(w.home, "outer/inner")
	w.must(os.Chmod(filepath.Dir(w.dir), 0o755))
	w.must(os.MkdirAll(filepath.Join(inner, "sub"), 0o755))
	w.must(os.Mkdir(filepath.Join(outer, ".git"), 0o755))
	w.must(os.Mkdir(filepath.Join(inner, ".git"), 0o755))
	look := func(cwd string) (err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // which ends with it
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 64322, ^uintptr(0)); errno != 0 {
				panic(errno)
			}
			host := *w.host
			host.Boundary, host.Cwd = true, cwd
			c := &call{Host: &host, job: &job{}, catalogue: tools, result: &Result{}}
			_, _, err = c.prepare(t.Context(), []byte(`{"tool": "ok", "args": {}}`))
		}()
		<-done
		return err
	}
	for _, cwd := range []string{outer, inner} {
		if err := look(cwd); err != nil {
			t.Errorf("%s: %v", cwd, err)
		}
	}
	w.must(os.Chmod(inner, 0o700))
	for cwd, closed := range map[string]string{inner: inner, filepath.Join(inner, "sub"): inner} {
		err := look(cwd)
		if CodeOf(err) != NoDirectory || !strings.Contains(err.Error(), fmt.Sprintf("setfacl -m g:gatehouse:x %q", closed)) {
			t.Errorf("%s: %v", cwd, err)
		}
	}
}

func TestToolsWithRightsOfTheirOwnWorkOnTheCallersProjectOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: to give a project to another user")
	}
	w := newWorld(t, 8, strings.Replace(entry("ok", "", `"x"`, ""), `"BIN", "tool", "x"`, `"/usr/bin/true"`, 1))
	w.host.Boundary = true
	w.want(w.call("home", "ok"), OK)
	w.host.Home = filepath.Join(w.dir, "elsewhere")
	w.want(w.call("owned", "ok"), OK)
	w.must(os.Chown(w.project, 12345, -1))
	r := w.call("foreign", "ok")
	if w.want(r, NoDirectory); r.Step != 0 {
		t.Errorf("%+v", r)
	}
	w.host.Home = w.home
	w.want(w.call("in the home directory", "ok"), OK)
	w.host.Boundary, w.host.Home = false, filepath.Join(w.dir, "elsewhere")
	w.want(w.call("without rights of their own", "ok"), OK)
}
