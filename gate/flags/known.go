package flags

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Answer says what a word of a command line is to a program. The zero Answer is a flag that it does not know.
type Answer struct {
	Known   bool   // every flag in the word is one of the program's
	Flag    *Flag  // the flag; the last one of a bundle; nil for a number and for --
	Value   Value  // whether that flag takes a value
	Text    string // the value, if it is in the word
	HasText bool
	Next    bool   // the next word is the value, or may be (Value says which)
	End     bool   // the word is --: no flags come after it
	Why     string // what is wrong, in a few words, if not Known
}

// Known looks up a word that begins with a dash (or whatever else the program's flags begin with). numbers says that the
// caller's spec knows this program to take -20 and the like, which no help text lists.
//
// Abbreviations of long names are not known. In a bundle each letter must be a flag; the first that takes a value takes
// what is left as that.
func (h *Help) Known(word string, numbers bool) Answer {
	if word == "--" {
		return Answer{Known: true, End: true}
	}
	if f := h.Find(word); f != nil && !isNumeric(word) {
		return f.alone()
	}
	if len(word) < 2 {
		return Answer{Why: "is no flag"}
	}
	separator := "="
	if word[0] == '/' {
		separator = ":"
	}
	if name, text, ok := strings.Cut(word, separator); ok {
		if f := h.Find(name); f != nil && !isNumeric(name) {
			if f.Value == None && !f.Uncertain {
				return Answer{Flag: f, Value: f.Value, Text: text, HasText: true, Why: name + " takes no value"}
			}
			return f.with(text)
		}
	}
	if digits := strings.TrimLeft(word[1:], "0123456789"); word[0] == '-' && digits == "" {
		if f := h.digits(); f != nil {
			return f.with(word[1:])
		}
		if numbers {
			return Answer{Known: true, Value: None}
		}
	}
	if f, text := h.prefixed(word); f != nil {
		return f.with(text)
	}
	if word[0] == '-' && word[1] != '-' && !h.spellsBoth() {
		return h.bundle(word, numbers)
	}
	name, _, _ := strings.Cut(word, "=")
	return Answer{Why: "no " + name + " in its help"}
}

// alone is the answer for a flag without a value in the same word.
func (f *Flag) alone() Answer {
	return Answer{Known: true, Flag: f, Value: f.Value, Next: f.Value == Required || f.Value == Optional && f.Next}
}

func (f *Flag) with(text string) Answer {
	return Answer{Known: true, Flag: f, Value: f.Value, Text: text, HasText: true}
}

// digits returns the flag that stands for any number.
func (h *Help) digits() *Flag {
	for i := range h.Flags {
		if h.Flags[i].Digits {
			return &h.Flags[i]
		}
	}
	return nil
}

// prefixed finds -Wl,x and -agentlib:x, whose names end in a separator.
func (h *Help) prefixed(word string) (*Flag, string) {
	for i := range h.Flags {
		for _, name := range h.Flags[i].Names {
			if last := name[len(name)-1]; len(name) > 2 && (last == ',' || last == ':') && len(word) > len(name) && strings.HasPrefix(word, name) {
				return &h.Flags[i], word[len(name):]
			}
		}
	}
	return nil, ""
}

// spellsBoth reports whether one dash and two are the same to the program, as with Go's flag package: then letters are
// not bundled.
func (h *Help) spellsBoth() bool {
	for i := range h.Flags {
		for _, name := range h.Flags[i].Names {
			if len(name) > 3 && isLong(name) && h.Flags[i].has(name[1:]) {
				return true
			}
		}
	}
	return false
}

// spellsOut reports whether most flags of the program are words behind one dash, as with find: then letters are not
// bundled either, and only -O2 and -Idir are glued.
func (h *Help) spellsOut() bool {
	words := 0
	for i := range h.Flags {
		if name := h.Flags[i].Names[0]; len(name) > 3 && !isLong(name) && !h.Flags[i].Digits {
			words++
		}
	}
	return words > 3 && 2*words > len(h.Flags)
}

func (f *Flag) has(name string) bool {
	for _, n := range f.Names {
		if n == name {
			return true
		}
	}
	return false
}

// bundle proves -abc and -n5 letter by letter.
func (h *Help) bundle(word string, numbers bool) Answer {
	for i, r := range word {
		if i == 0 {
			continue
		}
		end := i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			break
		}
		f := h.Find("-" + string(r))
		if f == nil {
			if rest := word[i:]; strings.Trim(rest, "0123456789") == "" && (numbers || h.digits() != nil) {
				return Answer{Known: true, Flag: h.digits(), Text: rest, HasText: true}
			}
			if i == 1 {
				name, _, _ := strings.Cut(word, "=")
				return Answer{Why: "no " + name + " in its help"}
			}
			return Answer{Why: "no -" + string(r) + " in its help, as in " + word}
		}
		switch {
		case end == len(word):
			return f.alone()
		case h.spellsOut() && (i > 1 || f.Value == None || unicode.IsLower(r) && unicode.IsLetter(firstRune(word[end:]))):
			return Answer{Why: "no " + word + " in its help"}
		case f.Value == Required || f.Value == Optional:
			return f.with(word[end:])
		}
	}
	return Answer{Why: "no " + word + " in its help"}
}
