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

// braces are the words that brace expansion makes of word, as parts.
func (w *walker) braces(word *syntax.Word) [][]syntax.WordPart {
	open := 0
	for _, p := range word.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
		}
	}
	if open > maxBraces {
		w.limit("has too many braces in one word")
		return nil
	}
	split := syntax.Word{Parts: word.Parts}
	if !syntax.SplitBraces(&split) {
		return [][]syntax.WordPart{word.Parts}
	}
	return w.braceParts(split.Parts)
}

func (w *walker) braceParts(parts []syntax.WordPart) [][]syntax.WordPart {
	out := [][]syntax.WordPart{nil}
	for _, part := range parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok {
			for i := range out {
				out[i] = append(out[i][:len(out[i]):len(out[i])], part)
			}
			continue
		}
		var mid [][]syntax.WordPart
		if b.Sequence {
			mid = w.sequence(b)
		} else {
			for _, elem := range b.Elems {
				mid = append(mid, w.braceParts(elem.Parts)...)
			}
		}
		if len(out)*len(mid) > w.o.Limits.Words {
			w.limit("expands to too many words")
			return nil
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(mid))
		for _, left := range out {
			for _, m := range mid {
				w.work--
				next = append(next, append(left[:len(left):len(left)], m...))
			}
		}
		w.spendText(4 * len(next))
		out = next
	}
	return out
}

// sequence is {x..y} or {x..y..step}.
func (w *walker) sequence(b *syntax.BraceExp) [][]syntax.WordPart {
	from, to := b.Elems[0].Lit(), b.Elems[1].Lit()
	lo, errLo := strconv.ParseInt(from, 10, 64)
	hi, errHi := strconv.ParseInt(to, 10, 64)
	letters := errLo != nil || errHi != nil
	if letters {
		lo, hi = int64(from[0]), int64(to[0])
	}
	step := int64(1)
	if len(b.Elems) > 2 {
		n, _ := strconv.ParseInt(b.Elems[2].Lit(), 10, 64)
		if n < 0 {
			n = -n
		}
		step = max(n, 1)
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
	out := make([][]syntax.WordPart, 0, count+1)
	for i := int64(0); i <= int64(count); i++ {
		n := lo + i*step
		if hi < lo {
			n = lo - i*step
		}
		var text string
		if letters {
			text = string(rune(n))
			if strings.Contains("\\`*?[~", text) { // {A..z} passes by characters that mean something: they are not special
				out = append(out, []syntax.WordPart{&syntax.SglQuoted{Value: text}})
				continue
			}
		} else {
			text = strconv.FormatInt(n, 10)
			if len(text) < width {
				digits, sign := text, ""
				if n < 0 {
					digits, sign = text[1:], "-"
				}
				text = sign + strings.Repeat("0", width-len(text)) + digits
			}
		}
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: text}})
	}
	return out
}

// padded reports whether a bound asks for numbers of one width.
func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}
