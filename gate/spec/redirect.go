package spec

import (
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// redirects lists the files that the shell opens for the call, and appends the arguments that name them.
func (t *translator) redirects(args call.Args) call.Args {
	if len(t.c.Redirects) == 0 {
		return args
	}
	var out, over, in []string
	for i := range t.c.Redirects {
		r := &t.c.Redirects[i]
		if r.Copy {
			continue
		}
		kinds, arg := mask(0), "redirect_to"
		switch r.Op {
		case ">", ">|", "&>", ">&":
			kinds = maskWrite
		case ">>", "&>>":
			kinds = maskAppend
		case "<":
			kinds, arg = maskRead, "redirect_from"
		case "<>":
			kinds = maskRead | maskWrite
		default:
			continue // here-documents and here-strings name no file
		}
		text := t.target(kinds, r, arg)
		if kinds&maskRead != 0 {
			in = append(in, text)
		}
		if kinds&^maskRead != 0 {
			out = append(out, text)
		}
		if kinds == maskWrite && !device(text) {
			over = append(over, text)
		}
	}
	for _, a := range []struct {
		name string
		list []string
	}{{"redirect_to", out}, {"overwrite_to", over}, {"redirect_from", in}} {
		if len(a.list) > 0 {
			args = append(args, call.Arg{Name: a.name, Value: a.list})
		}
	}
	return args
}

// target lists the effects of one redirection and returns its target as it is shown.
func (t *translator) target(kinds mask, r *shell.Redirect, arg string) string {
	w := &r.Target
	if host, ok := strings.CutPrefix(w.Text, "/dev/tcp/"); ok {
		t.each(maskNet, call.Effect{Text: host, Arg: arg, Sure: exactly(w)})
		return w.Text
	}
	if host, ok := strings.CutPrefix(w.Text, "/dev/udp/"); ok {
		t.each(maskNet, call.Effect{Text: host, Arg: arg, Sure: exactly(w)})
		return w.Text
	}
	from := t.opened(r)
	switch {
	case w.Text == "" && w.State == shell.Exact:
		return ""
	case w.State == shell.Exact && !w.Splits && !t.filled(w.Text):
		t.at(kinds, w.Text, from, call.Effect{Arg: arg, Sure: call.Sure})
		if (from.first == "" || from.unsure) && w.Text[0] != '/' {
			t.vague(arg)
		}
		if from.first == "" && w.Text[0] != '/' {
			return w.Text
		}
		return join(from.first, w.Text)
	case w.State == shell.Several || w.State == shell.Maybe:
		for _, v := range w.Values {
			if v != "" {
				t.at(kinds, v, from, call.Effect{Arg: arg, Sure: call.Maybe})
			}
		}
	}
	if w.State != shell.Several || w.Splits {
		t.each(kinds, call.Effect{Path: w.Text, Arg: arg})
	}
	t.vague(arg)
	return w.Text
}

// opened returns the directory in which the shell opens the target of a redirection. One that holds for a whole group was
// opened before the first command of it; where the group has changed the directory since, both are possible.
func (t *translator) opened(r *shell.Redirect) *dirs {
	if !r.Inherited {
		return &t.places.start
	}
	first := t.c
	for i := len(t.before) - 1; i >= 0 && has(&t.before[i], r); i-- {
		first = &t.before[i]
	}
	if first.Dir.Path == t.c.Dir.Path {
		return &t.places.start
	}
	d := &dirs{first: first.Dir.Path, unsure: first.Dir.Path == "" || t.places.start.unsure}
	d.others = append(append(d.others, first.Dir.Others...), t.c.Dir.Others...)
	if t.c.Dir.Path != "" {
		d.others = append(d.others, t.c.Dir.Path)
	}
	return d
}

// has reports whether a command has this redirection too.
func has(c *shell.Command, r *shell.Redirect) bool {
	for i := range c.Redirects {
		if have := &c.Redirects[i]; have.Op == r.Op && have.Target.Text == r.Target.Text && have.FD == r.FD {
			return true
		}
	}
	return false
}

func exactly(w *shell.Word) call.Certainty {
	if w.State == shell.Exact && !w.Splits {
		return call.Sure
	}
	return call.Unknown
}

// device reports whether a path names a stream of the process rather than a file.
func device(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/")
}
