package policy

import (
	"os"
	"testing"

	"gatehouse/gate/call"
	"gatehouse/internal/wire"
)

const benchLine = `cd src && git -C sub status --short; grep -rn "x y" . | head -5 && git commit -qm 'one' && timeout 60 go test ./...`

// BenchmarkMatch judges the calls of one line by the entries of the default gate, which are 84.
//
//	go test -bench Match -benchmem ./gate/policy
func BenchmarkMatch(b *testing.B) {
	p := defaultGate(b)
	list := calls(b, benchLine)
	b.Run("allowed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range list {
				if list[i].Argv[0] == "timeout" {
					continue
				}
				if e, why := p.Allowed(&list[i], Host{}); e == nil {
					b.Fatal(why)
				}
			}
		}
	})
	b.Run("denied", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range list {
				if e, m := p.Denied(&list[i], Host{}); m != No {
					b.Fatal(e.Text)
				}
			}
		}
	})
	b.Run("paths", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if p.Paths.Deny.Match("/home/u/p/gate/policy/match.go", place) != nil {
				b.Fatal("it is denied")
			}
		}
	})
}

// BenchmarkRead loads the compiled default gate.
func BenchmarkRead(b *testing.B) {
	var w wire.Writer
	defaultGate(b).Append(&w)
	data := string(w.Bytes())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(wire.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMatchingMakesNoGarbage holds the work before every command to what it must be.
func TestMatchingMakesNoGarbage(t *testing.T) {
	p := defaultGate(t)
	list := calls(t, benchLine)
	for i := range list {
		c := &list[i]
		if n := testing.AllocsPerRun(20, func() { p.Denied(c, Host{}); covered(p, c) }); n > 0 {
			t.Errorf("%q: %v allocations", c.Argv, n)
		}
	}
}

func covered(p *Policy, c *call.Call) {
	if c.Argv[0] != "timeout" { // a reason is made of words
		p.Allowed(c, Host{})
	}
}

func defaultGate(t testing.TB) *Policy {
	t.Helper()
	data, err := os.ReadFile("../../vendor-gate/default/files/policy/gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}
