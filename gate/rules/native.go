package rules

import (
	"errors"
	"strings"

	"gatehouse/gate/ltl"
	"gatehouse/internal/wire"
)

// A machine is what one rule remembers, and how a call changes that.
type machine interface {
	// step takes the next call into account and says what is wrong with it.
	step(e *Event, env *Surroundings) (finding, error)
	// save returns the memory; nil where there is nothing to remember.
	save() ([]byte, error)
	// owed reports whether the end of the turn breaks the rule, and whether that rests on something that is not known.
	owed() (broken, maybe bool)
}

// A finding is what a rule says of one call.
type finding struct {
	broken bool
	maybe  bool // it would not be broken if what is not known were as it is best
	detail string
}

var errMemory = errors.New("not what the rule remembers")

// load returns the machine of r that save wrote down; data is nil where nothing is remembered.
func (r *rule) load(data []byte) (machine, error) {
	switch r.Kind {
	case Never, Require:
		return &stateless{r}, nil
	case AtMost:
		m := &counter{r: r}
		return m, m.load(data)
	case Before:
		if len(r.vars) > 0 {
			m := &seen{r: r}
			return m, m.load(data)
		}
		m := &since{r: r}
		return m, loadBits(data, &m.worst, &m.best)
	case Finally:
		m := &owing{r: r}
		if data == nil {
			m.worst, m.best = r.since == nil, r.since == nil
			return m, nil
		}
		return m, loadBits(data, &m.worst, &m.best)
	default:
		return r.loadFormula(data)
	}
}

// stateless are never and require, which look at one call only.
type stateless struct{ r *rule }

func (m *stateless) step(e *Event, env *Surroundings) (finding, error) {
	if m.r.Kind == Never {
		match := m.r.first.match(e, env)
		return finding{broken: match != ltl.No, maybe: match == ltl.Maybe}, nil
	}
	ran := e.certain()
	if m.r.first.tool(ran) == ltl.No {
		return finding{}, nil
	}
	match := m.r.first.match(ran, env)
	return finding{broken: match != ltl.Yes, maybe: match == ltl.Maybe || e.Doubt && match != ltl.Yes}, nil
}

func (m *stateless) save() ([]byte, error) { return nil, nil }

func (m *stateless) owed() (broken, maybe bool) { return false, false }

// A counter is at_most: how many calls there were. worst counts those that may have been one.
type counter struct {
	r           *rule
	worst, best int
}

func (m *counter) step(e *Event, env *Surroundings) (finding, error) {
	match := m.r.first.match(e, env)
	if match == ltl.No {
		return finding{}, nil
	}
	f := finding{broken: m.worst >= m.r.times}
	f.maybe = f.broken && (match == ltl.Maybe || m.best < m.r.times)
	m.worst = min(m.worst+1, maxCount)
	if match == ltl.Yes {
		m.best = min(m.best+1, maxCount)
	}
	return f, nil
}

func (m *counter) load(data []byte) error {
	if data == nil {
		return nil
	}
	r := wire.NewReader(string(data))
	m.worst, m.best = number64(r, maxCount+1), number64(r, maxCount+1)
	return r.Done()
}

func (m *counter) save() ([]byte, error) {
	var w wire.Writer
	w.Uint(uint64(m.worst))
	w.Uint(uint64(m.best))
	return w.Bytes(), nil
}

func (m *counter) owed() (broken, maybe bool) { return false, false }

// A since is before without variables: whether the first call is done, and no later call undid it. worst takes each
// maybe as it is worst for the rule, best as it is best.
type since struct {
	r           *rule
	worst, best bool
}

func (m *since) step(e *Event, env *Surroundings) (finding, error) {
	var f finding
	if then := m.r.then.match(e, env); then != ltl.No && !m.worst {
		f = finding{broken: true, maybe: then == ltl.Maybe || m.best}
	}
	ran := e.certain()
	first, again := m.r.first.match(ran, env), m.r.since.match(ran, env)
	was := *m
	m.worst = first == ltl.Yes || m.worst && again == ltl.No
	m.best = first != ltl.No || m.best && again != ltl.Yes
	if e.Doubt {
		m.worst, m.best = m.worst && was.worst, m.best || was.best
	}
	return f, nil
}

func (m *since) save() ([]byte, error) { return saveBits(m.worst, m.best), nil }

func (m *since) owed() (broken, maybe bool) { return false, false }

// An owing is finally: whether the call is still owed.
type owing struct {
	r           *rule
	worst, best bool
}

func (m *owing) step(e *Event, env *Surroundings) (finding, error) {
	ran := e.certain()
	done, again := m.r.first.match(ran, env), m.r.since.match(ran, env)
	was := *m
	m.worst = done != ltl.Yes && (m.worst || again != ltl.No)
	m.best = done == ltl.No && (m.best || again == ltl.Yes)
	if e.Doubt {
		m.worst, m.best = m.worst || was.worst, m.best && was.best
	}
	return finding{}, nil
}

func (m *owing) save() ([]byte, error) { return saveBits(m.worst, m.best), nil }

func (m *owing) owed() (broken, maybe bool) { return m.worst, m.worst && !m.best }

func saveBits(worst, best bool) []byte {
	b := byte(0)
	if worst {
		b |= 1
	}
	if best {
		b |= 2
	}
	return []byte{b}
}

func loadBits(data []byte, worst, best *bool) error {
	if data == nil {
		return nil
	}
	if len(data) != 1 || data[0] > 3 {
		return errMemory
	}
	*worst, *best = data[0]&1 != 0, data[0]&2 != 0
	return nil
}

// maxSeen is how many values a rule remembers. The oldest are forgotten, and then have to be seen again.
const maxSeen = 4096

// A seen is before with variables: for which values the first call is done.
type seen struct {
	r     *rule
	sure  string // keys, the oldest first
	maybe string // keys of calls that may have been the first one, or may not have run
	any   bool   // there was such a call with values that nobody could name
}

func (m *seen) step(e *Event, env *Surroundings) (finding, error) {
	var f finding
	then := m.r.then.bind(e, env, m.r.vars)
	for _, key := range then.sure {
		if !hasSeen(m.sure, key) {
			f.broken = true
			if !m.any && !hasSeen(m.maybe, key) {
				f = finding{broken: true}
				return f, m.remember(e, env)
			}
			f.maybe = true
		}
	}
	if !f.broken {
		for _, key := range then.maybe {
			if !hasSeen(m.sure, key) {
				f = finding{broken: true, maybe: true}
			}
		}
		if then.any {
			f = finding{broken: true, maybe: true}
		}
	}
	return f, m.remember(e, env)
}

func (m *seen) remember(e *Event, env *Surroundings) error {
	first := m.r.first.bind(e, env, m.r.vars)
	for _, key := range first.sure {
		m.sure = addSeen(m.sure, key)
	}
	for _, key := range first.maybe {
		m.maybe = addSeen(m.maybe, key)
	}
	m.any = m.any || first.any
	return nil
}

func hasSeen(keys, key string) bool { return indexSeen(keys, key) >= 0 }

func indexSeen(keys, key string) int {
	for at := 0; ; {
		i := strings.Index(keys[at:], key)
		if i < 0 {
			return -1
		}
		if at += i; at%keySize == 0 {
			return at
		}
		at++
	}
}

// addSeen puts a key at the end, where the youngest are.
func addSeen(keys, key string) string {
	if i := indexSeen(keys, key); i >= 0 {
		return keys[:i] + keys[i+keySize:] + key
	}
	if len(keys) >= maxSeen*keySize {
		keys = keys[keySize:]
	}
	return keys + key
}

func (m *seen) load(data []byte) error {
	if data == nil {
		return nil
	}
	r := wire.NewReader(string(data))
	m.sure, m.maybe, m.any = r.Text(), r.Text(), r.Bool()
	if len(m.sure)%keySize != 0 || len(m.maybe)%keySize != 0 || max(len(m.sure), len(m.maybe)) > maxSeen*keySize {
		r.Fail(errMemory)
	}
	return r.Done()
}

func (m *seen) save() ([]byte, error) {
	var w wire.Writer
	w.Text(m.sure)
	w.Text(m.maybe)
	w.Bool(m.any)
	return w.Bytes(), nil
}

func (m *seen) owed() (broken, maybe bool) { return false, false }
