package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	var w Writer
	w.Raw("magic\n")
	numbers := []uint64{0, 1, 127, 128, 1 << 40, math.MaxUint64}
	for _, n := range numbers {
		w.Uint(n)
	}
	signed := []int64{0, -1, 1, math.MinInt64, math.MaxInt64}
	for _, n := range signed {
		w.Int(n)
	}
	w.Bool(true)
	w.Bool(false)
	texts := []string{"", "a", strings.Repeat("x", 300), "\x00\xff"}
	w.Texts(texts)
	w.Texts(nil)

	r := NewReader(string(w.Bytes()))
	r.Raw("magic\n")
	for _, want := range numbers {
		if got := r.Uint(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	for _, want := range signed {
		if got := r.Int(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if !r.Bool() || r.Bool() {
		t.Error("the truths are mixed up")
	}
	if diff := cmp.Diff(texts, r.Texts()); diff != "" {
		t.Error(diff)
	}
	if got := r.Texts(); got != nil {
		t.Errorf("got %q, want none", got)
	}
	if err := r.Done(); err != nil {
		t.Error(err)
	}
}

func TestBrokenDataIsAnError(t *testing.T) {
	for name, read := range map[string]struct {
		data string
		read func(*Reader)
	}{
		"number cut short":      {"\x80", func(r *Reader) { r.Uint() }},
		"number too large":      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", func(r *Reader) { r.Uint() }},
		"no truth":              {"\x02", func(r *Reader) { r.Bool() }},
		"text cut short":        {"\x05abc", func(r *Reader) { r.Text() }},
		"a length that is huge": {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", func(r *Reader) { r.Texts() }},
		"another magic":         {"magic/v2", func(r *Reader) { r.Raw("magic/v1") }},
		"something left":        {"\x00\x00", func(r *Reader) { r.Uint() }},
	} {
		r := NewReader(read.data)
		read.read(r)
		if r.Done() == nil {
			t.Errorf("%s: no error", name)
		}
		if r.Uint() != 0 || r.Text() != "" || r.Texts() != nil {
			t.Errorf("%s: values after an error", name)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("\x03abc\x02\x01a\x01b")
	f.Fuzz(func(t *testing.T, data string) {
		r := NewReader(data)
		n := 0
		for r.Err() == nil && n < 1000 {
			r.Text()
			r.Texts()
			r.Int()
			n++
		}
	})
}
