package policy

import "strings"

// ToolsFor returns the items of tools that name the tool, in order.
func (p *Policy) ToolsFor(name string) (list []*Tool) {
	for i := range p.Tools {
		for _, pattern := range p.Tools[i].Names {
			if named(pattern, name) {
				list = append(list, &p.Tools[i])
				break
			}
		}
	}
	return list
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
