package policy

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// A form is the beginning of a call, taken apart.
type form struct {
	base     string   // name of the program, without its directory
	file     string   // its path, clean, where the entry names one
	path     []string // canonical, from the executable on
	options  []option
	operands []string
	tree     bool // the last operand is a directory: what is below it is meant
}

// An option is one that the entry names.
type option struct {
	flag     string // canonical, or as written if the spec does not know it
	names    []string
	value    string
	hasValue bool
	off      bool
	stranger bool
	level    int
}

// maxWords bounds the words of an entry: matching counts how far it has come in an array of that size.
const maxWords = 30

// words takes text apart as the shell does. It must be plain words: no command, no operator, nothing that the shell
// would replace.
func words(text string) ([]shell.Word, error) {
	commands, err := shell.Parse("echo "+text, shell.Options{}) // as operands they are words, whatever they would start
	if err != nil {
		return nil, fmt.Errorf("is not plain words: %w", err)
	}
	if len(commands) != 1 || commands[0].Name() != "echo" || len(commands[0].Redirects) > 0 {
		return nil, fmt.Errorf("must be the beginning of one call: no operators, redirections or substitutions")
	}
	list := commands[0].Words[1:]
	for _, w := range list {
		switch {
		case w.State == shell.Pattern:
			return nil, fmt.Errorf("has the glob %q; leave it out, since an entry covers every call that begins with it, or put it "+
				"in quotes", w.Text)
		case w.State != shell.Exact || w.Splits:
			return nil, fmt.Errorf("has the word %q, whose value is known only at run time; write it out", w.Text)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("has no words")
	}
	if len(list) > maxWords {
		return nil, fmt.Errorf("has %d words; %d are the most", len(list), maxWords)
	}
	return list, nil
}

// begin makes the form of an entry's text, with more words behind it.
func begin(text, more string, packs *spec.Packs) (form, error) {
	list, err := words(text)
	if err != nil {
		return form{}, err
	}
	if strings.ContainsRune(list[0].Text, '=') && !strings.Contains(list[0].Text, "/") {
		return form{}, fmt.Errorf("begins with an assignment; env.allow says which variables may be set")
	}
	if list[0].Text == "" {
		return form{}, fmt.Errorf("begins with an empty word")
	}
	if more != "" {
		behind, err := words(more)
		if err != nil {
			return form{}, err
		}
		if list = append(list[:len(list):len(list)], behind...); len(list) > maxWords {
			return form{}, fmt.Errorf("has %d words; %d are the most", len(list), maxWords)
		}
	}
	if list[0].Text == "[" || list[0].Text == "[[" {
		list[0].Text = "test"
	}
	calls := spec.Translate([]shell.Command{{Words: list}}, spec.Options{Packs: packs, Forms: true})
	for _, p := range calls[0].Form.Parts {
		if p.Cut {
			return form{}, fmt.Errorf("has an option that is cut short; spell %s out", p.Flag)
		}
	}
	return formOf(&calls[0]), nil
}

func formOf(c *call.Call) form {
	name := c.Argv[0]
	f := form{base: baseName(name), path: c.Form.Path}
	if strings.Contains(name, "/") {
		f.file = path.Clean(name)
	}
	file := false // the last operand
	for _, p := range c.Form.Parts {
		switch p.Role {
		case call.Flag, call.Stranger:
			f.options = append(f.options, option{
				flag: p.Flag, names: p.Names, value: p.Value, hasValue: p.HasValue, off: p.Off, level: p.Level,
				stranger: p.Role == call.Stranger,
			})
		case call.Operand:
			f.operands = append(f.operands, p.Value)
			file = p.Path || !c.Meta.SpecMatched && len(c.Form.Path) == 1
		}
	}
	if n := len(f.operands); n > 0 {
		last := f.operands[n-1]
		f.tree = file && len(last) > 1 && strings.HasSuffix(last, "/") && !strings.Contains(last, "://")
	}
	return f
}

// flagForm makes the form of one option of a deny entry: the options that text adds to the call.
func flagForm(entry, text string, packs *spec.Packs) (form, error) {
	list, err := words(text)
	if err != nil {
		return form{}, err
	}
	if len(list[0].Text) < 2 || list[0].Text[0] != '-' && list[0].Text[0] != '+' && !strings.HasSuffix(list[0].Text, "=") {
		return form{}, fmt.Errorf("is no option: it must begin with a dash")
	}
	without, err := begin(entry, "", packs)
	if err != nil {
		return form{}, err
	}
	f, err := begin(entry, text, packs)
	if err != nil {
		return form{}, err
	}
	if len(f.options) <= len(without.options) || len(f.operands) != len(without.operands) {
		return form{}, fmt.Errorf("is not read as an option of %s; write one option, with its value behind \"=\" if need be", entry)
	}
	f.options = f.options[len(without.options):]
	return f, nil
}

func baseName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
