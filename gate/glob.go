package gate

import (
	"path"
	"slices"
	"strings"
)

const maxGlob = 20_000 // names that one pattern is compared with

// A globbing says how the shell expands patterns.
type globbing struct {
	dots, deep, fold bool // shopt: dotglob, globstar, nocaseglob
}

// glob lists the paths that an absolute pattern expands to on this disk, in order; ok is false if there was more than it
// may look at. Where bash's rules are finer than these, more is listed rather than less.
func (v *view) glob(pattern string, how globbing) (paths []string, ok bool) {
	left := maxGlob
	paths = []string{"/"}
	parts := strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' })
	for i, part := range parts {
		last := i == len(parts)-1
		var next []string
		text, plain := literal(part)
		for _, dir := range paths {
			if plain {
				p := path.Join(dir, text)
				if !last || v.at(p).exists {
					next = append(next, p)
				}
				continue
			}
			if !v.at(dir).dir {
				continue
			}
			deep := part == "**" && how.deep
			if deep {
				next = append(next, dir)
			}
			ok := v.list(dir, deep, &left, func(p, name string) {
				if name[0] == '.' && part[0] != '.' && part[0] != '\\' && part[0] != '[' && !how.dots && !strings.Contains(part, "(") {
					return
				}
				if deep || globMatch(part, name, how.fold) {
					next = append(next, p)
				}
			})
			if !ok {
				return next, false
			}
		}
		paths = next
		if len(paths) == 0 {
			return nil, true
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), true
}

// list calls yield for each name in a directory, and if deep for all below it.
func (v *view) list(dir string, deep bool, left *int, yield func(p, name string)) bool {
	if v.ctx.Err() != nil {
		return false
	}
	names, more, err := v.disk.List(dir, *left)
	if !v.budget.spend(openCost + len(names)) {
		return false
	}
	if err != nil {
		return true
	}
	*left -= len(names)
	for _, n := range names {
		p := path.Join(dir, n.Name())
		yield(p, n.Name())
		if deep && n.IsDir() {
			if *left <= 0 || !v.list(p, true, left, yield) {
				return false
			}
		}
	}
	return !more
}

// literal returns the text of a part in which nothing is special.
func literal(part string) (string, bool) {
	if !strings.ContainsAny(part, `*?[\(`) {
		return part, true
	}
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		switch part[i] {
		case '\\':
			if i++; i == len(part) {
				return "", false
			}
		case '*', '?', '[':
			return "", false
		case '(':
			if i > 0 && strings.IndexByte("?*+@!", part[i-1]) >= 0 {
				return "", false
			}
		}
		b.WriteByte(part[i])
	}
	return b.String(), true
}

// globMatch reports whether a name matches one part of a pattern of the shell. A construct that it does not know, such
// as !(x), matches anything that follows.
func globMatch(pattern, name string, fold bool) bool {
	if fold {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	steps := 0
	return globFrom(pattern, name, &steps)
}

const maxSteps = 10_000

func globFrom(pattern, name string, steps *int) bool {
	for pattern != "" {
		if *steps++; *steps > maxSteps {
			return true
		}
		if len(pattern) > 1 && pattern[1] == '(' && strings.IndexByte("?*+@!", pattern[0]) >= 0 {
			return true
		}
		switch pattern[0] {
		case '*':
			rest := strings.TrimLeft(pattern, "*")
			if rest != "" && rest[0] == '(' {
				return true
			}
			for i := 0; i <= len(name); i++ {
				if globFrom(rest, name[i:], steps) {
					return true
				}
			}
			return false
		case '?':
			if name == "" {
				return false
			}
			size := 1 // a character, not a byte
			for size < len(name) && name[size]&0xc0 == 0x80 {
				size++
			}
			pattern, name = pattern[1:], name[size:]
		case '[':
			if name == "" {
				return false
			}
			in, rest, ok := bracket(pattern, name[0])
			if !ok {
				if name[0] != '[' {
					return false
				}
				pattern, name = pattern[1:], name[1:]
				continue
			}
			size := 1
			for size < len(name) && name[size]&0xc0 == 0x80 {
				size++
			}
			if !in && size == 1 {
				return false
			}
			pattern, name = rest, name[size:]
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			if name == "" || name[0] != pattern[0] {
				return false
			}
			pattern, name = pattern[1:], name[1:]
		}
	}
	return name == ""
}

// bracket reports whether the set at the beginning of a pattern has a character, and what comes behind it. A class such
// as [:alpha:] has every character.
func bracket(pattern string, c byte) (in bool, rest string, ok bool) {
	i := 1
	not := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if not {
		i++
	}
	for first := true; ; first = false {
		if i >= len(pattern) {
			return false, "", false
		}
		lo := pattern[i]
		if lo == ']' && !first {
			return in != not, pattern[i+1:], true
		}
		if lo == '[' && i+1 < len(pattern) && strings.IndexByte(":.=", pattern[i+1]) >= 0 {
			end := strings.Index(pattern[i+2:], pattern[i+1:i+2]+"]")
			if end >= 0 {
				if close := strings.IndexByte(pattern[i+2+end+2:], ']'); close >= 0 {
					return true, pattern[i+2+end+2+close+1:], true
				}
			}
		}
		if lo == '\\' && i+1 < len(pattern) {
			i++
			lo = pattern[i]
		}
		hi := lo
		if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
			hi = pattern[i+2]
			if i += 2; hi == '\\' && i+1 < len(pattern) {
				i++
				hi = pattern[i]
			}
		}
		if lo <= c && c <= hi {
			in = true
		}
		i++
	}
}
