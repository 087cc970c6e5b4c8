//go:build linux

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gatehouse/internal/durable"
)

func steps(t *testing.T, n int) *world {
	return newWorld(t, n, entry("ok", "", `"exit", "0"`, ""), entry("fails", "", `"exit", "1"`, ""))
}

func TestAJobCountsItsSteps(t *testing.T) {
	w := steps(t, 8)
	for n := 1; n <= 8; n++ {
		r := w.call("job", "ok")
		w.want(r, OK)
		if r.Step != n || r.Steps != 8 {
			t.Errorf("step %d of %d, want %d of 8", r.Step, r.Steps, n)
		}
	}
	r := w.call("job", "ok")
	w.want(r, NoSteps)
	if r.Code.Exit() != 1 || !r.Ended || r.Step != 0 {
		t.Errorf("step 9 of 8: %+v", r)
	}
	w.want(w.call("another job", "ok"), OK)
}

func TestTheFirstFailureEndsAJob(t *testing.T) {
	w := steps(t, 8)
	w.want(w.call("job", "ok"), OK)
	w.want(w.call("job", "fails"), ToolFailed)
	for _, tool := range []string{"ok", "fails", "unknown"} {
		r := w.call("job", tool)
		w.want(r, JobEnded)
		if !strings.Contains(r.Error, "step 2") || !strings.Contains(r.Error, "tool-failed") {
			t.Errorf("%s does not say what ended it", r.Error)
		}
	}
	if len(w.judge.recorded) != 2 {
		t.Errorf("%d ran", len(w.judge.recorded))
	}
}

func TestAJobHasAName(t *testing.T) {
	w := steps(t, 8)
	for _, name := range []string{"", "a\nb", strings.Repeat("a", 201), "a\u202eb"} {
		r := w.call(name, "ok")
		w.want(r, NoJob)
		if r.Code.Exit() != 2 {
			t.Errorf("exit %d", r.Code.Exit())
		}
	}
	w.want(w.call("../../etc/ü 1", "ok"), OK)
}

// files returns the state and the list of a job that took steps.
func (w *world) files() (state, list string) {
	w.t.Helper()
	states, _ := filepath.Glob(filepath.Join(w.jobs, "jobs", "*"))
	lists, _ := filepath.Glob(filepath.Join(w.jobs, "steps", "*"))
	for _, s := range states {
		if !strings.HasSuffix(s, ".lock") {
			state = s
		}
	}
	if state == "" || len(lists) != 1 {
		w.t.Fatalf("files of jobs: %v %v", states, lists)
	}
	return state, lists[0]
}

func TestEditsOfTheStateAreFound(t *testing.T) {
	edit := func(path, from, to string) error {
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), from) {
			return fmt.Errorf("%s: %w: %s", path, err, data)
		}
		return os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o600)
	}
	for name, test := range map[string]struct {
		code   Code
		change func(w *world, state, list string) error
	}{
		"counter turned back":  {StateCorrupt, func(w *world, state, list string) error { return edit(state, `"steps":3`, `"steps":1`) }},
		"state cut":            {StateCorrupt, func(w *world, state, list string) error { return os.Truncate(state, 70) }},
		"state emptied":        {StateCorrupt, func(w *world, state, list string) error { return os.Truncate(state, 0) }},
		"state deleted":        {StateLost, func(w *world, state, list string) error { return os.Remove(state) }},
		"list deleted":         {StateLost, func(w *world, state, list string) error { return os.Remove(list) }},
		"list emptied":         {StateLost, func(w *world, state, list string) error { return os.Truncate(list, 0) }},
		"list loses a line":    {StateCorrupt, func(w *world, state, list string) error { return edit(list, "1 ", "2 ") }},
		"list cut to one step": {StateLost, func(w *world, state, list string) error { return os.Truncate(list, 67) }},
		"an old state put back": {StateCorrupt, func(w *world, state, list string) error {
			return durable.Disk{}.WriteSealed(state, w.old, 0o600)
		}},
		"state forged with its checksum": {StateCorrupt, func(w *world, state, list string) error {
			data, err := durable.ReadSealed(state)
			if err != nil {
				return err
			}
			forged := strings.Replace(string(data), `"steps":3`, `"steps":1`, 1)
			return durable.Disk{}.WriteSealed(state, []byte(forged), 0o600)
		}},
		"the state of another job": {StateCorrupt, func(w *world, state, list string) error {
			data, err := durable.ReadSealed(state)
			if err != nil {
				return err
			}
			return durable.Disk{}.WriteSealed(state, []byte(strings.Replace(string(data), `"job":"job"`, `"job":"other"`, 1)), 0o600)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := steps(t, 8)
			w.want(w.call("job", "ok"), OK)
			state, list := w.files()
			var err error
			w.old, err = durable.ReadSealed(state)
			w.must(err)
			w.want(w.call("job", "ok"), OK)
			w.want(w.call("job", "ok"), OK)
			w.must(test.change(w, state, list))
			for range 2 {
				r := w.call("job", "ok")
				w.want(r, test.code)
				if r.Code.Exit() != 2 || r.Step != 0 {
					t.Errorf("%+v", r)
				}
			}
			if len(w.judge.recorded) != 3 {
				t.Errorf("%d ran, want the 3 of before", len(w.judge.recorded))
			}
		})
	}
}

// Who deletes both files begins anew: as one's own user the counter is a guard against accidents, and says so.
func TestWhatTheCounterIsWorthIsSaid(t *testing.T) {
	w := steps(t, 8)
	w.want(w.call("job", "ok"), OK)
	w.must(os.RemoveAll(w.jobs))
	r := w.call("job", "ok")
	w.want(r, OK)
	if r.Step != 1 || r.Counter != "guard" {
		t.Errorf("%+v", r)
	}
}

func TestADirectoryOthersCanWriteIsNoState(t *testing.T) {
	w := steps(t, 8)
	w.must(os.MkdirAll(w.jobs, 0o700))
	w.must(os.Chmod(w.jobs, 0o777))
	w.want(w.call("job", "ok"), StateCorrupt)
}

// A crash between any two steps leaves a job that goes on or has ended, never one that counts less.
func TestACrashNeverTurnsAJobBack(t *testing.T) {
	crash := errors.New("crash")
	for _, after := range []bool{false, true} {
		for at := 0; ; at++ {
			w := steps(t, 8)
			w.want(w.call("job", "ok"), OK)
			n := 0
			w.host.Disk = durable.Disk{Around: func(step durable.Step, change func() error) error {
				n++
				if n <= at {
					return change()
				}
				if n == at+1 && after {
					return errors.Join(change(), crash)
				}
				return crash // nothing is written any more
			}}
			before := len(w.judge.recorded)
			r := w.call("job", "ok")
			if n <= at {
				w.want(r, OK)
				break
			}
			if r.Code != Fault {
				t.Errorf("crash at step %d: %s %s", at, r.Code, r.Error)
			}
			ran := len(w.judge.recorded) > before
			w.host.Disk = durable.Disk{}
			next := w.call("job", "ok")
			least := 2
			if ran { // its end may be on the disk although that was reported otherwise
				least = 3
			}
			if next.Code == OK && next.Step < least || next.Code != OK && next.Code != JobEnded {
				t.Errorf("crash at step %d (after %t, the tool ran %t): then %s, step %d", at, after, ran, next.Code, next.Step)
			}
		}
	}
}

func TestATornLineIsAStepThatNeverEnded(t *testing.T) {
	w := steps(t, 8)
	w.want(w.call("job", "ok"), OK)
	_, list := w.files()
	f, err := os.OpenFile(list, os.O_APPEND|os.O_WRONLY, 0)
	w.must(err)
	_, err = f.WriteString("2 " + chained("", 1)[:3])
	w.must(errors.Join(err, f.Close()))
	w.want(w.call("job", "ok"), StateCorrupt) // not what the next line would have begun with

	w = steps(t, 8)
	w.want(w.call("job", "ok"), OK)
	_, list = w.files()
	f, err = os.OpenFile(list, os.O_APPEND|os.O_WRONLY, 0)
	w.must(err)
	_, err = f.WriteString("2 " + chained(chained("", 1), 2)[:3])
	w.must(errors.Join(err, f.Close()))
	w.want(w.call("job", "ok"), JobEnded)
}

func TestCallsOfOneJobWaitForEachOther(t *testing.T) {
	w := steps(t, 100)
	const n = 6
	results := make([]Result, n)
	hosts := make([]Host, n)
	var group sync.WaitGroup
	for i := range n {
		hosts[i] = *w.host
		hosts[i].Judge, hosts[i].Log = &judge{}, nil
		group.Go(func() {
			results[i] = hosts[i].Call(t.Context(), Request{Job: "job", Call: []byte(`{"tool": "ok", "args": {}}`)})
		})
	}
	group.Wait()
	seen := make(map[int]bool)
	for _, r := range results {
		if r.Code == Busy {
			continue // the machine was slow
		}
		w.want(r, OK)
		if seen[r.Step] {
			t.Errorf("step %d was taken twice", r.Step)
		}
		seen[r.Step] = true
	}
	data, err := durable.ReadSealed(first(w.files()))
	w.must(err)
	var s jobState
	w.must(json.Unmarshal(data, &s))
	if s.Steps != len(seen) || s.Running || s.Ended != "" {
		t.Errorf("%d results, state %+v", len(seen), s)
	}
}

func first(a, _ string) string { return a }

func TestAJobStaysWithItsProjectAndItsCatalogue(t *testing.T) {
	w := steps(t, 8)
	w.want(w.call("job", "ok"), OK)
	other := filepath.Join(w.home, "other")
	w.must(os.MkdirAll(filepath.Join(other, ".git"), 0o755))
	here := w.host.Cwd
	w.host.Cwd = other
	w.want(w.call("job", "ok"), NoDirectory)
	w.host.Cwd = here
	w.want(w.call("job", "ok"), OK)
	w.write("policy/tools.json", w.catalogue(9, entry("ok", "", `"exit", "0"`, "")))
	w.freeze()
	w.commit()
	w.want(w.call("job", "ok"), CatalogueChanged)
	w.want(w.call("new job", "ok"), OK)
}

func TestAToolNeedsAProject(t *testing.T) {
	w := steps(t, 8)
	for _, cwd := range []string{w.home, "/", "", w.dir, filepath.Join(w.home, "none")} {
		w.host.Cwd = cwd
		r := w.call("job", "ok")
		w.want(r, NoDirectory)
		if r.Ended {
			t.Errorf("in %q: the job is over", cwd)
		}
	}
}
