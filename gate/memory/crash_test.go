package memory

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse/internal/durable"

	"golang.org/x/sys/unix"
)

func TestManyProcessesLoseDoubleAndTearNothing(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	failed := make(chan error, processes)
	for i := range processes {
		cmd := process(t, dir, "one line of three calls", fmt.Sprintf("%s=process %d", nameVariable, i))
		var out bytes.Buffer
		cmd.Stderr = &out
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				failed <- fmt.Errorf("process %d: %v: %s", i, err, &out)
			}
		})
	}
	s := Store{Dir: dir}
	seen := uint64(0)
	for range 100 { // readers meanwhile see whole memories that only grow
		st := load(t, s, session)
		if st.Calls < seen || st.Calls%3 != 0 || uint64(len(st.Rules["lines"]))*3 != st.Calls {
			t.Fatalf("%d calls of %d lines after %d calls", st.Calls, len(st.Rules["lines"]), seen)
		}
		seen = st.Calls
		time.Sleep(time.Millisecond) // so that the readings are not all at the beginning
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	for _, id := range both {
		st := load(t, s, id)
		if st.Calls != 3*processes || len(st.Rules["lines"]) != processes {
			t.Errorf("%v: %d calls of %d lines", id, st.Calls, len(st.Rules["lines"]))
		}
		lines := map[string]bool{}
		trace := records(t, s, id)
		if len(trace) != 3*processes {
			t.Fatalf("%v: %d records", id, len(trace))
		}
		for i, r := range trace {
			if r.Index != i%3 || r.Line != trace[i-i%3].Line {
				t.Fatalf("%v: call %d of %q stands at %d", id, r.Index, r.Line, i)
			}
			lines[r.Line] = true
		}
		if len(lines) != processes {
			t.Errorf("%v: %d different lines", id, len(lines))
		}
	}
	if a, b := order(t, s, session), order(t, s, project); a != b {
		t.Error("the session and its project disagree about the order")
	}
}

func order(t *testing.T, s Store, id ID) string {
	var b strings.Builder
	for _, r := range records(t, s, id) {
		fmt.Fprintln(&b, r.Line, r.Index)
	}
	return b.String()
}

// fill gives the memories a past: none, a short one, or one so long that the next record ends a segment, in the session but
// not in the project.
func fill(t *testing.T, dir, past string) {
	t.Helper()
	s := Store{Dir: dir}
	if past != "none" {
		must(t, s.Update(t.Context(), both, line("old", 2)))
	}
	for past == "long" && len(load(t, s, session).kept.youngest.text) < segmentSize-300 {
		must(t, s.Update(t.Context(), []ID{session}, line("old", 5)))
	}
}

var pasts = []string{"none", "short", "long"}

// wantOldOrNew checks that both memories are as before or both have the line of three calls more, and returns which.
func wantOldOrNew(t *testing.T, what string, s Store, old [2]uint64) (isNew bool) {
	t.Helper()
	for i, id := range both {
		st := load(t, s, id)
		more := st.Calls - old[i]
		if more != 0 && more != 3 || i > 0 && (more == 3) != isNew {
			t.Fatalf("%s: %v has %d calls more, and the session's memory is new: %v", what, id, more, isNew)
		}
		isNew = more == 3
		trace := records(t, s, id)
		if newest := len(trace) > 0 && trace[len(trace)-1].Line == "new"; newest != isNew {
			t.Fatalf("%s: %v: the trace and the state disagree", what, id)
		}
	}
	return isNew
}

func calls(t *testing.T, s Store) [2]uint64 {
	return [2]uint64{load(t, s, session).Calls, load(t, s, project).Calls}
}

func TestAProcessKilledAtAnyStepLeavesTheOldOrTheNew(t *testing.T) {
	for _, past := range pasts {
		for _, task := range []string{"killed before a step", "killed after a step"} {
			var isNew bool
			for step := 1; ; step++ {
				dir := t.TempDir()
				fill(t, dir, past)
				s := Store{Dir: dir}
				old := calls(t, s)
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
				must(t, s.Update(t.Context(), []ID{project}, line("next", 1)))
				must(t, s.Update(t.Context(), []ID{Session("s2"), session}, line("next", 1)))
				now := calls(t, s)
				want := uint64(1)
				if isNew {
					want = 4
				}
				if now[0]-old[0] != want || now[1]-old[1] != want {
					t.Errorf("%s: %d and %d calls more at the end, want %d", what, now[0]-old[0], now[1]-old[1], want)
				}
				records(t, s, session)
				records(t, s, project)
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
	for i := range 10 {
		cmd := process(t, dir, "for ever")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewReader(out)
		for range 3*i + 1 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		must(t, cmd.Process.Kill())
		rest, _ := io.ReadAll(lines)
		cmd.Wait()
		said := uint64(3*i+1+bytes.Count(rest, []byte("\n"))) * 2
		trace := records(t, s, session)
		if a, b := order(t, s, session), order(t, s, project); a != b {
			t.Fatalf("pass %d: the memories differ:\n%s---\n%s", i, a, b)
		}
		inPass := uint64(len(trace)) // of this pass: those since the last "line 0"
		for k := range trace {
			if trace[k].Line == "line 0" && trace[k].Index == 0 {
				inPass = uint64(len(trace) - k)
			}
		}
		if inPass != said && inPass != said+2 {
			t.Errorf("pass %d: %d records where %d were reported", i, inPass, said)
		}
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
					old := calls(t, s)
					err := Store{Dir: dir, Disk: disk}.Update(t.Context(), both, line("new", 3))
					if n < step {
						break
					}
					what := fmt.Sprintf("step %d, past %s, done %v, ever %v: %v", step, past, done, ever, err)
					if isNew := wantOldOrNew(t, what, s, old); isNew != (err == nil) {
						t.Errorf("%s: the memory is new: %v", what, isNew)
					}
					before := calls(t, s)
					must(t, s.Update(t.Context(), both, line("next", 1)))
					if after := calls(t, s); after != [2]uint64{before[0] + 1, before[1] + 1} {
						t.Errorf("%s: %v calls became %v", what, before, after)
					}
					records(t, s, session)
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
	must(t, Store{Dir: dir, Disk: disk}.Update(t.Context(), both, line("new", 3)))
	s := Store{Dir: dir}
	if load(t, s, session).Calls != 3 {
		t.Fatal("the change does not count")
	}
	must(t, s.Expire(t.Context(), time.Now().Add(time.Hour)))
	if load(t, s, session).Calls != 0 || load(t, s, project).Calls != 3 {
		t.Error("the session came back, or the project did not stay")
	}
}
