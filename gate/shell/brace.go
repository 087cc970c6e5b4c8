package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hasBrace reports whether word may have a brace expansion.
func hasBrace(word *syntax.Word) bool {
	open, more := false, false
	for _, p := range word.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			open = open || strings.IndexByte(lit.Value, '{') >= 0
			more = more || strings.IndexByte(lit.Value, ',') >= 0 || strings.Contains(lit.Value, "..")
		}
	}
	return open && more
}

// maxBraces bounds the braces of one word: what it takes to pair them grows with their square.
const maxBraces = 100

// braces are the words that brace expansion makes of word, as parts. It goes about it as bash does, step by step: which
// brace belongs to which in {},a}, {a..b,c} or {a{b,c} is a matter of history, and other readers see it otherwise.
//
// It reports whether anything changed.
func (w *walker) braces(word *syntax.Word) (fields [][]syntax.WordPart, changed bool) {
	text := braceAtoms(word)
	open := 0
	for _, a := range text {
		open += btoi(a.is('{'))
	}
	if open > maxBraces {
		w.limit("has too many braces in one word")
		return nil, false
	}
	var out [][]syntax.WordPart
	for _, atoms := range w.expandBraces(text) {
		changed = changed || len(atoms) != len(text)
		out = append(out, atomParts(atoms))
	}
	return out, changed || len(out) != 1
}

// A braceAtom is a piece of a word: unquoted text, of which each character that means something to braces stands alone, or
// a part that is none of their business.
type braceAtom struct {
	text string // as in a Lit, with its backslashes
	part syntax.WordPart
}

func (a braceAtom) is(c byte) bool { return len(a.text) == 1 && a.text[0] == c }

func braceAtoms(word *syntax.Word) []braceAtom {
	var out []braceAtom
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			out = append(out, braceAtom{part: part})
			continue
		}
		from := 0
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '{', '}', ',', '.':
				if from < i {
					out = append(out, braceAtom{text: lit.Value[from:i]})
				}
				out = append(out, braceAtom{text: lit.Value[i : i+1]})
				from = i + 1
			}
		}
		if from < len(lit.Value) {
			out = append(out, braceAtom{text: lit.Value[from:]})
		}
	}
	return out
}

func atomParts(atoms []braceAtom) []syntax.WordPart {
	var out []syntax.WordPart
	var text strings.Builder
	end := func() {
		if text.Len() > 0 {
			out = append(out, &syntax.Lit{Value: text.String()})
			text.Reset()
		}
	}
	for _, a := range atoms {
		if a.part == nil {
			text.WriteString(a.text)
			continue
		}
		end()
		out = append(out, a.part)
	}
	end()
	return out
}

// braceGlues reports what brace expansion, which goes by text, has made: in $x{a,b} the names xa and xb; and in {$,x}a a
// dollar sign that means something.
func braceGlues(parts []syntax.WordPart) (name, dollar bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.ParamExp:
			if lit, ok := first[*syntax.Lit](parts[i+1:]); ok && p.Short && syntax.ValidName(p.Param.Value+lit.Value[:1]) {
				name = true
			}
		case *syntax.Lit:
			for j := 0; j < len(p.Value); j++ {
				switch p.Value[j] {
				case '\\':
					j++
				case '$':
					dollar = dollar || j+1 == len(p.Value) && i+1 < len(parts) ||
						j+1 < len(p.Value) && (isNameByte(p.Value[j+1]) || strings.IndexByte("@*#?!$-[({", p.Value[j+1]) >= 0)
				}
			}
		}
	}
	return name, dollar
}

// expandBraces is brace_expand of bash.
func (w *walker) expandBraces(text []braceAtom) [][]braceAtom {
	if w.work < 0 {
		w.limit("takes too many steps to follow")
		return nil
	}
	at, end := 0, 0
	for {
		if at = w.gobble(text, at, '{'); at == len(text) {
			return [][]braceAtom{text}
		}
		if end = w.gobble(text, at+1, '}'); end < len(text) {
			break
		}
		at++
	}
	out := [][]braceAtom{text[:at:at]}
	amble := text[at+1 : end]
	var middle [][]braceAtom
	switch {
	case w.hasComma(amble):
		for from := 0; from <= len(amble); {
			to := w.gobble(amble, from, ',')
			middle = append(middle, w.expandBraces(amble[from:to:to])...)
			from = to + 1
		}
	default:
		if middle = w.sequence(amble); middle == nil {
			middle = [][]braceAtom{text[at : end+1 : end+1]}
		}
	}
	out = w.multiply(out, middle)
	if rest := text[end+1:]; len(rest) > 0 {
		out = w.multiply(out, w.expandBraces(rest))
	}
	return out
}

// hasComma reports whether there is a comma anywhere; as in bash, one in quotes counts, too.
func (w *walker) hasComma(text []braceAtom) bool {
	for _, a := range text {
		source := ""
		if a.part != nil {
			source = w.nodeText(a.part)
		}
		for i := 0; i < len(source); i++ {
			switch source[i] {
			case '\\':
				i++
			case ',':
				return true
			}
		}
		if a.is(',') {
			return true
		}
	}
	return false
}

// gobble is brace_gobbler of bash: the place of the next c that belongs to no inner braces; for '}', one with a comma or
// two dots before it.
func (w *walker) gobble(text []braceAtom, at int, c byte) int {
	level := 0
	enough := c != '}'
	for ; at < len(text); at++ {
		w.work--
		a := text[at]
		switch {
		case a.is(c) && level == 0 && enough:
			if c == '{' && at == 0 && at+1 < len(text) && text[at+1].is('}') {
				continue
			}
			return at
		case a.is('{'):
			level++
		case a.is('}') && level > 0:
			level--
		case a.is(',') && level == 0:
			enough = true
		case a.is('.') && level == 0 && at+1 < len(text) && text[at+1].is('.') && !(at+2 < len(text) && text[at+2].is('}')):
			enough = true
		}
	}
	return at
}

func (w *walker) multiply(left, right [][]braceAtom) [][]braceAtom {
	if len(left)*len(right) > w.o.Limits.Words {
		w.limit("expands to too many words")
		return nil
	}
	out := make([][]braceAtom, 0, len(left)*len(right))
	for _, l := range left {
		for _, r := range right {
			w.work -= 1 + len(r)/16
			out = append(out, append(l[:len(l):len(l)], r...))
		}
	}
	w.spendText(4 * len(out))
	return out
}

// sequence is x..y or x..y..step; nil if amble is something else.
func (w *walker) sequence(amble []braceAtom) [][]braceAtom {
	var source strings.Builder
	for _, a := range amble {
		if a.part != nil {
			return nil
		}
		source.WriteString(a.text)
	}
	from, rest, _ := strings.Cut(source.String(), "..")
	to, by, stepped := strings.Cut(rest, "..")
	if from == "" || to == "" {
		return nil
	}
	step := int64(1)
	if stepped {
		n, err := strconv.ParseInt(by, 10, 64)
		if err != nil || n == -1<<63 {
			return nil
		}
		step = max(n, -n, 1)
	}
	lo, errLo := strconv.ParseInt(from, 10, 64)
	hi, errHi := strconv.ParseInt(to, 10, 64)
	letters := isLetter(from) && isLetter(to)
	if letters {
		lo, hi = int64(from[0]), int64(to[0])
	} else if errLo != nil || errHi != nil {
		return nil
	}
	width := 0
	if !letters && (padded(from) || padded(to)) {
		width = max(len(from), len(to))
	}
	count := uint64(hi-lo) / uint64(step)
	if hi < lo {
		count = uint64(lo-hi) / uint64(step)
	}
	if count >= uint64(w.o.Limits.Words) {
		w.limit("expands to too many words")
		return nil
	}
	w.spendText(int(count))
	out := make([][]braceAtom, 0, count+1)
	for i := int64(0); i <= int64(count); i++ {
		n := lo + i*step
		if hi < lo {
			n = lo - i*step
		}
		out = append(out, []braceAtom{sequenceAtom(n, letters, width)})
	}
	return out
}

func sequenceAtom(n int64, letter bool, width int) braceAtom {
	if letter {
		text := string(rune(n))
		if strings.Contains("\\`*?[~", text) { // {A..z} passes by characters that mean something: they are not special
			return braceAtom{part: &syntax.SglQuoted{Value: text}}
		}
		return braceAtom{text: text}
	}
	text := strconv.FormatInt(n, 10)
	if len(text) < width {
		digits, sign := text, ""
		if n < 0 {
			digits, sign = text[1:], "-"
		}
		text = sign + strings.Repeat("0", width-len(text)) + digits
	}
	return braceAtom{text: text}
}

func isLetter(s string) bool {
	return len(s) == 1 && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// padded reports whether a bound asks for numbers of one width.
func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}
