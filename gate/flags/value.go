package flags

import (
	"slices"
	"strings"
	"unicode"
)

// glued reads what is attached to a flag's name: =X [=X] [X] <X> {a,b}. It changes f and returns the rest.
func glued(f *Flag, s string) string {
	switch {
	case s == "":
		return s
	case s[0] == '=':
		word, rest := readPlaceholder(s[1:])
		if strings.HasSuffix(word, ":") { // the old form of cobra: --name=default: text
			word, rest = strings.TrimSuffix(word, ":"), ":"+rest
		}
		if inner, after, ok := bracket(word); ok && after == "" && inner != "" && word[0] == '[' {
			word = inner // --x=[a|b]
		}
		setDefault(f, word)
		return rest
	case s[0] == '[':
		inner, rest, ok := bracket(s)
		if !ok {
			return s
		}
		if inner == "=" || inner == " " || inner == "=| " { // --x[=]<y>: either form, but always a value
			if word, after := readPlaceholder(rest); word != "" {
				setValue(f, Required, word)
				return after
			}
		}
		if strings.HasPrefix(inner, "-") || strings.HasPrefix(inner, "|") || strings.HasPrefix(inner, ",") {
			return s
		}
		if r := firstRune(rest); r != 0 && unicode.IsUpper(r) { // -perm[-/]MODE
			_, rest = readPlaceholder(rest)
			setValue(f, Required, "")
			return rest
		}
		word, _ := readPlaceholder(strings.TrimPrefix(inner, "="))
		if strings.TrimSpace(inner) == "" {
			return s
		}
		if f.Value != Required {
			setValue(f, Optional, word)
		}
		return repeated(f, rest)
	case s[0] == '<', s[0] == '{' && len(s) > 1 && s[1] != '}':
		word, rest := readPlaceholder(s)
		setValue(f, Required, word)
		return repeated(f, rest)
	case strings.HasPrefix(s, "..."), strings.HasPrefix(s, "…"):
		return repeated(f, s)
	case unicode.IsUpper(firstRune(s)): // -fFILE
		word, rest := readPlaceholder(s)
		setValue(f, Required, word)
		return repeated(f, rest)
	}
	return s
}

// repeated reads an ellipsis.
func repeated(f *Flag, s string) string {
	for _, dots := range []string{"...", "…"} {
		if rest, ok := strings.CutPrefix(s, dots); ok {
			f.Repeat = true
			return rest
		}
	}
	return s
}

// setValue notes one value of f, described by word.
func setValue(f *Flag, kind Value, word string) {
	if f.Value == Required && kind == Required {
		f.Arity = max(f.Arity, 1) + 1
		return
	}
	f.Value = kind
	if many, ok := strings.CutSuffix(word, "...>"); ok && !strings.HasSuffix(many, ",") { // <names...>, but not <a,...>
		f.Variadic = true
	}
	if choices, ok := choicesOf(word); ok {
		f.Choices = choices
	}
}

// setDefault notes a value that may be shown as its default: =false is how a switch looks.
func setDefault(f *Flag, word string) {
	if word == "true" || word == "false" {
		f.Value = Optional
		return
	}
	setValue(f, Required, word)
}

// readPlaceholder reads a word in which brackets may hold blanks: <a b>=<c>[,d] {x,y} "z" NAME. It ends before a
// separator that is followed by a blank, and before a closing bracket that it did not open.
func readPlaceholder(s string) (word, rest string) {
	var open []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if len(open) > 0 && c == open[len(open)-1] {
			open = open[:len(open)-1]
			continue
		}
		switch c {
		case '<', '[', '{', '(':
			if closer := closerOf(c); strings.IndexByte(s[i:], closer) > 0 {
				open = append(open, closer)
			}
		case '"', '\'':
			if len(open) == 0 && i == 0 && strings.IndexByte(s[1:], c) >= 0 {
				open = append(open, c)
			}
		case ' ':
			if len(open) == 0 {
				return s[:i], s[i:]
			}
		case ']', ')', '}':
			if len(open) == 0 {
				return s[:i], s[i:]
			}
		case ',', '|', ';':
			after := s[i+1:]
			if len(open) == 0 && (after == "" || after[0] == ' ' || c != ';' && atFlag(after)) {
				return s[:i], s[i:]
			}
		case '.':
			if len(open) == 0 && strings.HasPrefix(s[i:], "...") {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

func closerOf(c byte) byte {
	switch c {
	case '<':
		return '>'
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return ')'
}

// bracket returns what is inside of the bracket at the start of s, and what follows it.
func bracket(s string) (inner, rest string, ok bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:], true
			}
		}
	}
	return "", s, false
}

// choicesOf reads {a,b}, <a|b>, (a|b), a|b. Alternatives of which one is itself a placeholder are no choices.
func choicesOf(word string) ([]string, bool) {
	word = strings.TrimSuffix(word, ".")
	body, separator, certain := word, "|", false
	switch {
	case len(word) > 1 && word[0] == '{' && word[len(word)-1] == '}':
		body, certain = word[1:len(word)-1], true
		if strings.TrimSpace(body) == "" {
			return []string{}, true
		}
		if !strings.Contains(body, "|") {
			separator = ","
			if !strings.Contains(body, ",") {
				certain = word == strings.ReplaceAll(word, " ", "") // {a}, but not { name }
			}
		}
	case len(word) > 1 && (word[0] == '<' && word[len(word)-1] == '>' || word[0] == '(' && word[len(word)-1] == ')'):
		body = word[1 : len(word)-1]
	}
	if strings.ContainsAny(body, "<>[]{}()") || strings.Contains(body, "...") || !certain && !strings.Contains(body, separator) {
		return nil, false
	}
	var choices []string
	for part := range strings.SplitSeq(body, separator) {
		part = strings.Trim(strings.TrimSpace(part), `'"`)
		if part == "" || strings.Contains(part, " ") || !certain && stands(part) {
			return nil, false
		}
		choices = append(choices, part)
	}
	return choices, true
}

// stands reports whether a word names a kind of thing, and so stands for any of them: file, URL, N.
func stands(word string) bool {
	return slices.Contains([]string{
		"file", "filename", "path", "dir", "directory", "folder", "url", "uri", "name", "string", "str", "number", "num", "n", "int",
		"integer", "float", "pattern", "regex", "regexp", "glob", "commit", "branch", "tag", "ref", "rev", "id", "host", "hostname",
		"ip", "address", "port", "size", "time", "date", "duration", "seconds", "bytes", "key", "value", "user", "group", "uid",
		"gid", "pid", "command", "cmd", "expr", "count", "lines", "package", "module", "object", "text", "list", "spec", "version",
		"image", "container", "format", "percent", "template", "mode", "type", "level", "range", "arg", "option", "prefix", "data",
	}, strings.ToLower(word))
}

// isPlaceholder reports whether word is written as one: in brackets or capitals. A word in small letters may be one as
// well; then only what stands around it can tell.
func isPlaceholder(word string) bool {
	if word == "" {
		return false
	}
	if strings.ContainsRune("<{", rune(word[0])) {
		return true
	}
	upper := false
	for _, r := range word {
		if unicode.IsLower(r) {
			return false
		}
		upper = upper || unicode.IsUpper(r)
	}
	return upper && !strings.HasSuffix(word, ".") && !strings.HasSuffix(word, ":")
}

// isWord reports whether word could be a placeholder in small letters.
func isWord(word string) bool {
	if word = strings.TrimPrefix(word, "+"); !unicode.IsLetter(firstRune(word)) { // openssl: -days +int
		return false
	}
	last := word[len(word)-1]
	return last != '.' && last != ';' && last != ',' && !strings.ContainsAny(word, "'\"`")
}
