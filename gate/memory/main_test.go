package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
)

// die ends the process as a power cut does: nothing is put in order.
func die() { unix.Kill(os.Getpid(), unix.SIGKILL); select {} }

var tasks = map[string]func() error{
	"one line": func() error {
		s := Store{Dir: ".", Wait: 2 * time.Minute}
		return s.Update(context.Background(), both, line(os.Getenv(nameVariable)))
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
			if err := s.Update(context.Background(), both, line(fmt.Sprint("line ", i))); err != nil {
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
	return s.Update(context.Background(), both, line("new"))
}

// line is a change that adds a line to the state of a rule.
func line(text string) func([]*State) error {
	return func(states []*State) error {
		for _, st := range states {
			st.Rules["lines"] = fmt.Appendln(st.Rules["lines"], text)
		}
		return nil
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
	states, err := s.Load([]ID{id})
	must(t, err)
	return states[0]
}

// lines returns what line added to the memory of id.
func lines(t testing.TB, s Store, id ID) []string {
	t.Helper()
	return strings.Split(string(load(t, s, id).Rules["lines"]), "\n")[:count(t, s, id)]
}

func count(t testing.TB, s Store, id ID) int {
	t.Helper()
	return strings.Count(string(load(t, s, id).Rules["lines"]), "\n")
}

var errInjected = errors.New("injected")
