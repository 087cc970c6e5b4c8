package memory

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/internal/durable"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestManyProcessesLoseDoubleAndTearNothing(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	failed := make(chan error, processes)
	for i := range processes {
		cmd := process(t, dir, "one line", fmt.Sprintf("%s=process %d", nameVariable, i))
		var out bytes.Buffer
		cmd.Stderr = &out
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				failed <- fmt.Errorf("process %d: %v: %s", i, err, &out)
			}
		})
	}
	s := Store{Dir: dir}
	seen := 0
	for range 100 { // readers meanwhile see whole memories that only grow
		now := count(t, s, session)
		if now < seen {
			t.Fatalf("%d lines after %d", now, seen)
		}
		seen = now
		time.Sleep(time.Millisecond) // so that the readings are not all at the beginning
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	sorted := slices.Sorted(slices.Values(lines(t, s, session)))
	if len(sorted) != processes || len(slices.Compact(sorted)) != processes {
		t.Errorf("%d lines of %d processes: %q", len(sorted), processes, sorted)
	}
	if diff := cmp.Diff(lines(t, s, session), lines(t, s, project)); diff != "" {
		t.Errorf("the session and its project disagree: %s", diff)
	}
}

// fill gives the memories a past: none, a short one, or one so long that the next change sweeps the session's directory.
func fill(t *testing.T, dir, past string) {
	t.Helper()
	s := Store{Dir: dir}
	if past == "none" {
		return
	}
	must(t, s.Update(t.Context(), both, line("old")))
	if past == "long" {
		st := load(t, s, session)
		st.version = sweepEvery - 1
		must(t, os.WriteFile(s.file(session), seal(string(st.encode(session))), 0o600))
		must(t, os.WriteFile(filepath.Join(s.dir(session), "000000000001"), nil, 0o600))
	}
}

var pasts = []string{"none", "short", "long"}

// wantOldOrNew checks that both memories are as before or both have the new line, and returns which.
func wantOldOrNew(t *testing.T, what string, s Store, old [2]int) (isNew bool) {
	t.Helper()
	for i, now := range counts(t, s) {
		more := now - old[i]
		if more != 0 && more != 1 || i > 0 && (more == 1) != isNew {
			t.Fatalf("%s: %v has %d lines more, and the session's memory is new: %v", what, both[i], more, isNew)
		}
		isNew = more == 1
	}
	return isNew
}

func counts(t *testing.T, s Store) [2]int { return [2]int{count(t, s, session), count(t, s, project)} }

func TestAProcessKilledAtAnyStepLeavesTheOldOrTheNew(t *testing.T) {
	for _, past := range pasts {
		for _, task := range []string{"killed before a step", "killed after a step"} {
			var isNew bool
			for step := 1; ; step++ {
				dir := t.TempDir()
				fill(t, dir, past)
				s := Store{Dir: dir}
				old := counts(t, s)
				err := process(t, dir, task, fmt.Sprint(stepVariable, "=", step)).Run()
				if err == nil {
					break
				}
				what := fmt.Sprintf("%s %d, past %s", task, step, past)
				if !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%s: %v", what, err)
				}
				isNew = wantOldOrNew(t, what, s, old)
				if isNew && task == "killed before a step" && step == 1 {
					t.Errorf("%s: the memory is new before anything was done", what)
				}

				// Whoever comes next finds order, and goes on.
				must(t, s.Update(t.Context(), []ID{project}, line("next")))
				must(t, s.Update(t.Context(), []ID{Session("s2"), session}, line("next")))
				now := counts(t, s)
				want := 1
				if isNew {
					want = 2
				}
				if now[0]-old[0] != want || now[1]-old[1] != want {
					t.Errorf("%s: %d and %d lines more at the end, want %d", what, now[0]-old[0], now[1]-old[1], want)
				}
				if left, _ := os.ReadDir(filepath.Join(dir, "joint")); len(left) > 0 {
					t.Errorf("%s: %s is left behind", what, left[0].Name())
				}
			}
			if !isNew {
				t.Errorf("%s: the memory is old after the last step", task)
			}
		}
	}
}

func TestAProcessKilledAnywhereLeavesWholeMemories(t *testing.T) {
	dir := t.TempDir()
	s := Store{Dir: dir}
	before := 0
	for i := range 10 {
		cmd := process(t, dir, "for ever")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		said := bufio.NewReader(out)
		for range 3*i + 1 {
			if _, err := said.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		must(t, cmd.Process.Kill())
		rest, _ := io.ReadAll(said)
		cmd.Wait()
		reported := 3*i + 1 + bytes.Count(rest, []byte("\n"))
		all := lines(t, s, session)
		if diff := cmp.Diff(all, lines(t, s, project)); diff != "" {
			t.Fatalf("pass %d: the memories differ: %s", i, diff)
		}
		inPass := len(all) - before
		if inPass != reported && inPass != reported+1 {
			t.Errorf("pass %d: %d lines where %d were reported", i, inPass, reported)
		}
		before = len(all)
	}
}

// Each step fails, as not done and as done but reported as failed. An error must mean that nothing changed, and no error
// that everything did.
func TestAFaultOfTheDiskChangesAllOrNothing(t *testing.T) {
	for _, past := range pasts {
		for _, done := range []bool{false, true} {
			for _, ever := range []bool{false, true} { // the one step, or all from then on, as on a full disk
				for step := 1; ; step++ {
					dir := t.TempDir()
					fill(t, dir, past)
					n := 0
					disk := durable.Disk{Around: func(_ durable.Step, change func() error) error {
						n++
						if n == step || ever && n > step {
							if done {
								return errors.Join(change(), unix.EIO)
							}
							return unix.ENOSPC
						}
						return change()
					}}
					s := Store{Dir: dir}
					old := counts(t, s)
					err := Store{Dir: dir, Disk: disk}.Update(t.Context(), both, line("new"))
					if n < step {
						break
					}
					what := fmt.Sprintf("step %d, past %s, done %v, ever %v: %v", step, past, done, ever, err)
					if isNew := wantOldOrNew(t, what, s, old); isNew != (err == nil) {
						t.Errorf("%s: the memory is new: %v", what, isNew)
					}
					before := counts(t, s)
					must(t, s.Update(t.Context(), both, line("next")))
					if after := counts(t, s); after != [2]int{before[0] + 1, before[1] + 1} {
						t.Errorf("%s: %v lines became %v", what, before, after)
					}
				}
			}
		}
	}
}

func TestWhatIsForgottenStaysForgotten(t *testing.T) {
	// A change of the session and its project was cut short after it began to count.
	dir := t.TempDir()
	disk := durable.Disk{Around: func(step durable.Step, change func() error) error {
		if strings.Contains(step.Name, "sessions/s1/state") {
			return errInjected
		}
		return change()
	}}
	must(t, Store{Dir: dir, Disk: disk}.Update(t.Context(), both, line("new")))
	s := Store{Dir: dir}
	if count(t, s, session) != 1 {
		t.Fatal("the change does not count")
	}
	must(t, s.Expire(t.Context(), time.Now().Add(time.Hour)))
	if count(t, s, session) != 0 || count(t, s, project) != 1 {
		t.Error("the session came back, or the project did not stay")
	}
}
