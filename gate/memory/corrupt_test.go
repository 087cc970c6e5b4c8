package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/wire"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// In each case the memory is an error that says how to go on, never an empty one, and nothing is written over it.
func TestAMemoryThatCannotBeUnderstoodIsAnError(t *testing.T) {
	rewrite := func(edit func([]byte) []byte) func(string) error {
		return func(name string) error {
			data, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name, edit(data), 0o600))
		}
	}
	reseal := func(edit func(string) string) func(string) error {
		return func(name string) error {
			data, err := readSealed(name)
			return errors.Join(err, os.WriteFile(name, seal(edit(data)), 0o600))
		}
	}
	instead := func(make func(name string) error) func(string) error {
		return func(name string) error { return errors.Join(os.Remove(name), make(name)) }
	}
	for what, damage := range map[string]func(name string) error{
		"empty":           rewrite(func([]byte) []byte { return nil }),
		"cut short":       rewrite(func(b []byte) []byte { return b[:len(b)-1] }),
		"only a checksum": rewrite(func(b []byte) []byte { return b[:len(sealPrefix)+65] }),
		"zeros":           rewrite(func(b []byte) []byte { return make([]byte, len(b)) }),
		"a bit":           rewrite(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
		"more":            rewrite(func(b []byte) []byte { return append(b, 'x') }),
		"another version": reseal(func(s string) string { return strings.Replace(s, "memory 1", "memory 2", 1) }),
		"another session": reseal(func(s string) string { return strings.Replace(s, "\x02s1", "\x02s2", 1) }),
		"a pipe":          instead(func(name string) error { return unix.Mkfifo(name, 0o600) }),
		"a directory":     instead(func(name string) error { return os.Mkdir(name, 0o700) }),
		"a link":          instead(func(name string) error { return os.Symlink("/dev/zero", name) }),
	} {
		s := Store{Dir: t.TempDir()}
		must(t, s.Update(t.Context(), both, line("a")))
		must(t, damage(s.file(session)))
		for how, err := range map[string]error{
			"load": func() error { _, err := s.Load(both); return err }(),
			"update": s.Update(t.Context(), both, func([]*State) error {
				t.Errorf("%s: the change was made", what)
				return nil
			}),
		} {
			if err == nil || !strings.Contains(err.Error(), s.file(session)) || !strings.Contains(err.Error(), "removing "+s.dir(session)) {
				t.Errorf("%s: %s: got %v", what, how, err)
			}
			if what != "a link" && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %s: %v is not ErrCorrupt", what, how, err)
			}
		}
		if count(t, s, project) != 1 {
			t.Errorf("%s: the project suffers", what)
		}
		must(t, os.RemoveAll(s.dir(session))) // as the error says
		must(t, s.Update(t.Context(), both, line("a")))
		if count(t, s, session) != 1 {
			t.Errorf("%s: the memory cannot be started anew", what)
		}
	}
}

// TestALinkThatLeadsNowhereIsNoMemoryThatIsEmpty puts one where everything that is told would be lost.
func TestALinkThatLeadsNowhereIsNoMemoryThatIsEmpty(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	load(t, s, session) // nothing is there at all
	for _, name := range []string{s.dir(session), filepath.Dir(s.dir(session)), filepath.Join(s.Dir, "joint"), s.Dir} {
		must(t, s.Update(t.Context(), both, line("a")))
		must(t, errors.Join(os.RemoveAll(name), os.Symlink("nowhere", name)))
		if st, err := s.Load([]ID{session}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, %v", name, st, err)
		}
		must(t, os.Remove(name))
	}
}

func TestNobodyWaitsForAPipe(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, unix.Mkfifo(filepath.Join(s.Dir, "joint"), 0o600))
	failed := make(chan error, 1)
	go func() { _, err := s.Load([]ID{session}); failed <- err }()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("what is under way cannot be read, and nothing is said")
		}
	case <-time.After(time.Minute):
		t.Error("it waits")
	}
}

func TestAChangeThatCannotBeUnderstoodIsAnError(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a")))
	joint := s.jointFile([]part{{id: session}, {id: project}})
	must(t, os.WriteFile(joint, []byte("torn"), 0o600))
	_, err := s.Load([]ID{session})
	for how, err := range map[string]error{"load": err, "update": s.Update(t.Context(), both, line("b"))} {
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), joint) {
			t.Errorf("%s: got %v", how, err)
		}
	}
	must(t, s.Update(t.Context(), []ID{Session("s2")}, line("b"))) // whom it does not concern
	must(t, os.Remove(joint))                                      // as the error says
	must(t, s.Update(t.Context(), both, line("b")))
}

// earlier is the state of a session as an earlier version wrote it, with calls and the names of files of older ones.
func earlier(version uint64) []byte {
	var w wire.Writer
	w.Raw("gatehouse memory 1\n")
	w.Text("sessions")
	w.Text("s1")
	w.Uint(version)
	w.Uint(3) // calls
	encodeMap(&w, map[string][]byte{"lines": []byte("old\n")})
	w.Text("") // stopped
	w.Int(0)
	encodeMap(&w, nil)
	w.Uint(1)
	for _, n := range []uint64{1, 2, 16} { // a file: its first call, how many there are, its size
		w.Uint(n)
	}
	w.Uint(1)
	w.Text(`{"seq":3,"index":0,"name":"ls","args":{},"parsed":true,"known":"ran"}` + "\n")
	return seal(string(w.Bytes()))
}

func TestTheMemoryOfAnEarlierVersionGoesOnWithoutItsCalls(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, os.MkdirAll(s.dir(session), 0o700))
	must(t, os.WriteFile(s.file(session), earlier(sweepEvery-2), 0o600))
	for _, name := range []string{"000000000001", ".tmp-1"} {
		must(t, os.WriteFile(filepath.Join(s.dir(session), name), []byte("x"), 0o600))
	}
	if count(t, s, session) != 1 {
		t.Error("it is not read")
	}
	for range 2 { // the second one sweeps
		must(t, s.Update(t.Context(), []ID{session}, line("new")))
	}
	data, err := os.ReadFile(s.file(session))
	must(t, err)
	if diff := cmp.Diff([]string{"old", "new", "new"}, lines(t, s, session)); diff != "" || strings.Contains(string(data), "seq") {
		t.Errorf("%s\n%s", diff, data)
	}
	entries, err := os.ReadDir(s.dir(session))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
}

func FuzzDecode(f *testing.F) {
	st := newState()
	st.Rules["a"] = []byte("b")
	f.Add(string(st.encode(session)))
	f.Add(encodeJoint([]part{{session, 1, string(st.encode(session))}, {project, 1, ""}}))
	old := string(earlier(1))
	f.Add(old[strings.Index(old, "gatehouse"):])
	f.Fuzz(func(t *testing.T, data string) {
		if st, err := decodeState(session, data); err == nil && string(st.encode(session)) != data {
			if _, err := decodeState(session, string(st.encode(session))); err != nil {
				t.Error(err)
			}
		}
		decodeJoint(data)
	})
}
