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

// Whoever has rights of its own can see what its caller cannot, and does not tell.
func TestACallerSeesNothingThroughTheEyesOfTheService(t *testing.T) {
	w := newWorld(t, 8, strings.Replace(entry("ok", "", `"x"`, ""), `"BIN", "tool", "x"`, `"/usr/bin/true"`, 1))
	others := filepath.Join(w.dir, "others")
	for _, dir := range []string{"project/.git", "project/there/.git", "plain/there", ".git"} {
		w.must(os.MkdirAll(filepath.Join(others, dir), 0o755))
	}
	w.must(os.Symlink("/", filepath.Join(others, "link")))
	back, err := filepath.Rel(w.project, others)
	w.must(err)
	home := strings.TrimPrefix(w.home, w.dir)
	host := *w.host
	host.Boundary, host.Place.UID = true, 12345

	project := func(cwd string) string {
		_, err := host.ownProject(cwd, host.Home)
		return fmt.Sprint(err)
	}
	want := strings.ReplaceAll(project("/none"), "/none", "X")
	for _, cwd := range []string{"/project", "/project/there", "/project/none", "/project/there/none", "/plain/there", "/link", "/link/etc", "/project/there/../..",
		"/project/there/../../.." + home + "/project", "/project/none/../../.." + home + "/project"} {
		if got := strings.ReplaceAll(project(others+cwd), others+cwd, "X"); got != want {
			t.Errorf("%s: %s", cwd, got)
		}
	}
	if got, err := host.ownProject(filepath.Join(w.project, "sub"), host.Home); err != nil || got != w.project {
		t.Errorf("the caller's own: %s, %v", got, err)
	}

	follow := func(target string) string {
		link := filepath.Join(w.project, "way")
		w.must(os.Symlink(target, link))
		defer os.Remove(link)
		_, _, err := seeBeneath(w.project, "way")
		return fmt.Sprintf("%v; %v", beneath(w.project, "way"), err)
	}
	for _, to := range []string{others + "/project/", back + "/project/"} {
		for _, end := range []string{"", "/../../.." + home + "/project/sub", "/new"} {
			if there, none := follow(to+"there"+end), follow(to+"none"+end); there != none || !strings.Contains(there, "out of the project") {
				t.Errorf("%s, %s: there %s, not there %s", to, end, there, none)
			}
		}
	}
	w.must(os.Symlink("sub", filepath.Join(w.project, "inner")))
	for _, value := range []string{"inner", "inner/new", "new/newer", ".", "inner/../sub"} {
		if err := beneath(w.project, value); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
	if got := follow("sub/none"); !strings.Contains(got, "leads nowhere") {
		t.Error(got)
	}
}
