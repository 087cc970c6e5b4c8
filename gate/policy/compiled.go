package policy

import (
	"errors"
	"time"

	"gatehouse/internal/wire"
)

// magic stands before a compiled policy. Its number changes with the form.
const magic = "gatehouse policy 1\n"

// Append writes p in the form that Read takes. What only people ask for comes last and is not decoded before.
func (p *Policy) Append(w *wire.Writer) {
	w.Raw(magic)
	w.Text(p.File)
	w.Uint(uint64(p.Shell))
	w.Bool(p.Observe)
	if p.Observe {
		w.Int(p.Until.Unix())
	}
	w.Uint(uint64(p.Unlisted))
	w.Uint(uint64(p.CheckFlags))
	w.Uint(uint64(p.Dynamic))
	w.Uint(uint64(p.Unattended))
	forms, options, texts := p.sizes()
	w.Uint(forms)
	w.Uint(options)
	w.Uint(texts)
	appendEntries(w, p.Allow)
	appendEntries(w, p.Deny)
	p.allows.append(w)
	p.denies.append(w)
	p.Paths.append(w)
	w.Uint(uint64(len(p.Env)))
	for i := range p.Env {
		w.Text(p.Env[i].Name)
		w.Text(p.Env[i].At)
	}
	w.Uint(uint64(len(p.Tools)))
	for i := range p.Tools {
		t := &p.Tools[i]
		w.Texts(t.Names)
		w.Text(t.At)
		t.Paths.append(w)
		w.Uint(uint64(t.Unlisted))
	}
	var keys wire.Writer
	lines := p.Lines()
	keys.Uint(uint64(len(lines)))
	for _, k := range lines {
		keys.Text(k.Name)
		keys.Text(k.Value)
		keys.Int(int64(k.Line))
	}
	w.Text(string(keys.Bytes()))
}

// sizes are how many forms, options and texts the entries have, so that reading makes room for them once.
func (p *Policy) sizes() (forms, options, texts uint64) {
	count := func(list []form) {
		forms += uint64(len(list))
		for i := range list {
			options += uint64(len(list[i].options))
			texts += uint64(len(list[i].path) + len(list[i].operands))
			for j := range list[i].options {
				texts += uint64(len(list[i].options[j].names))
			}
		}
	}
	for _, list := range [][]Entry{p.Allow, p.Deny} {
		for i := range list {
			e := &list[i]
			texts += uint64(len(e.Only) + len(e.Match) + len(e.NotMatch) + len(e.Flags))
			count(e.begins)
			count(e.flags)
		}
	}
	return forms, options, texts
}

// Read takes what Append wrote. An error means that there is no policy.
func Read(r *wire.Reader) (*Policy, error) {
	r.Raw(magic)
	p := &Policy{File: r.Text(), Shell: number(r, Full), Observe: r.Bool()}
	if p.Observe {
		p.Until = time.Unix(r.Int(), 0).UTC()
	}
	p.Unlisted, p.CheckFlags = number(r, Ask), number(r, Off)
	p.Dynamic, p.Unattended = number(r, Allow), number(r, Refuse)
	room := room{
		forms: make([]form, 0, min(r.Uint(), most)), options: make([]option, 0, min(r.Uint(), most)),
		texts: make([]string, 0, min(r.Uint(), most)),
	}
	p.Allow, p.Deny = many(r, room.entry), many(r, room.entry)
	p.allows, p.denies = readIndex(r, len(p.Allow)), readIndex(r, len(p.Deny))
	p.Paths = readPaths(r)
	p.Env = many(r, func(r *wire.Reader) Variable { return Variable{r.Text(), r.Text()} })
	p.Tools = many(r, func(r *wire.Reader) Tool {
		return Tool{Names: r.Texts(), At: r.Text(), Paths: readPaths(r), Unlisted: number(r, Allow)}
	})
	p.packed = r.Text()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// A room is where the forms of all entries lie side by side. What does not fit because the sizes were not true finds room
// of its own.
type room struct {
	forms   []form
	options []option
	texts   []string
}

// most bounds what the sizes in the data can make it allocate.
const most = 1 << 14

// take cuts n items off all.
func take[T any](all *[]T, n int) []T {
	if n > cap(*all)-len(*all) {
		return make([]T, 0, n)
	}
	from := len(*all)
	*all = (*all)[:from+n]
	return (*all)[from : from : from+n]
}

func (m *room) list(r *wire.Reader) []string {
	n := r.Len()
	if n == 0 {
		return nil
	}
	list := take(&m.texts, n)
	for range n {
		list = append(list, r.Text())
	}
	return list
}

func (m *room) entry(r *wire.Reader) Entry {
	e := Entry{
		Text: r.Text(), At: r.Text(), Only: m.list(r), Exact: r.Bool(), Trust: r.Bool(), SHA256: r.Text(), Match: m.list(r),
		NotMatch: m.list(r), Flags: m.list(r), Why: r.Text(), Fix: r.Text(), begins: m.formList(r), flags: m.formList(r),
	}
	if len(e.begins) == 0 {
		r.Fail(errRange)
	}
	return e
}

func (m *room) formList(r *wire.Reader) []form {
	n := r.Len()
	if n == 0 {
		return nil
	}
	list := take(&m.forms, min(n, most))
	for range n {
		if list = append(list, m.form(r)); r.Err() != nil {
			return nil
		}
	}
	return list
}

func (m *room) form(r *wire.Reader) form {
	f := form{base: r.Text(), file: r.Text(), path: m.list(r)}
	if n := r.Len(); n > 0 {
		f.options = take(&m.options, min(n, most))
		for range n {
			f.options = append(f.options, option{
				flag: r.Text(), names: m.list(r), value: r.Text(), hasValue: r.Bool(), off: r.Bool(), stranger: r.Bool(),
				level: int(r.Uint()),
			})
			if r.Err() != nil {
				break
			}
		}
	}
	f.operands, f.tree = m.list(r), r.Bool()
	if len(f.path) == 0 || len(f.path)+len(f.operands) > maxWords || f.tree && len(f.operands) == 0 {
		r.Fail(errRange)
	}
	return f
}

var errRange = errors.New("a compiled policy has a value that does not exist")

// many takes a list. A length that is not true ends at the first item that is not there.
func many[T any](r *wire.Reader, read func(*wire.Reader) T) []T {
	n := r.Len()
	if n == 0 {
		return nil
	}
	list := make([]T, 0, min(n, 256))
	for range n {
		if list = append(list, read(r)); r.Err() != nil {
			return nil
		}
	}
	return list
}

// number takes one of the values up to last.
func number[T ~uint8](r *wire.Reader, last T) T {
	n := r.Uint()
	if n > uint64(last) {
		r.Fail(errRange)
		return 0
	}
	return T(n)
}

func appendEntries(w *wire.Writer, list []Entry) {
	w.Uint(uint64(len(list)))
	for i := range list {
		e := &list[i]
		w.Text(e.Text)
		w.Text(e.At)
		w.Texts(e.Only)
		w.Bool(e.Exact)
		w.Bool(e.Trust)
		w.Text(e.SHA256)
		w.Texts(e.Match)
		w.Texts(e.NotMatch)
		w.Texts(e.Flags)
		w.Text(e.Why)
		w.Text(e.Fix)
		appendForms(w, e.begins)
		appendForms(w, e.flags)
	}
}

func appendForms(w *wire.Writer, list []form) {
	w.Uint(uint64(len(list)))
	for i := range list {
		f := &list[i]
		w.Text(f.base)
		w.Text(f.file)
		w.Texts(f.path)
		w.Uint(uint64(len(f.options)))
		for j := range f.options {
			o := &f.options[j]
			w.Text(o.flag)
			w.Texts(o.names)
			w.Text(o.value)
			w.Bool(o.hasValue)
			w.Bool(o.off)
			w.Bool(o.stranger)
			w.Uint(uint64(o.level))
		}
		w.Texts(f.operands)
		w.Bool(f.tree)
	}
}

func (x index) append(w *wire.Writer) {
	w.Uint(uint64(len(x)))
	for i := range x {
		w.Text(x[i].name)
		w.Uint(uint64(x[i].entry))
	}
}

func readIndex(r *wire.Reader, entries int) index {
	last := ""
	return many(r, func(r *wire.Reader) indexed {
		x := indexed{r.Text(), int(r.Uint())}
		if x.entry < 0 || x.entry >= entries || x.name < last {
			r.Fail(errRange)
		}
		last = x.name
		return x
	})
}

func (p *Paths) append(w *wire.Writer) {
	w.Uint(uint64(p.Root))
	w.Texts(p.Roots)
	w.Text(p.Within.Text)
	w.Text(p.Within.At)
	p.Deny.append(w)
	p.ReadOnly.append(w)
	p.Redirects.append(w)
	p.Create.append(w)
	w.Bool(p.ReadsMustExist)
}

func readPaths(r *wire.Reader) Paths {
	return Paths{
		Root: number(r, Absolute), Roots: r.Texts(), Within: Pattern{Text: r.Text(), At: r.Text()},
		Deny: many(r, readPattern), ReadOnly: many(r, readPattern), Redirects: many(r, readPattern), Create: many(r, readPattern),
		ReadsMustExist: r.Bool(),
	}
}

func (p Patterns) append(w *wire.Writer) {
	w.Uint(uint64(len(p)))
	for i := range p {
		w.Text(p[i].Text)
		w.Text(p[i].At)
		w.Bool(p[i].permits)
	}
}

func readPattern(r *wire.Reader) Pattern {
	p := Pattern{r.Text(), r.Text(), r.Bool()}
	if wrong(p.Text) != "" {
		r.Fail(errRange)
	}
	return p
}
