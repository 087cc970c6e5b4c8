package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatehouse/internal/document"
	"gatehouse/internal/wire"
)

// Lines returns the effective settings in the order of the format, each with the line that it stands on.
func (p *Policy) Lines() []Key {
	if p.keys == nil && p.packed != "" {
		r := wire.NewReader(p.packed)
		return many(r, func(r *wire.Reader) Key { return Key{r.Text(), r.Text(), int(r.Int())} })
	}
	return p.keys
}

// lines makes them while the document is there.
func (r *reader) lines() (keys []Key) {
	add := func(name, value string) { keys = append(keys, Key{name, value, r.doc.Line(name)}) }
	p := r.p
	add("version", "1")
	add("shell", pick(p.Shell, "none", "full"))
	enforce := "deny"
	if p.Observe {
		enforce = "observe"
	}
	add("enforce", enforce)
	if p.Observe {
		add("observe_until", p.Until.Format(time.RFC3339))
	}
	entries := func(name string, list []Entry) {
		if len(list) == 0 {
			add(name, "none")
		}
		for i := range list {
			keys = append(keys, Key{key(name, i, ""), list[i].Summary(), lineOf(list[i].At)})
		}
	}
	entries("allow", p.Allow)
	entries("deny", p.Deny)
	add("unlisted", pick(p.Unlisted, "deny", "ask"))
	add("check_flags", pick(p.CheckFlags, "help", "spec", "off"))
	add("dynamic_values", pick(p.Dynamic, "deny", "ask", "allow"))
	root := pick(p.Paths.Root, "project", "cwd", "")
	if p.Paths.Root == Absolute {
		root = strings.Join(p.Paths.Roots, " ")
	}
	add("paths.root", root)
	add("paths.within", p.Paths.Within.Text)
	for _, l := range []struct {
		name string
		list Patterns
	}{
		{"paths.deny", p.Paths.Deny}, {"paths.read_only", p.Paths.ReadOnly}, {"paths.redirects", p.Paths.Redirects},
		{"paths.create", p.Paths.Create},
	} {
		if len(l.list) == 0 {
			add(l.name, "none")
		}
		for i := range l.list {
			keys = append(keys, Key{key(l.name, i, ""), l.list[i].Text, lineOf(l.list[i].At)})
		}
	}
	add("paths.reads_must_exist", strconv.FormatBool(p.Paths.ReadsMustExist))
	names := make([]string, len(p.Env))
	for i := range p.Env {
		names[i] = p.Env[i].Name
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	add("env.allow", strings.Join(names, " "))
	if len(p.Tools) == 0 {
		add("tools", "none")
	}
	for i := range p.Tools {
		keys = append(keys, Key{key("tools", i, ""), p.Tools[i].Summary(), lineOf(p.Tools[i].At)})
	}
	add("ask.unattended", "deny")
	return keys
}

// Summary is the entry on one line.
func (e *Entry) Summary() string {
	var b strings.Builder
	b.WriteString(e.Text)
	for _, part := range []struct {
		name string
		list []string
	}{{"flags", e.Flags}, {"only", e.Only}} {
		if len(part.list) > 0 {
			fmt.Fprintf(&b, "  %s: %s", part.name, strings.Join(part.list, ", "))
		}
	}
	if e.Exact {
		b.WriteString("  exact")
	}
	if e.Trust {
		b.WriteString("  trust: root-owned")
	}
	if e.SHA256 != "" {
		b.WriteString("  sha256: " + e.SHA256[:12] + "…")
	}
	if e.Why != "" {
		b.WriteString("  why: " + e.Why)
	}
	if e.Fix != "" {
		b.WriteString("  fix: " + e.Fix)
	}
	return b.String()
}

// Summary is the item on one line.
func (t *Tool) Summary() string {
	text := strings.Join(t.Names, " ")
	if t.Unlisted != Allow {
		text += "  unlisted: " + pick(t.Unlisted, "deny", "ask")
	}
	for _, l := range []struct {
		name string
		list Patterns
	}{{"deny", t.Paths.Deny}, {"read_only", t.Paths.ReadOnly}, {"redirects", t.Paths.Redirects}, {"create", t.Paths.Create}} {
		for i := range l.list {
			text += "  " + l.name + ": " + l.list[i].Text
		}
	}
	return text
}

func pick[T ~uint8](at T, names ...string) string { return names[at] }

// key is the name of an item, or of something in it.
func key(list string, i int, sub string) string {
	name := list + "[" + strconv.Itoa(i) + "]"
	if sub != "" {
		name = document.SubKey(name, sub)
	}
	return name
}

// lineOf is the line of FILE:LINE; 0 where there is none.
func lineOf(at string) int {
	n, _ := strconv.Atoi(at[strings.LastIndexByte(at, ':')+1:])
	return n
}
