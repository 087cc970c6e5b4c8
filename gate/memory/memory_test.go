package memory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sameState = cmp.Options{cmpopts.IgnoreUnexported(State{}), cmpopts.EquateEmpty()}

func TestWhatIsUpdatedIsLoaded(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	must(t, s.Update(t.Context(), both, func(states []*State) error {
		states[0].Rules["push#1"] = []byte{0, 1, 255}
		states[0].Stopped, states[0].Finish = "push", 2
		states[1].Extra["refusals"] = []byte("x")
		return nil
	}))
	want := []*State{
		{Rules: map[string][]byte{"push#1": {0, 1, 255}}, Stopped: "push", Finish: 2},
		{Extra: map[string][]byte{"refusals": []byte("x")}},
	}
	got, err := s.Load(both)
	must(t, err)
	if diff := cmp.Diff(want, got, sameState); diff != "" {
		t.Error(diff)
	}
}

func TestAMemoryThatWasNeverWrittenIsEmptyAndStaysSo(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	st := load(t, s, session)
	if len(st.Rules) != 0 || st.Rules == nil || st.Extra == nil {
		t.Errorf("got %+v", st)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("reading wrote: %v", err)
	}
}

func TestAChangeThatFailsOrChangesNothingWritesNothing(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a")))
	written := 0
	s.Disk.Around = func(step durable.Step, change func() error) error { written++; return change() }
	err := s.Update(t.Context(), both, func(states []*State) error {
		states[0].Stopped = "x"
		return errInjected
	})
	if err != errInjected {
		t.Errorf("got %v, want the error of the change", err)
	}
	must(t, s.Update(t.Context(), both, func(states []*State) error { return nil }))
	if written != 0 {
		t.Errorf("%d steps were made", written)
	}
	if st := load(t, s, session); st.Stopped != "" {
		t.Errorf("got %+v", st)
	}
}

func TestIdsBecomeFileNamesThatAreTheirsAlone(t *testing.T) {
	long := strings.Repeat("x", 101)
	ids := []ID{
		Session("s"), Session("S"), Session("s/1"), Session("s_1"), Session(".."), Session("."), Session(".s"), Session("=s"), Session("\x00"),
		Session("\xff"), Session("\xfe"), Session(" "), Session("a b"), Session("ü"), Session(long), Session(long + "x"), Session(long[:100]),
		Session(strings.Repeat("../", 50) + "etc/passwd"), Session(safe("s/1")), Session("sessions"), Session("state"),
		Project("/a"), Project("/a/b"), Project("/"),
	}
	seen := map[string]ID{}
	for _, id := range ids {
		place := id.kind + "/" + id.key
		if other, ok := seen[place]; ok {
			t.Errorf("%v and %v share %s", id, other, place)
		}
		seen[place] = id
		if !filepath.IsLocal(id.key) || filepath.Base(id.key) != id.key || len(id.key) > 100 || id.key[0] == '.' || strings.ContainsAny(id.key, "/\x00 \n") {
			t.Errorf("%v: %q is no good name", id, id.key)
		}
	}
	if Session("3f2a-Ab_9.x:@=") != (ID{"sessions", "3f2a-Ab_9.x:@=", "3f2a-Ab_9.x:@="}) {
		t.Error("a plain id is not kept as it is")
	}
	if Project("/a/") != Project("/a/b/..") {
		t.Error("one directory has two memories")
	}
	s := Store{Dir: t.TempDir()}
	for _, id := range ids {
		must(t, s.Update(t.Context(), []ID{id}, line("a")))
		if count(t, s, id) != 1 {
			t.Errorf("%v does not remember", id)
		}
	}
}

func TestNoNameIsAnError(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for name, ids := range map[string][]ID{
		"none": nil, "no session": {Session("")}, "a relative project": {session, Project("p")}, "twice": {session, session},
	} {
		err := s.Update(t.Context(), ids, func([]*State) error { t.Error("the change was made"); return nil })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := s.Load([]ID{Session("")}); err == nil {
		t.Error("what has no name was loaded")
	}
}

func TestWaitingForAnotherProcessHasAnEnd(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a")))
	entered, leave := make(chan bool), make(chan bool)
	done := make(chan error)
	go func() {
		done <- s.Update(context.Background(), both, func([]*State) error {
			entered <- true
			<-leave
			return nil
		})
	}()
	<-entered
	short := s
	short.Wait = time.Millisecond
	err := short.Update(t.Context(), []ID{project}, line("b"))
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), project.String()) {
		t.Errorf("got %v, want ErrLocked and the project's name", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Update(ctx, []ID{session}, line("b")); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	if n := count(t, s, session); n != 1 {
		t.Errorf("a reader has to wait, or sees %d lines", n)
	}
	close(leave)
	must(t, <-done)
}

func TestOthersMayNotWriteTheStateDirectory(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, os.Chmod(s.Dir, 0o770))
	if err := s.Update(t.Context(), both, line("a")); err == nil || !strings.Contains(err.Error(), "chmod go-w "+s.Dir) {
		t.Errorf("got %v", err)
	}
	must(t, os.Chmod(s.Dir, 0o755))
	must(t, s.Update(t.Context(), both, line("a")))
	info, err := os.Stat(s.dir(session))
	must(t, err)
	file, err := os.Stat(s.file(session))
	must(t, err)
	if info.Mode().Perm() != 0o700 || file.Mode().Perm() != 0o600 {
		t.Errorf("the modes are %v and %v", info.Mode(), file.Mode())
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: it gives a directory away")
	}
	must(t, os.Chown(s.Dir, 12345, -1))
	if err := s.Update(t.Context(), both, line("a")); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("got %v", err)
	}
}

func TestOldSessionsAreForgotten(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	names := []string{"old", "young", "old/with digest"}
	for _, name := range names {
		must(t, s.Update(t.Context(), []ID{Session(name), project}, line("a")))
	}
	now := time.Now()
	age := func(id ID) { must(t, os.Chtimes(s.file(id), now.Add(-48*time.Hour), now.Add(-48*time.Hour))) }
	age(Session("old"))
	age(Session("old/with digest"))
	age(project)
	temp := filepath.Join(s.Dir, "joint", ".tmp-1")
	must(t, os.WriteFile(temp, nil, 0o600))
	must(t, os.Chtimes(temp, now.Add(-48*time.Hour), now.Add(-48*time.Hour)))

	must(t, s.Expire(t.Context(), now.Add(-24*time.Hour)))
	for i, want := range []int{0, 1, 0} {
		if got := count(t, s, Session(names[i])); got != want {
			t.Errorf("%d lines of session %q are left, want %d", got, names[i], want)
		}
	}
	if count(t, s, project) != 3 {
		t.Error("the project is forgotten")
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("%s: %v", temp, err)
	}
}

func TestASessionInWhichNothingChangesIsInUseAllTheSame(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a")))
	now := time.Now()
	must(t, os.Chtimes(s.file(session), now.Add(-48*time.Hour), now.Add(-48*time.Hour)))
	must(t, s.Update(t.Context(), both, func([]*State) error { return nil }))
	must(t, s.Expire(t.Context(), now.Add(-24*time.Hour)))
	if count(t, s, session) != 1 {
		t.Error("it is forgotten")
	}
}

func TestOnlyWhatChangesIsWritten(t *testing.T) {
	var written []string
	s := Store{Dir: t.TempDir(), Disk: durable.Disk{Around: func(step durable.Step, change func() error) error {
		if step.Op != "mkdir" {
			written = append(written, step.Op+" "+filepath.Base(filepath.Dir(step.Name)))
		}
		return change()
	}}}
	must(t, s.Update(t.Context(), both, func(states []*State) error { return line("a")(states[:1]) }))
	if diff := cmp.Diff([]string{"write s1"}, written); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(s.dir(project)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", s.dir(project), err)
	}
}
