package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
)

func speaker(t testing.TB, s *store, host string) *Speaker {
	return &Speaker{Host: host, Key: keyOf(host), Exchange: door{store: s, host: host}, Dir: filepath.Join(t.TempDir(), host)}
}

func (s *store) sequence(t testing.TB, host string) uint64 {
	t.Helper()
	value, ok := s.values[exchange.Key{Kind: exchange.Beats, Host: host}]
	if !ok {
		return 0
	}
	h, err := ParseHeartbeat(host, publicOf(keyOf(host)), value)
	if err != nil {
		t.Fatal(err)
	}
	return h.Sequence
}

func TestSay(t *testing.T) {
	made := 0
	make := func() (Heartbeat, error) {
		made++
		return beatOf("", 99), nil
	}
	for name, run := range map[string]func(t *testing.T, s *store, a *Speaker){
		"nothing before the first pass": func(t *testing.T, s *store, a *Speaker) {
			if h, err := a.Say(t.Context(), "", make); h != nil || err != nil || made != 0 || s.sequence(t, "a") != 0 {
				t.Errorf("%v, %v", h, err)
			}
		},
		"once for each pass": func(t *testing.T, s *store, a *Speaker) {
			for n, of := range []string{"p1", "p1", "p2", "p2", "p2", "p3"} {
				h, err := a.Say(t.Context(), of, make)
				if err != nil || h.Sequence != s.sequence(t, "a") || h.Host != "a" {
					t.Errorf("%d: %v, %v", n, h, err)
				}
			}
			if made != 3 || s.sequence(t, "a") != 3 {
				t.Errorf("made %d; %d lies there", made, s.sequence(t, "a"))
			}
		},
		"an exchange that lost it gets it back": func(t *testing.T, s *store, a *Speaker) {
			say(t, a, "p1", make)
			clear(s.values)
			say(t, a, "p1", make)
			if made != 1 || s.sequence(t, "a") != 1 {
				t.Errorf("made %d; %d lies there", made, s.sequence(t, "a"))
			}
		},
		"what somebody else put there is replaced": func(t *testing.T, s *store, a *Speaker) {
			say(t, a, "p1", make)
			s.values[exchange.Key{Kind: exchange.Beats, Host: "a"}] = sealed(t, beatOf("a", 500), "b")
			say(t, a, "p1", make)
			if s.sequence(t, "a") != 1 {
				t.Errorf("%d lies there", s.sequence(t, "a"))
			}
		},
		"a state that was lost goes on after what lies there": func(t *testing.T, s *store, a *Speaker) {
			s.values[exchange.Key{Kind: exchange.Beats, Host: "a"}] = sealed(t, beatOf("a", 500), "a")
			say(t, a, "p1", make)
			if s.sequence(t, "a") != 501 {
				t.Errorf("%d lies there", s.sequence(t, "a"))
			}
		},
		"a state that was put back is said, and the next goes on after both": func(t *testing.T, s *store, a *Speaker) {
			say(t, a, "p1", make)
			s.values[exchange.Key{Kind: exchange.Beats, Host: "a"}] = sealed(t, beatOf("a", 500), "a")
			if _, err := a.Say(t.Context(), "p1", make); err == nil {
				t.Error("not said")
			}
			s.values[exchange.Key{Kind: exchange.Beats, Host: "a"}] = sealed(t, beatOf("a", 500), "a")
			say(t, a, "p2", make)
			if s.sequence(t, "a") != 501 {
				t.Errorf("%d lies there", s.sequence(t, "a"))
			}
		},
		"a state that is broken": func(t *testing.T, s *store, a *Speaker) {
			say(t, a, "p1", make)
			if err := os.WriteFile(spokenFile(a.Dir), []byte("\x00"), 0o600); err != nil {
				t.Fatal(err)
			}
			say(t, a, "p2", make)
			if s.sequence(t, "a") != 2 {
				t.Errorf("%d lies there", s.sequence(t, "a"))
			}
		},
		"no exchange and no state: no number is guessed": func(t *testing.T, s *store, a *Speaker) {
			a.Exchange = door{s, "a", func() error { return exchange.ErrUnavailable }}
			if h, err := a.Say(t.Context(), "p1", make); h != nil || !errors.Is(err, exchange.ErrUnavailable) || made != 0 {
				t.Errorf("%v, %v", h, err)
			}
		},
		"no exchange for a while: the newest comes when it is back": func(t *testing.T, s *store, a *Speaker) {
			say(t, a, "p1", make)
			reach := a.Exchange
			a.Exchange = door{s, "a", func() error { return exchange.ErrUnavailable }}
			for _, of := range []string{"p2", "p3"} {
				if h, err := a.Say(t.Context(), of, make); h == nil || !errors.Is(err, exchange.ErrUnavailable) {
					t.Errorf("%v, %v", h, err)
				}
			}
			a.Exchange = reach
			say(t, a, "p3", make)
			if made != 3 || s.sequence(t, "a") != 3 {
				t.Errorf("made %d; %d lies there", made, s.sequence(t, "a"))
			}
			if h, err := Last(a.Dir); err != nil || h.Sequence != 3 {
				t.Errorf("%v, %v", h, err)
			}
		},
	} {
		made = 0
		t.Run(name, func(t *testing.T) {
			s := newStore(time.Now)
			run(t, s, speaker(t, s, "a"))
		})
	}
}

func say(t *testing.T, a *Speaker, of string, make func() (Heartbeat, error)) {
	t.Helper()
	if _, err := a.Say(t.Context(), of, make); err != nil {
		t.Error(err)
	}
}

// Wherever the process dies, no reader ever sees an older heartbeat after a newer one, or two with one number.
func TestNoNumberIsUsedTwiceWhereverTheProcessDies(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := ramDir(t)
		defer os.RemoveAll(dir)
		s := newStore(time.Now)
		r := newReader(t, "a")
		die := -1
		at := func() error {
			if die--; die == 0 {
				panic(errDied)
			}
			return nil
		}
		a := &Speaker{Host: "a", Key: keyOf("a"), Dir: dir, Exchange: door{s, "a", at}}
		a.Disk = durable.Disk{Around: func(_ durable.Step, change func() error) error {
			return errors.Join(at(), change(), at())
		}}
		for n := range rapid.IntRange(1, 12).Draw(rt, "passes") {
			die = rapid.IntRange(0, 12).Draw(rt, "dies at")
			func() {
				defer func() { _ = recover() }()
				_, err := a.Say(context.Background(), fmt.Sprint("p", n), func() (Heartbeat, error) {
					return beatOf("a", 1, func(h *Heartbeat) { h.At += int64(n) }), nil
				})
				if err != nil {
					rt.Fatal(err)
				}
			}()
			if value, ok := s.values[exchange.Key{Kind: exchange.Beats, Host: "a"}]; ok {
				r.beats["a"] = observed{Value: value}
			}
			if got := r.look(time.Minute, nil); got != "" {
				rt.Fatalf("after pass %d: %s: %s", n, got, r.findings[0].Reason)
			}
		}
	})
}
