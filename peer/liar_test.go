package peer

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/exchange"
)

// Whatever a host says of an alert, again and again, it delays it by a day and a little and no more.
func TestNoWordOfOneHostKeepsAnAlertFromBeingTold(t *testing.T) {
	for name, lie := range map[string]func(look int, alert string) []statement{
		"a higher round each time": func(look int, alert string) []statement {
			return []statement{{alert, Silent, "c", 1 + look, false}}
		},
		"the highest round there is": func(_ int, alert string) []statement {
			return []statement{{alert, Silent, "c", 1 << 20, false}}
		},
		"over, and not, and over": func(look int, alert string) []statement {
			return []statement{{alert, Silent, "c", 1, look%2 == 0}}
		},
		"over with a higher round each time": func(look int, alert string) []statement {
			return []statement{{alert, Silent, "c", 1 + look, true}}
		},
		"said, and taken back, and said": func(look int, alert string) []statement {
			if look%2 == 0 {
				return nil
			}
			return []statement{{alert, Silent, "c", 1, false}}
		},
		"one after another": func(look int, alert string) []statement {
			return []statement{{alert, Silent, "c", 1 + look/3, look%3 != 1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "a", "b", "c")
			f.run(2*time.Hour, inOrder(), nil)
			f.hosts["c"].dead = true
			f.hosts["a"].Shared = nil
			looks := 0
			f.run(33*time.Hour, inOrder(), func() {
				if r := f.hosts["b"].round; len(r.Findings) > 0 && r.Findings[0].Kind == Silent {
					looks++
					f.store.values[toldKey("a")] = told(t, "a", "a", lie(looks, r.Findings[0].Alert)...)
				}
			})
			if diff := cmp.Diff([]string{"open silent c by b"}, f.told.take()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// What b says of it itself is still taken for what it is.
			if _, err := parseTold("b", publicOf(keyOf("b")), f.store.values[toldKey("b")]); err != nil {
				t.Error(err)
			}
		})
	}
}

// Nobody takes the edge off an alert about itself by saying that it is about another.
// b told the first round and a the second; b, who is left, ends that one.
func TestWhoToldARoundCanEndALaterOne(t *testing.T) {
	a := &alert{Kind: Silent, Subject: "d"}
	say := func(host string, round int, over bool) word {
		return word{host, statement{Kind: Silent, Subject: "d", Round: round, Over: over}}
	}
	a.hear([]word{say("b", 1, false), say("a", 2, false)}, 0)
	if s := standingOf(a.believed()); s.over || s.round != 2 {
		t.Errorf("told twice: %+v", s)
	}
	a.hear([]word{say("b", 2, true), say("a", 2, false)}, 0)
	if s := standingOf(a.believed()); !s.over || s.round != 2 {
		t.Errorf("over: %+v", s)
	}
	a.hear([]word{say("b", 3, true), say("a", 2, false)}, 0)
	if s := standingOf(a.believed()); s.round != 2 {
		t.Errorf("a second end: %+v", s)
	}
}

func TestAHostDoesNotTellAnAlertAboutItself(t *testing.T) {
	for name, lie := range map[string]func(alert string) statement{
		"named as it is":     func(alert string) statement { return statement{alert, Silent, "c", 1, false} },
		"as one of another":  func(alert string) statement { return statement{alert, Silent, "a", 1, false} },
		"as one of a gate":   func(alert string) statement { return statement{alert, Split, "claude", 1, false} },
		"as another finding": func(alert string) statement { return statement{alert, Undelivered, "c", 1, false} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "a", "b", "c")
			f.run(2*time.Hour, inOrder(), nil)
			f.hosts["c"].dead = true // to the others; it still writes
			// It knows which alert there will be before there is one.
			alert := alertID(Silent, "c", FormatKey(publicOf(keyOf("c"))), f.hosts["c"].sequence)
			f.store.values[toldKey("c")] = told(t, "c", "c", lie(alert))
			f.run(5*time.Hour, inOrder(), nil)
			if _, foreseen := f.hosts["a"].round.Memory.Alerts[alert]; !foreseen {
				t.Fatal("the alert is another one")
			}
			if diff := cmp.Diff([]string{"open silent c by a"}, f.told.take()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// greedy is an exchange in which somebody else holds each claim for ever.
type greedy struct{ exchange.Exchange }

func (greedy) Claim(_ context.Context, id string, _ time.Duration) (exchange.Claim, error) {
	return exchange.Claim{ID: id, Holder: "a"}, nil
}

func TestClaimsThatDoNotEndDelayAnAlertByHours(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	f.run(2*time.Hour, inOrder(), nil)
	f.hosts["c"].dead = true
	f.hosts["a"].Shared = nil
	f.hosts["b"].Exchange = greedy{f.hosts["b"].Exchange}
	f.run(5*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"open silent c by b"}, f.told.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.hosts["c"].dead = false
	f.run(6*time.Hour, inOrder(), nil)
	if diff := cmp.Diff([]string{"closed silent c by b"}, f.told.take()); diff != "" {
		t.Errorf("the closing line (-want +got):\n%s", diff)
	}
}

// A host that leaves a great many words keeps nobody busy with them.
func TestOnlyOneDocumentOfEachHostIsRead(t *testing.T) {
	f := newFleet(t, "a", "b")
	f.store.values[exchange.Key{Kind: exchange.Told, Host: "a", Rest: "other"}] = []byte("x")
	var asked []exchange.Key
	f.hosts["b"].Exchange = asking{f.hosts["b"].Exchange, &asked}
	f.run(time.Hour, inOrder(), nil)
	for _, key := range asked {
		if key.Kind == exchange.Told && key.Rest != toldName {
			t.Fatalf("it lists %+v", key)
		}
	}
	if len(asked) == 0 {
		t.Error("it lists nothing")
	}
}

type asking struct {
	exchange.Exchange
	asked *[]exchange.Key
}

func (a asking) List(ctx context.Context, under exchange.Key) iter.Seq2[exchange.Entry, error] {
	*a.asked = append(*a.asked, under)
	return a.Exchange.List(ctx, under)
}
