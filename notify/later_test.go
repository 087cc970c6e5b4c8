package notify

import (
	"context"
	"testing"
	"time"
)

// kept is a sink that keeps what it is sent.
type kept struct{ got []Notice }

func (*kept) Name() string { return "kept" }

func (k *kept) Send(_ context.Context, m Message) error {
	k.got = append(k.got, m.Notices...)
	return nil
}

func TestASinkThatAnotherProcessServesIsToldWhatOpenedAndEndedMeanwhile(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	pass := &Outbox{Dir: dir, Host: "here", Later: []string{"kept"}}
	sink := new(kept)
	sender := &Outbox{Dir: dir, Host: "here", Sinks: []Sink{sink}}
	deliver := func(o *Outbox) {
		t.Helper()
		if _, err := o.Deliver(t.Context(), time.Now, func(string) bool { return false }); err != nil {
			t.Fatal(err)
		}
	}
	if err := pass.Report(Event{Kind: "drift", Gate: "g", Subject: "live", Summary: "differs"}, now); err != nil {
		t.Fatal(err)
	}
	deliver(pass)
	if err := pass.Clear("drift", "g", "live", "over", now); err != nil {
		t.Fatal(err)
	}
	deliver(pass) // would prune what nobody is owed
	deliver(sender)
	deliver(sender)
	if len(sink.got) != 1 || sink.got[0].State != Closed || !sink.got[0].Unannounced {
		t.Errorf("got %+v", sink.got)
	}
}
