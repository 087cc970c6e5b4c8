package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"gatehouse/internal/durable"

	"golang.org/x/sys/unix"
)

// What the test binary does when it runs as another process stands in its environment; its working directory is the state
// directory.
const (
	taskVariable = "MEMORY_TEST_TASK"
	stepVariable = "MEMORY_TEST_STEP" // of a victim: the step at which it is killed
	nameVariable = "MEMORY_TEST_NAME"
)

var (
	session = Session("s1")
	project = Project("/src/p")
	both    = []ID{session, project}
	day     = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

// die ends the process as a power cut does: nothing is put in order.
func die() { unix.Kill(os.Getpid(), unix.SIGKILL); select {} }

var tasks = map[string]func() error{
	"one line of three calls": func() error {
		s := Store{Dir: ".", Wait: 2 * time.Minute}
		return s.Update(context.Background(), both, line(os.Getenv(nameVariable), 3))
	},
	"killed before a step": func() error {
		return killed(func(change func() error) error { die(); return nil })
	},
	"killed after a step": func() error {
		return killed(func(change func() error) error { change(); die(); return nil })
	},
	"for ever": func() error {
		s := Store{Dir: "."}
		for i := 0; ; i++ {
			if err := s.Update(context.Background(), both, line(fmt.Sprint("line ", i), 2)); err != nil {
				return err
			}
			fmt.Println(i)
		}
	},
}

// killed makes one change and ends at the step that the environment says.
func killed(here func(change func() error) error) error {
	last, err := strconv.Atoi(os.Getenv(stepVariable))
	if err != nil {
		return err
	}
	n := 0
	s := Store{Dir: ".", Disk: durable.Disk{Around: func(_ durable.Step, change func() error) error {
		if n++; n == last {
			return here(change)
		}
		return change()
	}}}
	return s.Update(context.Background(), both, line("new", 3))
}

// line is a change that records a line with n calls and counts the lines in the state of a rule.
func line(text string, n int) func([]*State) ([]Record, error) {
	return func(states []*State) ([]Record, error) {
		for _, st := range states {
			st.Rules["lines"] = append(st.Rules["lines"], '+')
		}
		var records []Record
		for i := range n {
			records = append(records, Record{Time: day, Session: "s1", Cwd: "/src/p", Line: text, Index: i, Name: "ls", Args: []Arg{{"all", true}}, Known: Ran})
		}
		return records, nil
	}
}

func TestMain(m *testing.M) {
	task, ok := tasks[os.Getenv(taskVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := task(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process returns a process that does task in dir.
func process(t *testing.T, dir, task string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), taskVariable+"="+task), env...)
	cmd.Stderr = os.Stderr
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, s Store, id ID) *State {
	t.Helper()
	st, err := s.Load(id)
	must(t, err)
	return st
}

// records returns the trace of id, which must be whole.
func records(t testing.TB, s Store, id ID) []Record {
	t.Helper()
	var all []Record
	for r, err := range s.Records(id) {
		must(t, err)
		all = append(all, r)
	}
	st := load(t, s, id)
	if len(all) > 0 && all[len(all)-1].Seq != st.Calls || len(all) == 0 && st.Calls != 0 {
		t.Fatalf("%v: the trace of %d records does not end at call %d", id, len(all), st.Calls)
	}
	for i, r := range all {
		if r.Seq != all[0].Seq+uint64(i) {
			t.Fatalf("%v: record %d has the number %d", id, i, r.Seq)
		}
	}
	return all
}

var errInjected = errors.New("injected")
