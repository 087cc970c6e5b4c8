package exchange

import (
	"fmt"
	"testing"
	"time"
)

func TestHolder(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(host string, minute float64, lease time.Duration) Stored {
		return Stored{host, base.Add(time.Duration(minute * float64(time.Minute))), lease}
	}
	const m = time.Minute
	for _, c := range []struct {
		name   string
		claims []Stored
		minute float64 // now
		want   string  // who holds it, for a; "" for nobody
	}{
		{"nobody claimed", nil, 0, ""},
		{"another holds it", []Stored{at("b", 0, m)}, 0.5, "b"},
		{"its own", []Stored{at("a", 0, m)}, 0.5, "a"},
		{"the lease has ended", []Stored{at("b", 0, m)}, 1, ""},
		{"a lease is cut", []Stored{at("b", 0, 1000*time.Hour)}, 10, ""},
		{"until then it counts", []Stored{at("b", 0, 1000*time.Hour)}, 9.9, "b"},
		{"a negative lease is none", []Stored{at("b", 0, -m)}, 0, ""},
		{"the second does not count while the first holds", []Stored{at("b", 0, m), at("c", 0.5, 5*m)}, 0.7, "b"},
		{"nor afterwards", []Stored{at("b", 0, m), at("c", 0.5, 5*m)}, 1.5, ""},
		{"the next takes over", []Stored{at("b", 0, m), at("c", 1, m)}, 1.5, "c"},
		{"its own again, where nobody took over", []Stored{at("a", 0, m)}, 5, "a"},
		{"not where another holds it", []Stored{at("a", 0, m), at("b", 2, 10*m)}, 5, "b"},
		{"a time to come is forged", []Stored{at("b", 100, m)}, 1, ""},
		{"many hosts in a row delay it", []Stored{at("b", 0, 10*m), at("c", 10, 10*m), at("d", 20, 10*m)}, 25, "d"},
		{"for an hour", []Stored{at("b", 0, 10*m), at("c", 55, 10*m)}, 60, "c"},
		{"and no longer", []Stored{at("b", 0, 10*m), at("c", 55, 10*m)}, 60.1, "a"},
	} {
		now := base.Add(time.Duration(c.minute * float64(time.Minute)))
		got, held := Holder("x", c.claims, "a", now)
		if held != (c.want != "") || got.Holder != c.want || got.Mine != (c.want == "a") {
			t.Errorf("%s: %+v, %v; want %q", c.name, got, held, c.want)
		}
		if held && !now.Before(got.Until) {
			t.Errorf("%s: held until %v at %v", c.name, got.Until, now)
		}
	}
	if got, held := Holder("x", []Stored{at("b", 0, m)}, "a", base); !held || fmt.Sprint(got.Since, got.Until) != fmt.Sprint(base, base.Add(m)) {
		t.Errorf("%+v, %v", got, held)
	}
}
