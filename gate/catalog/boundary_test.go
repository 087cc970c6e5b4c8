//go:build linux

package catalog

import (
	"os"
	"path/filepath"
	"strings"
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
