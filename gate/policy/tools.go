package policy

import "strings"

// ToolsFor returns the items of tools that name the tool, in order.
func (p *Policy) ToolsFor(name string) (list []*Tool) {
	for i := range p.Tools {
		if p.Tools[i].names(name) {
			list = append(list, &p.Tools[i])
		}
	}
	return list
}

// names reports whether the item is about a tool. Of its patterns the last that fits counts, as with paths: one that
// begins with ! takes names out again.
func (t *Tool) names(name string) (yes bool) {
	for _, pattern := range t.Names {
		pattern, not := strings.CutPrefix(pattern, "!")
		if named(pattern, name) {
			yes = !not
		}
	}
	return yes
}

// named reports whether a name is the pattern, in which a star stands for any text.
func named(pattern, name string) bool {
	begin, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, begin) {
		return false
	}
	name = name[len(begin):]
	for {
		middle, behind, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, middle)
		}
		at := strings.Index(name, middle)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(middle):], behind
	}
}
