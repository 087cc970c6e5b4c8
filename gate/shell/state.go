package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// A state is what is known of the shell at one point of the walk. It is copied freely: everything it points to is
// never changed, only replaced.
type state struct {
	vars  *binding
	funcs *function
	dir   *places
	args  *params    // $0, $1 …; nil: unknown
	execs []Redirect // made by exec, so in force from here on
	ifs   ifsState
	flags flags
}

type flags uint16

const (
	errexit    flags = 1 << iota // set -e: any command may be the last
	maybeGone                    // the shell may have exited before this point
	maybeLeft                    // the loop or function may have been left before this point
	gone                         // no path leads here: the shell has exited
	left                         // no path leads here: the loop or function has been left
	never                        // no path leads here: false && …
	posixMode                    // aliases are expanded
	allExport                    // set -a
	extGlob                      // shopt -s extglob
	childPosix                   // the shell that is started has posixMode
	envUnknown                   // Options do not speak of this shell's environment
	sourced                      // a file was read that may have changed what names of commands mean
)

const dead = gone | left | never

func (s *state) dead() bool { return s.flags&dead != 0 }

// conditional reports whether a command may not be reached from where s is.
func (s *state) conditional() bool { return s.flags&(dead|maybeGone|maybeLeft) != 0 }

func (s state) with(f flags) state {
	s.flags |= f
	return s
}

// An ifsState says how unquoted expansions are split.
type ifsState uint8

const (
	ifsDefault ifsState = iota // blanks and newlines
	ifsKnown                   // by the characters of the variable IFS
	ifsUnknown
)

// A binding is a variable's value from some assignment on; the newest comes first.
type binding struct {
	name   string
	val    Word   // of an array, that of its element 0
	array  []Word // elements in order; only if isArray
	kind   varKind
	unset  tri // whether the variable is without a value
	export tri
	isList bool // array is set
	frozen bool // value is transformed or evaluated on assignment (declare -i, -u): nothing is kept of it
	next   *binding
	length int
}

type varKind uint8

const (
	scalar varKind = iota
	indexed
	opaqueArray // an array of which nothing is kept
)

// A tri is yes, no or perhaps.
type tri uint8

const (
	no tri = iota
	perhaps
	yes
)

func (s *state) find(w *walker, name string) *binding {
	for b := s.vars; b != nil; b = b.next {
		w.work--
		if b.name == name {
			return b
		}
	}
	return nil
}

// bind makes b the newest binding of its name.
func (s *state) bind(w *walker, b binding) {
	w.work -= 4
	switch b.name {
	case "IFS":
		s.ifs = ifsUnknown
		if b.kind == scalar && b.unset == yes {
			s.ifs = ifsDefault
		} else if b.kind == scalar && b.unset == no && b.val.State == Exact {
			s.ifs = ifsKnown
		}
	case "POSIXLY_CORRECT":
		s.flags |= posixMode
	case "PS4":
		if b.unset != yes && (b.val.State != Exact || runsText(b.val.Text)) {
			w.fail(Unsupported, "PS4 is expanded before each command under set -x; give it plain text", b.val.Text)
		}
	}
	b.next = s.vars
	if b.next != nil {
		b.length = b.next.length
	}
	if b.length++; b.length%64 == 0 {
		b.next = compact(w, b.next, b.name)
		b.length = 1
		if b.next != nil {
			b.length += b.next.length
		}
	}
	s.vars = &b
}

// compact is the chain b without the bindings that are hidden by newer ones, and without the name.
func compact(w *walker, b *binding, name string) *binding {
	var kept []*binding
	for ; b != nil && w.work >= 0; b = b.next {
		if b.name != name && !slices.ContainsFunc(kept, func(k *binding) bool { return k.name == b.name }) {
			kept = append(kept, b)
		}
		w.work -= len(kept)
	}
	var out *binding
	for i, k := range slices.Backward(kept) {
		c := *k
		c.next, c.length = out, len(kept)-i
		out = &c
	}
	return out
}

// newer lists the names that are bound in a above base, each once.
func newer(w *walker, a, base *binding) []string {
	var names []string
	for ; a != nil && a != base; a = a.next {
		w.work -= 1 + len(names)
		if !slices.Contains(names, a.name) {
			names = append(names, a.name)
		}
	}
	return names
}

// A function is a definition; one without a body takes the function away (unset -f).
type function struct {
	name     string
	body     *syntax.Stmt
	text     string // the script it stands in
	dialect  dialect
	maybe    bool // it may not be the one in force
	exported bool
	next     *function
}

// params are the positional parameters.
type params struct {
	zero Word
	list []Word
	open bool // there may be more than list says
}

// A place is one possibility for where the shell is.
type place struct {
	dir, old string // the current and the former directory; "" is unknown
	stack    []string
	lost     bool // what else is on the stack is not known
}

// places are all the possibilities, the one that everything went well in first.
type places struct {
	at     []place
	unsure bool // there are more, with no other stacks
	dir    Dir  // the same, as shown
	room   [2]place
}

const maxPlaces = 12

// nowhere is the place that nobody knows.
func (w *walker) nowhere() *places { return w.newPlaces([]place{{}}, false) }

func (w *walker) newPlaces(at []place, unsure bool) *places {
	if len(w.places) == 0 {
		w.places = make([]places, 8)
	}
	p := &w.places[0]
	w.places = w.places[1:]
	*p = places{unsure: unsure}
	p.at = append(p.room[:0], at[:min(len(at), maxPlaces)]...)
	p.dir.Unsure = unsure
	if len(at) > maxPlaces {
		p.unsure, p.dir.Unsure = true, true
		if slices.ContainsFunc(at[maxPlaces:], func(q place) bool { return len(q.stack) > 0 || q.lost }) {
			w.limit("can be in too many directories")
		}
	}
	for i, pl := range p.at {
		switch {
		case i == 0:
			p.dir.Path = pl.dir
		case pl.dir == "":
			p.dir.Unsure = true
		case pl.dir != p.dir.Path && !slices.Contains(p.dir.Others, pl.dir):
			p.dir.Others = append(p.dir.Others, pl.dir)
		}
	}
	return p
}

func samePlace(a, b place) bool {
	return a.dir == b.dir && a.old == b.old && sameStack(a, b)
}

func sameStack(a, b place) bool { return a.lost == b.lost && slices.Equal(a.stack, b.stack) }
