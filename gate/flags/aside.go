package flags

import (
	"strings"
)

// usageLines sets the lines of the usage aside and returns its alternatives, each in one piece.
func (p *parser) usageLines() (usage []string) {
	size := 0
	for i := 0; i < len(p.lines) && size < maxUsage; i++ {
		line := p.lines[i]
		text := strings.TrimLeft(line, " ")
		after, column, ok := usageStart(text)
		if !ok {
			continue
		}
		at := len(line) - len(text)
		man := after == "" && column == 0
		p.used[i] = true
		var block []string
		program := firstWord(after)
		if after != "" {
			block = append(block, after)
		}
		j := i + 1
		for ; j < len(p.lines); j++ {
			next := strings.TrimLeft(p.lines[j], " ")
			indented := len(p.lines[j]) - len(next)
			if next == "" {
				if after == "" && len(block) == 0 || man && j+1 < len(p.lines) && indent(p.lines[j+1]) > at && p.lines[j+1] != "" {
					continue
				}
				break
			}
			if man && indented <= at {
				break
			}
			if or, found := strings.CutPrefix(next, "or: "); found {
				next = strings.TrimLeft(or, " ")
				block = append(block, next)
				p.used[j] = true
				continue
			}
			if len(block) == 0 {
				if atFlag(next) || indented < at {
					break
				}
				program = firstWord(next)
				block = append(block, next)
				p.used[j] = true
				continue
			}
			if firstWord(next) == program && (indented >= at) {
				block = append(block, next)
				p.used[j] = true
				continue
			}
			open := depth(block[len(block)-1]) > 0
			deeper := indented > at
			if !open && (!deeper || atFlag(next) && !man || strings.HasSuffix(next, ":") || strings.Contains(next, ":=")) {
				break
			}
			if !open && !man && after != "" && indented < at+column && !strings.ContainsAny(next[:1], "[({<|.") {
				break
			}
			if man && at == 0 && isUpperHeading(next) && indented == 0 {
				break
			}
			block[len(block)-1] += " " + next
			p.used[j] = true
			if len(block[len(block)-1]) > maxLine {
				break
			}
		}
		for _, line := range block {
			size += len(line)
		}
		usage = append(usage, block...)
		i = j - 1
	}
	return usage
}

// usageStart reports whether a line begins the usage, with what stands after the word and the column of that.
func usageStart(text string) (after string, column int, ok bool) {
	lower := strings.ToLower(text)
	switch {
	case text == "SYNOPSIS" || text == "USAGE":
		return "", 0, true
	case strings.HasPrefix(lower, "usage of ") && strings.HasSuffix(text, ":"):
		return "", 1, false
	case strings.HasPrefix(lower, "usage:"):
		after = strings.TrimLeft(text[len("usage:"):], " ")
		return after, len(text) - len(after), true
	case strings.HasPrefix(lower, "usage ") && strings.Contains(text, "["):
		after = strings.TrimLeft(text[len("usage "):], " ")
		return after, len(text) - len(after), true
	}
	// As the shell's help has it: "cd: cd [-L|-P] [dir]".
	name, rest, found := strings.Cut(text, ": ")
	if found && name != "" && !strings.Contains(name, " ") && strings.HasPrefix(rest, name+" ") {
		return rest, len(name) + 2, true
	}
	return "", 0, false
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// depth counts brackets that are open at the end of s.
func depth(s string) (n int) {
	for _, r := range s {
		switch r {
		case '[', '{', '(':
			n++
		case ']', '}', ')':
			n--
		}
	}
	return n
}

// ruleLines sets aside rules of the form NAME := { … }, as ip prints them, and returns them by name.
func (p *parser) ruleLines() map[string]string {
	rules := map[string]string{}
	for i := 0; i < len(p.lines); i++ {
		before, rule, ok := strings.Cut(p.lines[i], ":=")
		fields := strings.Fields(before)
		if !ok || len(fields) == 0 || strings.ToUpper(fields[len(fields)-1]) != fields[len(fields)-1] {
			continue
		}
		p.used[i] = true
		for depth(rule) > 0 && i+1 < len(p.lines) && p.lines[i+1] != "" {
			i++
			p.used[i] = true
			rule += " " + strings.TrimLeft(p.lines[i], " ")
		}
		rules[fields[len(fields)-1]] += " | " + rule
	}
	return rules
}

// splitColumns takes lines apart that hold two entries side by side, each with its text.
func (p *parser) splitColumns() {
	seen := map[int]int{}
	cuts := make([]int, len(p.lines))
	for i, line := range p.lines {
		if p.used[i] || !atFlag(strings.TrimLeft(line, " ")) {
			continue
		}
		first, ok := readDefinition(strings.TrimLeft(line, " "))
		if !ok || first.text == "" || first.weak {
			continue
		}
		from := indent(line) + first.column
		for j := from + 3; j < len(line); j++ {
			if line[j] != '-' || line[j-1] != ' ' || line[j-2] != ' ' || !atFlag(line[j:]) {
				continue
			}
			if d, ok := readDefinition(line[j:]); ok && (d.text != "" && !d.weak) && from < j {
				cuts[i] = j
				seen[j]++
				break
			}
		}
	}
	var lines []string
	var used []bool
	for i, line := range p.lines {
		if cut := cuts[i]; cut > 0 && seen[cut] > 1 {
			lines, used = append(lines, strings.TrimRight(line[:cut], " "), strings.Repeat(" ", indent(line))+line[cut:]), append(used, false, false)
			continue
		}
		lines, used = append(lines, line), append(used, p.used[i])
	}
	p.lines, p.used = lines, used
}
