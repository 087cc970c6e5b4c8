package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		"a gap":           reseal(func(s string) string { return strings.Replace(s, "\x02s1\x01\x02", "\x02s1\x01\x01", 1) }),
		"a pipe":          instead(func(name string) error { return unix.Mkfifo(name, 0o600) }),
		"a directory":     instead(func(name string) error { return os.Mkdir(name, 0o700) }),
		"a link":          instead(func(name string) error { return os.Symlink("/dev/zero", name) }),
	} {
		s := Store{Dir: t.TempDir()}
		must(t, s.Update(t.Context(), both, line("a", 2)))
		must(t, damage(s.file(session)))
		for how, err := range map[string]error{
			"load": func() error { _, err := s.Load(session); return err }(),
			"update": s.Update(t.Context(), both, func([]*State) ([]Record, error) {
				t.Errorf("%s: the change was made", what)
				return nil, nil
			}),
			"records": func() error {
				for _, err := range s.Records(session) {
					return err
				}
				return nil
			}(),
		} {
			if err == nil || !strings.Contains(err.Error(), s.file(session)) || !strings.Contains(err.Error(), "removing "+s.dir(session)) {
				t.Errorf("%s: %s: got %v", what, how, err)
			}
			if what != "a link" && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %s: %v is not ErrCorrupt", what, how, err)
			}
		}
		if load(t, s, project).Calls != 2 {
			t.Errorf("%s: the project suffers", what)
		}
		must(t, os.RemoveAll(s.dir(session))) // as the error says
		must(t, s.Update(t.Context(), both, line("a", 2)))
		if load(t, s, session).Calls != 2 {
			t.Errorf("%s: the memory cannot be started anew", what)
		}
	}
}

// TestALinkThatLeadsNowhereIsNoMemoryWithoutCalls puts one where everything that is told would be lost.
func TestALinkThatLeadsNowhereIsNoMemoryWithoutCalls(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "state")}
	load(t, s, session) // nothing is there at all
	for _, name := range []string{s.dir(session), filepath.Dir(s.dir(session)), filepath.Join(s.Dir, "joint"), s.Dir} {
		must(t, s.Update(t.Context(), both, line("a", 2)))
		must(t, errors.Join(os.RemoveAll(name), os.Symlink("nowhere", name)))
		if st, err := s.Load(session); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, %v", name, st, err)
		}
		must(t, os.Remove(name))
	}
}

func TestNobodyWaitsForAPipe(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, unix.Mkfifo(filepath.Join(s.Dir, "joint"), 0o600))
	failed := make(chan error, 1)
	go func() { _, err := s.Load(session); failed <- err }()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("what is under way cannot be read, and nothing is said")
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits")
	}
}

func TestAChangeThatCannotBeUnderstoodIsAnError(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), both, line("a", 2)))
	joint := s.jointFile([]part{{id: session}, {id: project}})
	must(t, os.WriteFile(joint, []byte("torn"), 0o600))
	_, err := s.Load(session)
	for how, err := range map[string]error{"load": err, "update": s.Update(t.Context(), both, line("b", 1))} {
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), joint) {
			t.Errorf("%s: got %v", how, err)
		}
	}
	must(t, s.Update(t.Context(), []ID{Session("s2")}, line("b", 1))) // whom it does not concern
	must(t, os.Remove(joint))                                         // as the error says
	must(t, s.Update(t.Context(), both, line("b", 1)))
}

func TestATornSegmentIsFoundAndDoesNotStopTheRest(t *testing.T) {
	for what, damage := range map[string]func(name string) error{
		"torn": func(name string) error { return os.Truncate(name, 100) },
		"gone": os.Remove,
		"edited": func(name string) error {
			data, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name, []byte(strings.Replace(string(data), `"seq":2,`, `"seq":9,`, 1)), 0o600))
		},
	} {
		s := Store{Dir: t.TempDir()}
		for len(load(t, s, session).kept.segments) == 0 {
			must(t, s.Update(t.Context(), []ID{session}, line("a", 20)))
		}
		g := load(t, s, session).kept.segments[0]
		must(t, damage(s.segmentFile(session, g)))
		var found error
		for _, err := range s.Records(session) {
			found = err
		}
		if !errors.Is(found, ErrCorrupt) || !strings.Contains(found.Error(), s.segmentFile(session, g)) {
			t.Errorf("%s: got %v", what, found)
		}
		must(t, s.Update(t.Context(), []ID{session}, line("b", 1)))
	}
}

func TestWhatBelongsToNobodyIsSweptAway(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	must(t, s.Update(t.Context(), []ID{session}, line("a", 1)))
	for _, name := range []string{"000000000999", ".tmp-1"} {
		must(t, os.WriteFile(filepath.Join(s.dir(session), name), []byte("x"), 0o600))
	}
	for len(load(t, s, session).kept.segments) == 0 {
		must(t, s.Update(t.Context(), []ID{session}, line("a", 20)))
	}
	entries, err := os.ReadDir(s.dir(session))
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("there are %v", entries)
	}
}

func FuzzDecode(f *testing.F) {
	st := newState()
	st.Rules["a"] = []byte("b")
	f.Add(string(st.encode(session)))
	f.Add(encodeJoint([]part{{session, 1, string(st.encode(session))}, {project, 1, ""}}))
	f.Add(`{"seq":1,"args":{"a":true,"b":["x"],"c":1},"index":0}`)
	f.Fuzz(func(t *testing.T, data string) {
		if st, err := decodeState(session, data); err == nil && string(st.encode(session)) != data {
			if _, err := decodeState(session, string(st.encode(session))); err != nil {
				t.Error(err)
			}
		}
		decodeJoint(data)
		decodeRecord([]byte(data), Record{})
	})
}
