package rules

import (
	"errors"
	"fmt"
	"strconv"

	"gatehouse/internal/wire"
)

// Read returns the set that Append wrote. The rules in it are decoded when they are needed.
func Read(r *wire.Reader) (*Set, error) {
	s := &Set{compiled: r.Text()}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("compiled rules: %w", err)
	}
	return s.read(wire.NewReader(s.compiled))
}

func (s *Set) read(r *wire.Reader) (*Set, error) {
	r.Raw(magic)
	s.settings.read(r)
	s.slots = make([]slot, r.Len())
	for i := range s.slots {
		s.slots[i].data = r.Text()
	}
	s.names, s.wide = readEntries(r, len(s.slots)), readEntries(r, len(s.slots))
	s.every = readPacked(r, len(s.slots))
	if n := r.Len(); n > 0 {
		s.formulas = make([]formula, n)
		for i := range s.formulas {
			s.formulas[i] = formula{number64(r, len(s.slots)), r.Text(), Scope(number64(r, int(Project)+1)), r.Bool()}
		}
	}
	s.stops = r.Bool()
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("compiled rules: %w", err)
	}
	return s, nil
}

func readEntries(r *wire.Reader, limit int) []entry {
	entries := make([]entry, r.Len())
	for i := range entries {
		entries[i] = entry{r.Text(), readPacked(r, limit)}
	}
	return entries
}

// readPacked takes numbers below limit, which stay as they are written.
func readPacked(r *wire.Reader, limit int) string {
	packed := r.Text()
	for at := 0; at < len(packed); {
		n, size := unpack(packed[at:])
		if size == 0 || n >= limit {
			r.Fail(errors.New("a number of a rule that there is not"))
			return ""
		}
		at += size
	}
	return packed
}

// unpack takes the first number of those that pack wrote; size is 0 where there is none.
func unpack(packed string) (n, size int) {
	for i := 0; i < len(packed) && i < 4; i++ {
		n |= int(packed[i]&0x7f) << (7 * i)
		if packed[i] < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}

// number64 takes a number below limit.
func number64(r *wire.Reader, limit int) int {
	n := r.Uint()
	if n >= uint64(limit) {
		if r.Err() == nil {
			r.Fail(fmt.Errorf("the number %d is beyond %d", n, limit))
		}
		return 0
	}
	return int(n)
}

func (s *settings) read(r *wire.Reader) {
	s.mode = Mode(number64(r, int(Log)+1))
	s.scope = Scope(number64(r, int(Project)+1))
	s.retries = number64(r, maxCount+1)
	s.consecutive = r.Bool()
	s.finishRetries = number64(r, maxCount+1)
	s.announce = r.Bool()
}

func readRule(data string) (*rule, error) {
	r := wire.NewReader(data)
	x := &rule{}
	x.ID = r.Text()
	x.key = r.Text()
	x.Kind = Kind(number64(r, int(LTL)+1))
	x.Mode = Mode(number64(r, int(Log)+1))
	x.Scope = Scope(number64(r, int(Project)+1))
	x.Why, x.Fix, x.At = r.Text(), r.Text(), r.Text()
	x.From, x.Library = r.Texts(), r.Text()
	x.first, x.then, x.since = readPattern(r), readPattern(r), readPattern(r)
	x.times = number64(r, maxCount+1)
	x.formula = r.Text()
	if x.Kind == 0 {
		r.Fail(errors.New("a rule of no kind"))
	}
	x.vars = x.then.vars()
	return x, r.Done()
}

func readPattern(r *wire.Reader) pattern {
	n := r.Len()
	if n == 0 {
		return nil
	}
	p := make(pattern, n)
	for i := range p {
		t := &p[i]
		t.tools = r.Texts()
		if n := r.Len(); n > 0 {
			t.with = make([]equals, n)
			for j := range t.with {
				t.with[j] = equals{arg: r.Text(), name: r.Text(), value: readValue(r, 0)}
			}
		}
		if n := r.Len(); n > 0 {
			t.where = make([]globs, n)
			for j := range t.where {
				t.where[j] = globs{r.Text(), r.Texts(), use(number64(r, int(writes)+1))}
			}
		}
		t.exists = wanted(number64(r, int(no)+1))
		t.succeeded = wanted(number64(r, int(no)+1))
		t.sure = r.Bool()
	}
	return p
}

func readValue(r *wire.Reader, depth int) any {
	switch kind := r.Uint(); kind {
	case valueNone:
		return nil
	case valueFalse, valueTrue:
		return kind == valueTrue
	case valueInt:
		return r.Int()
	case valueText:
		return r.Text()
	case valueFloat:
		f, err := strconv.ParseFloat(r.Text(), 64)
		if err != nil {
			r.Fail(err)
		}
		return f
	case valueList:
		if depth > 20 {
			r.Fail(errors.New("a value is nested too deep"))
			return nil
		}
		list := make([]any, r.Len())
		for i := range list {
			list[i] = readValue(r, depth+1)
		}
		return list
	default:
		r.Fail(fmt.Errorf("no kind of value has the number %d", kind))
		return nil
	}
}
