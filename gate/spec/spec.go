// Package spec turns the commands of a shell line into named calls with flat arguments, and says what each of them does
// to files, programs and the network.
//
// A spec describes one executable: its options, operands and subcommands, and what their values mean. Specs are YAML
// (packs/*.yaml, and the files of a user), read strictly, each fault with its line, and compiled into a form in which
// one command's spec is found and decoded without touching the others. For each command a call is made in four steps:
//
//   - parse takes the words apart by the rules of that tool: getopt, pflag, Go's flag, find, … (parse.go, syntax.go);
//   - bind gives the operands their names (bind.go);
//   - args lists the named arguments in the order of the spec (args.go);
//   - effects, if they are wanted, lists what is read, written, deleted, run or reached, with absolute paths, and says of
//     each how sure it is (effects.go, place.go, derive.go).
//
// If it is wanted, the form of a call keeps what parse made of each word (parts.go): entries of a policy are compared
// with that.
//
// A call that is not fully understood keeps every argument that is, and says so: unknown options and words that are left
// over stand in extra_args, the raw words in argv, and Meta.SpecMatched is false. A long option counts only if it is
// spelt out; of an abbreviated one the meaning is kept, but the call is not matched. A command without a spec has argv
// only, and the effect "any".
//
// The package reads no file but through Options.ReadFile, and runs nothing.
package spec

import (
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// Options say how a line is translated.
type Options struct {
	Shell shell.Options
	// Packs are the specs in force; nil: those that the program comes with, decoded anew for each call of Line.
	Packs *Packs
	// Effects adds what a call does: Call.Effects, absolute paths in the arguments, redirect_to and the like.
	Effects bool
	// Forms adds how the spec reads the words: Call.Form.
	Forms bool
	// Root is a directory, absolute; effects on paths that are not known to be below it are marked. "": no marks.
	Root string
	// ReadFile returns the content of a file that a call reads what to do from, such as a diff; nil: none can be read.
	// It must not block, and may cut the content off behind two megabytes.
	ReadFile func(path string) ([]byte, error)
}

// Line returns the calls that a shell line can make, in the order in which it makes them. An error is a *shell.Error,
// and then nothing of the line is translated.
func Line(line string, o Options) ([]call.Call, error) {
	commands, err := shell.Parse(line, o.Shell)
	if err != nil {
		return nil, err
	}
	return Translate(commands, o), nil
}

// Translate returns the call of each command of one line. What a command runs elsewhere stands in that command's call.
func Translate(commands []shell.Command, o Options) []call.Call {
	if o.Packs == nil {
		o.Packs = Bundled()
	}
	t, _ := o.Packs.idle.Get().(*translator)
	if t == nil {
		t = &translator{none: node{dashdash: -1, numeric: -1}}
	}
	t.o, t.changed = o, changes{}
	defer t.rest()
	words, here := 0, 0
	for i := range commands {
		words += len(commands[i].Words)
		if !commands[i].Remote {
			here++
		}
	}
	t.texts = make([]string, 0, words)
	if o.Forms {
		t.forms = make([]call.Form, 0, len(commands))
		t.parts, t.path = make([]call.Part, 0, words), make([]string, 0, 2*len(commands))
	}
	calls := make([]call.Call, 0, max(here, min(1, len(commands))))
	for i := range commands {
		c := &commands[i]
		next := i + 1
		t.wraps = next < len(commands) && commands[next].Operator == "wrap" && commands[next].Depth > c.Depth
		to := &calls
		if c.Remote && len(calls) > 0 {
			to = &calls[len(calls)-1].Elsewhere
		}
		if n := len(*to); n < cap(*to) {
			*to = (*to)[:n+1] // it is empty
		} else {
			*to = append(*to, call.Call{})
		}
		made := &(*to)[len(*to)-1]
		t.before = commands[:i]
		t.call(made, c)
		made.Meta.Index = len(*to) - 1
	}
	return calls
}

// A translator makes the calls of one line, one after the other.
type translator struct {
	o          Options
	texts      []string      // behind all argv of the line
	allArgs    call.Args     // behind the arguments of several calls
	allEffects []call.Effect // behind the effects of several calls
	forms      []call.Form
	parts      []call.Part // behind all forms of the line
	path       []string    // behind all their paths
	p          parser
	bounds     []bound
	given      []uint16 // options of the executable
	recent     [64]known

	c       *shell.Command
	before  []shell.Command // those before it on the line
	wraps   bool            // the next command is run by this one
	bare    bool            // there is no spec
	none    node            // stands for it
	argv    []string
	places  placer
	unknown []string // arguments for unknown_paths
	effects []call.Effect
	changed changes // what earlier calls of the line may have done to files
}

// rest gives the translator back, without what belongs to the line or the caller.
func (t *translator) rest() {
	packs := t.o.Packs
	t.o, t.c, t.before, t.texts, t.argv, t.unknown, t.effects, t.changed = Options{}, nil, nil, nil, nil, nil, nil, changes{}
	t.allArgs, t.allEffects = nil, nil
	t.forms, t.parts, t.path = nil, nil, nil
	t.p.notes = notes{}
	t.places = placer{moves: t.places.moves[:0]}
	t.p.words = nil
	packs.idle.Put(t)
}

// call makes the call of one command.
func (t *translator) call(to *call.Call, c *shell.Command) {
	t.c = c
	from := len(t.texts)
	dynamic := 0
	for i := range c.Words {
		t.texts = append(t.texts, c.Words[i].Text)
		if i > 0 && c.Words[i].State != shell.Exact {
			dynamic++
		}
	}
	t.argv = t.texts[from:len(t.texts):len(t.texts)]
	t.unknown, t.effects = nil, nil
	to.Argv = t.argv
	t.meta(&to.Meta, dynamic)

	base := c.Name()
	base = base[strings.LastIndexByte(base, '/')+1:]
	n, pack, aliased := t.find(base)
	if n == nil {
		t.unlisted(to, base)
		return
	}
	t.bare = false
	p := &t.p
	p.reset(c.Words, n, pack)
	p.open = c.XArgs && c.Wrapper != "find" || several(c.Words)
	if aliased != 0 {
		a := pack.alias(aliased)
		to.Name = a.tool
		p.imply(a)
	}
	if t.o.Forms {
		t.beginForm(to, pack.spelt(n, aliased, base))
	}
	p.parse()
	if t.o.Forms {
		t.endForm(to)
	}
	t.bounds = t.bounds[:0]
	if !p.lost {
		t.bounds = p.bind(t.bounds)
		if t.o.Forms {
			t.files(to.Form)
		}
	}
	if t.o.Effects {
		t.locate()
	}
	to.Args = t.args()
	to.Meta.SpecMatched = p.matched
	if last := p.top(); len(p.levels) > 1 || to.Name == "" {
		to.Name = last.tool
	}
	if p.lost && !p.top().beyond {
		to.Name += "_" + toolName(p.words[p.ops[0].word].Text)
	}
	if t.o.Effects {
		t.finish(to)
	}
	t.keep(to)
}

// several reports whether some word may be more than one.
func several(words []shell.Word) bool {
	for i := range words {
		if words[i].Splits || words[i].State == shell.Pattern {
			return true
		}
	}
	return false
}

// unlisted makes the call of a command without a spec.
func (t *translator) unlisted(to *call.Call, base string) {
	t.bare = true
	if t.o.Forms {
		t.bareForm(to, base)
	}
	to.Name = toolName(base)
	to.Args = append(t.room(4), call.Arg{Name: "argv", Value: t.argv[1:]})
	if t.o.Effects {
		t.p.reset(nil, &t.none, nil)
		t.bounds = t.bounds[:0]
		t.locate()
		t.finish(to)
	}
	t.keep(to)
}

// room returns an empty list for about n arguments, which keep may be followed by others.
func (t *translator) room(n int) call.Args {
	if cap(t.allArgs)-len(t.allArgs) < n {
		t.allArgs = make(call.Args, 0, max(n, 16))
	}
	return t.allArgs[len(t.allArgs):]
}

// keep cuts the list of arguments off from what comes behind it.
func (t *translator) keep(to *call.Call) {
	n := len(to.Args)
	if n <= cap(t.allArgs)-len(t.allArgs) && n > 0 && &to.Args[0] == &t.allArgs[:len(t.allArgs)+1][len(t.allArgs)] {
		t.allArgs = t.allArgs[:len(t.allArgs)+n]
	}
	to.Args = to.Args[:n:n]
}

// A known is a name of an executable and what Packs.find says of it.
type known struct {
	name  string
	n     *node
	pack  *pack
	alias int
}

// find is Packs.find with a short memory.
func (t *translator) find(name string) (*node, *pack, int) {
	if name == "" {
		return nil, nil, 0
	}
	k := &t.recent[(int(name[0])*31+int(name[len(name)-1])*7+len(name))%len(t.recent)]
	if k.name != name {
		n, pack, alias := t.o.Packs.find(name)
		*k = known{strings.Clone(name), n, pack, alias}
	}
	return k.n, k.pack, k.alias
}

func (t *translator) meta(m *call.Meta, dynamic int) {
	c := t.c
	m.Source, m.Operator, m.Wrapper = c.Source, c.Operator, c.Wrapper
	m.Pipeline, m.Depth = c.Pipeline, c.Depth
	m.Conditional, m.Repeated, m.Background, m.Remote, m.Sourced = c.Conditional, c.Repeated, c.Background, c.Remote, c.Sourced
	if dynamic > 0 {
		m.DynamicArgs = make([]string, 0, dynamic)
		for i := 1; i < len(c.Words); i++ {
			if c.Words[i].State != shell.Exact {
				m.DynamicArgs = append(m.DynamicArgs, c.Words[i].Text)
			}
		}
	}
	if len(c.Redirects) > 0 {
		m.Redirects = make([]call.Redirect, len(c.Redirects))
		for i := range c.Redirects {
			r := &c.Redirects[i]
			m.Redirects[i] = call.Redirect{Op: r.Op, Target: r.Target.Text}
			if r.FD >= 0 {
				fd := r.FD
				m.Redirects[i].FD = &fd
			}
		}
	}
	if len(c.Env) > 0 {
		m.Env = make(call.Env, len(c.Env))
		for i := range c.Env {
			a := &c.Env[i]
			m.Env[i] = call.Var{Name: a.Name, Value: a.Value.Text, Unset: a.Unset, Dynamic: a.Append || a.Value.State != shell.Exact}
		}
	}
}
