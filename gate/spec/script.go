package spec

import (
	"cmp"
	"strings"

	"gatehouse/gate/call"
)

// script is a program in a small language of which it can be seen what it reads, writes and runs: sed and awk. Where
// that cannot be told, it is unknown.
func (t *translator) script() {
	p := &t.p
	awk := strings.HasSuffix(p.top().tool, "awk")
	see := func(word int32, text, arg, from string) {
		if word > 0 && t.runTime(word) {
			t.each(maskCode, call.Effect{Text: text, Arg: arg})
			return
		}
		s := scan{text: text}
		if awk {
			s.awk()
		} else {
			s.sed()
		}
		for _, e := range s.found {
			switch {
			case e.kind&maskRun != 0:
				sure := call.Sure
				if e.name == "" {
					sure = call.Unknown
				}
				t.each(maskRun, call.Effect{Text: cmp.Or(e.name, from), Arg: arg, Sure: sure})
			case e.name == "" || e.name == "-" || device(e.name):
				if e.name == "" {
					t.each(e.kind, call.Effect{Arg: arg})
				}
			default:
				t.made(e.kind, t.places.now, e.name, call.Effect{Arg: arg, Sure: call.Sure})
			}
		}
	}
	for i := range p.hits {
		h := &p.hits[i]
		if !h.has {
			continue
		}
		switch dest := p.optionOf(h).dest; dest {
		case "expression":
			see(h.word, h.value, dest, "")
		case "in_place":
			if !awk {
				t.backups(h.word, h.value)
			}
		case "script_file", "program_file", "exec", "include":
			if dest == "include" && h.value == "inplace" {
				continue
			}
			if text, ok := t.content(h.word, h.value, &t.places.now); ok {
				see(0, text, dest, h.value)
			} else if t.o.ReadFile != nil {
				t.each(maskRun, call.Effect{Text: h.value, Arg: dest})
			}
		case "load":
			t.each(maskRun, call.Effect{Text: h.value, Arg: dest})
		}
	}
	for _, name := range []string{"script", "program"} {
		t.words(name, func(word int32, text string) { see(word, text, name, "") })
	}
}

// backups are the files that sed -iSUFFIX keeps: a * in the suffix stands for the name of the file.
func (t *translator) backups(word int32, suffix string) {
	if suffix == "" {
		return
	}
	t.words("paths", func(file int32, name string) {
		if t.runTime(word) || t.runTime(file) {
			t.each(maskWrite, call.Effect{Arg: "in_place_suffix"})
			return
		}
		dir, base := "", name
		if at := strings.LastIndexByte(name, '/'); at >= 0 {
			dir, base = name[:at+1], name[at+1:]
		}
		backup := base + suffix
		if strings.Contains(suffix, "*") {
			backup = strings.ReplaceAll(suffix, "*", base)
		}
		if strings.Contains(suffix, "/") {
			t.made(maskWrite, t.places.now, backup, call.Effect{Arg: "in_place_suffix", Sure: call.Maybe})
		}
		t.made(maskWrite, t.places.now, dir+backup, call.Effect{Arg: "in_place_suffix", Sure: call.Sure})
	})
}

// A scan looks through the text of a program.
type scan struct {
	text  string
	at    int
	found []access
}

// An access is what a program does to a file, or the command that it runs; a name that is not a constant is "".
type access struct {
	kind mask
	name string
}

func (s *scan) note(kind mask, name string) { s.found = append(s.found, access{kind, name}) }

func (s *scan) done() bool { return s.at >= len(s.text) }

func (s *scan) skip(set string) {
	for !s.done() && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

// rest returns what is left of the line.
func (s *scan) rest() string {
	end := strings.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		end = len(s.text) - s.at
	}
	line := s.text[s.at : s.at+end]
	s.at += end
	return strings.TrimLeft(line, " \t")
}

// delimited skips to behind the next delimiter that no backslash stands before and that is in no [ ].
func (s *scan) delimited(by byte) {
	class := false
	for ; !s.done(); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '[' && !class:
			class = true
			if s.at+1 < len(s.text) && s.text[s.at+1] == '^' {
				s.at++
			}
			if s.at+1 < len(s.text) && s.text[s.at+1] == ']' {
				s.at++
			}
		case c == ']':
			class = false
		case c == by && !class:
			s.at++
			return
		}
	}
}

// plain skips to behind the next delimiter that no backslash stands before.
func (s *scan) plain(by byte) {
	for ; !s.done(); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case by:
			s.at++
			return
		}
	}
}

// sed looks at each command of a sed script.
func (s *scan) sed() {
	for {
		s.skip(" \t\n;{}")
		if s.done() {
			return
		}
		if !s.address() {
			continue
		}
		c := s.text[s.at]
		s.at++
		switch c {
		case '#':
			s.rest()
		case ':', 'b', 't', 'T', 'v': // a label ends with a blank or a semicolon
			s.skip(" \t")
			for !s.done() && strings.IndexByte(" \t\n;}", s.text[s.at]) < 0 {
				s.at++
			}
		case 'a', 'i', 'c':
			for line := s.rest(); strings.HasSuffix(line, `\`) && !s.done(); line = s.rest() {
				s.at++
			}
		case 'r', 'R':
			s.note(maskRead, s.rest())
		case 'w', 'W':
			s.note(maskWrite, s.rest())
		case 'e':
			s.note(maskRun, s.rest())
		case 'y', 's':
			s.substitute(c)
		}
	}
}

// address skips the addresses before a command, and reports whether a command follows.
func (s *scan) address() bool {
	for !s.done() {
		switch c := s.text[s.at]; {
		case c == '/':
			s.at++
			s.delimited('/')
			s.skip("IM")
		case c == '\\' && s.at+1 < len(s.text):
			s.at += 2
			s.delimited(s.text[s.at-1])
			s.skip("IM")
		case c >= '0' && c <= '9' || strings.IndexByte("$,~+! \t", c) >= 0:
			s.at++
		default:
			return c != '\n' && c != ';' && c != '{' && c != '}'
		}
	}
	return false
}

func (s *scan) substitute(command byte) {
	if s.done() {
		return
	}
	by := s.text[s.at]
	s.at++
	s.delimited(by)
	s.plain(by)
	for command == 's' && !s.done() {
		c := s.text[s.at]
		switch {
		case c == 'w':
			s.at++
			s.note(maskWrite, s.rest())
			return
		case c == 'e':
			s.note(maskRun, "")
		case c >= '0' && c <= '9' || strings.IndexByte("gpiImM", c) >= 0:
		default:
			return
		}
		s.at++
	}
}

// awk looks for the places where an awk program opens a file or runs a command.
func (s *scan) awk() {
	printing, depth := false, 0
	value := false // the last thing was a value, so a slash divides
	for !s.done() {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			s.plain('"')
			value = true
			continue
		case c == '#':
			s.rest()
			continue
		case c == '/' && !value:
			s.at++
			s.delimited('/')
			value = true
			continue
		case letter(c):
			word := s.word()
			value = word != "print" && word != "printf" && word != "return" && word != "in"
			switch word {
			case "print", "printf":
				printing, depth = true, 0
			case "system":
				s.skip(" \t")
				if !s.done() && s.text[s.at] == '(' {
					s.at++
					s.note(maskRun, s.constant(")"))
				}
			case "getline":
				if s.input() {
					s.note(maskRead, s.constant(";}\n)&|"))
				}
			case "ARGV": // a program can add to the files that it reads
				s.note(maskRead, "")
			case "load", "include":
				s.note(maskCode, "")
			}
			continue
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ';' || c == '}' || c == '\n':
			printing = false
		case c == '|' && strings.HasPrefix(s.text[s.at:], "||"):
			s.at++
		case c == '|' || c == '>' && printing && depth <= 0:
			s.at++
			kind := maskWrite
			if c == '|' {
				kind = maskRun
			} else if strings.HasPrefix(s.text[s.at:], ">") {
				s.at++
				kind = maskAppend
			}
			s.skip("& \t")
			if c == '|' && strings.HasPrefix(s.text[s.at:], "getline") {
				s.note(maskRun, "")
				continue
			}
			s.note(kind, s.constant(";}\n"))
			value = true
			continue
		}
		value = c == ')' || c == ']' || c == '$' || c >= '0' && c <= '9' || value && (c == ' ' || c == '\t')
		s.at++
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func (s *scan) word() string {
	from := s.at
	for !s.done() && (letter(s.text[s.at]) || s.text[s.at] >= '0' && s.text[s.at] <= '9') {
		s.at++
	}
	return s.text[from:s.at]
}

// input reports whether a < follows, perhaps behind a variable, and skips it.
func (s *scan) input() bool {
	end := strings.IndexAny(s.text[s.at:], "<;}\n()&|")
	if end < 0 || s.text[s.at+end] != '<' {
		return false
	}
	s.at += end + 1
	return true
}

// constant returns the text of a string that is all there is up to one of the characters in end; else "".
func (s *scan) constant(end string) string {
	s.skip(" \t")
	if s.done() || s.text[s.at] != '"' {
		return ""
	}
	from := s.at + 1
	s.at++
	s.plain('"')
	text := s.text[from:max(from, s.at-1)]
	s.skip(" \t")
	if !s.done() && strings.IndexByte(end, s.text[s.at]) < 0 || strings.IndexByte(text, '\\') >= 0 {
		return ""
	}
	return text
}
