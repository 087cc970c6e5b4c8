package flags

import (
	"slices"
	"strings"
	"unicode"
)

// A section is what the lines under a heading hold.
type section uint8

const (
	other section = iota
	options
	commands
	examples
	notes
)

// headingOf reports whether text is a heading, and of what.
func headingOf(text string, at int) (section, bool) {
	title, colon := strings.CutSuffix(text, ":")
	upper := at == 0 && isUpperHeading(text)
	lower := strings.ToLower(title)
	plain := len(text) < 60 && !strings.ContainsAny(title, "<>[]{}=|`\"")
	if !colon && !upper && !(at == 0 && plain && strings.HasSuffix(lower, " commands")) {
		return other, false
	}
	switch {
	case lower == "command is one of the following", lower == "group is one of the following": // as gcloud has it
		return commands, true
	case strings.HasPrefix(lower, "example"), strings.HasSuffix(lower, "examples"):
		return examples, true
	case slices.Contains([]string{
		"notes", "bugs", "history", "see also", "environment", "environment variables", "exit status", "exit codes", "diagnostics", "authors",
		"author", "caveats", "files", "copyright", "standards", "conforming to", "compatibility",
	}, lower):
		return notes, true
	case strings.Contains(lower, "command line") || strings.Contains(lower, "command-line"):
		return other, true
	case plain || colon && len(text) < 100:
		words := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' })
		for _, word := range []string{"commands", "subcommands", "sub-commands", "verbs"} {
			if slices.Contains(words, word) && !slices.Contains(words, "options") {
				return commands, true
			}
		}
		return other, true
	}
	return other, upper
}

// A commandList is a list of subcommands while it is read.
type commandList struct {
	at      int // its indentation, once known
	begun   bool
	program string // the entries may begin with its name
}

// names returns the subcommands that a line of the list names.
func (c *commandList) names(text string, at int) []string {
	if at == 0 {
		return nil // a heading inside of the list
	}
	if c.begun && at > c.at+1 {
		return nil // the text of an entry
	}
	if list := commaList(text); list != nil {
		return list
	}
	name, rest := commandName(text)
	if name == "" {
		return nil
	}
	if name == c.program && strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "  ") { // app serve [port]   text
		if name, rest = commandName(rest[1:]); name == "" {
			return nil
		}
	}
	names := []string{name}
	for strings.HasPrefix(rest, ", ") || strings.HasPrefix(rest, "|") {
		var alias string
		if alias, rest = commandName(strings.TrimLeft(rest, ",| ")); alias == "" {
			break
		}
		names = append(names, alias)
	}
	rest = strings.TrimPrefix(rest, ":")
	rest = strings.TrimPrefix(rest, "*")
	words := strings.TrimLeft(rest, " ")
	if gap := len(rest) - len(words); words != "" && gap < 2 {
		// Operands may stand before the text: list-units [PATTERN...]  text
		for words != "" && !strings.HasPrefix(words, "- ") && !strings.HasPrefix(words, ": ") {
			word, after := readPlaceholder(words)
			if word == "" || !isPlaceholder(word) && word[0] != '[' && !strings.HasPrefix(word, "-") {
				return nil
			}
			after = strings.TrimLeft(after, ".|")
			words = strings.TrimLeft(after, " ")
			if len(after)-len(words) > 1 {
				break
			}
		}
	}
	c.at, c.begun = at, true
	return names
}

// commaList reads a line of nothing but names and commas.
func commaList(text string) (names []string) {
	parts := strings.Split(strings.TrimSuffix(text, ","), ",")
	if len(parts) < 3 {
		return nil
	}
	for _, part := range parts {
		name, rest := commandName(strings.TrimSpace(part))
		if name == "" || rest != "" {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// commandName reads a word in small letters, as subcommands are called.
func commandName(s string) (name, rest string) {
	end := 0
	for i, r := range s {
		if !(unicode.IsLower(r) || unicode.IsDigit(r) || i > 0 && (r == '-' || r == '_' || r == '.' || unicode.IsUpper(r))) {
			break
		}
		end = i + len(string(r))
	}
	name = strings.TrimRight(s[:end], ".-")
	if name == "" || !unicode.IsLower(firstRune(name)) {
		return "", s
	}
	rest = s[len(name):]
	if rest != "" && !strings.ContainsRune(" ,:*|", firstRune(rest)) {
		return "", s
	}
	return name, rest
}
