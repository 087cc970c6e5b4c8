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
	status := 3
	kept := []Record{
		{
			Time: day, Session: "s1", Client: "claude-code", Cwd: "/src/p", Line: "git push -f && ls", Name: "git_push", Parsed: true,
			Args:   []Arg{{"force", true}, {"remote", "origin"}, {"depth", 3}, {"refspecs", []string{"a", "b"}}, {"none", []string{}}},
			Status: &status, Known: Ran, Unknown: []string{"remote"},
		},
		{Time: day, Session: "s1", Line: "git push -f && ls", Index: 1, Name: "ls", Known: MaybeRan},
		{Time: day, Session: "s1", Line: "", Name: "Edit", Args: []Arg{{"file_path", "/a\n\"b\" <ü>"}}, Known: DidNotRun},
	}
	must(t, s.Update(t.Context(), both, func(states []*State) ([]Record, error) {
		states[0].Rules["push#1"] = []byte{0, 1, 255}
		states[0].Stopped, states[0].Finish = "push", 2
		states[1].Extra["refusals"] = []byte("x")
		return kept, nil
	}))
	want := []*State{
		{Calls: 3, Rules: map[string][]byte{"push#1": {0, 1, 255}}, Stopped: "push", Finish: 2},
		{Calls: 3, Extra: map[string][]byte{"refusals": []byte("x")}},
	}
	for i, id := range both {
		if diff := cmp.Diff(want[i], load(t, s, id), sameState); diff != "" {
			t.Errorf("%v: %s", id, diff)
		}
		wanted := append([]Record(nil), kept...)
		for i := range wanted {
			wanted[i].Seq = uint64(i) + 1
		}
		if diff := cmp.Diff(wanted, records(t, s, id), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v: %s", id, diff)
		}
	}
}

func TestAMemoryThatWasNeverWrittenIsEmptyAndStaysSo(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	st := load(t, s, session)
	if st.Calls != 0 || st.Rules == nil || st.Extra == nil {
		t.Errorf("got %+v", st)
	}
	if len(records(t, s, session)) != 0 {
		t.Error("there are records")
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("reading wrote: %v", err)
	}
}

func TestAChangeThatFailsOrChangesNothingWritesNothing(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a", 2)))
	written := 0
	s.Disk.Around = func(step durable.Step, change func() error) error { written++; return change() }
	err := s.Update(t.Context(), both, func(states []*State) ([]Record, error) {
		states[0].Stopped = "x"
		return []Record{{Name: "ls"}}, errInjected
	})
	if err != errInjected {
		t.Errorf("got %v, want the error of the change", err)
	}
	must(t, s.Update(t.Context(), both, func(states []*State) ([]Record, error) { return nil, nil }))
	if written != 0 {
		t.Errorf("%d steps were made", written)
	}
	if st := load(t, s, session); st.Calls != 2 || st.Stopped != "" {
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
		must(t, s.Update(t.Context(), []ID{id}, line("a", 1)))
		if load(t, s, id).Calls != 1 {
			t.Errorf("%v does not remember", id)
		}
	}
}

func TestNoNameIsAnError(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for name, ids := range map[string][]ID{
		"none": nil, "no session": {Session("")}, "a relative project": {session, Project("p")}, "twice": {session, session},
	} {
		err := s.Update(t.Context(), ids, func([]*State) ([]Record, error) { t.Error("the change was made"); return nil, nil })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := s.Load(Session("")); err == nil {
		t.Error("what has no name was loaded")
	}
}

func TestWaitingForAnotherProcessHasAnEnd(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a", 1)))
	entered, leave := make(chan bool), make(chan bool)
	done := make(chan error)
	go func() {
		done <- s.Update(context.Background(), both, func([]*State) ([]Record, error) {
			entered <- true
			<-leave
			return nil, nil
		})
	}()
	<-entered
	short := s
	short.Wait = time.Millisecond
	err := short.Update(t.Context(), []ID{project}, line("b", 1))
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), project.String()) {
		t.Errorf("got %v, want ErrLocked and the project's name", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Update(ctx, []ID{session}, line("b", 1)); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	if st := load(t, s, session); st.Calls != 1 {
		t.Errorf("a reader has to wait, or sees %d calls", st.Calls)
	}
	close(leave)
	must(t, <-done)
}

func TestOthersMayNotWriteTheStateDirectory(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, os.Chmod(s.Dir, 0o770))
	if err := s.Update(t.Context(), both, line("a", 1)); err == nil || !strings.Contains(err.Error(), "chmod go-w "+s.Dir) {
		t.Errorf("got %v", err)
	}
	must(t, os.Chmod(s.Dir, 0o755))
	must(t, s.Update(t.Context(), both, line("a", 1)))
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
	if err := s.Update(t.Context(), both, line("a", 1)); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("got %v", err)
	}
}

func TestOldSessionsAreForgotten(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	names := []string{"old", "young", "old/with digest"}
	for _, name := range names {
		must(t, s.Update(t.Context(), []ID{Session(name), project}, line("a", 1)))
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
	for i, want := range []uint64{0, 1, 0} {
		if got := load(t, s, Session(names[i])).Calls; got != want {
			t.Errorf("%d calls of session %q are left, want %d", got, names[i], want)
		}
	}
	if len(records(t, s, project)) != 3 {
		t.Error("the project is forgotten")
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("%s: %v", temp, err)
	}
}
