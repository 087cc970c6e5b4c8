package shell

import (
	"slices"
	"strings"
)

// optionOpener is for programs whose work is another, but that run a command which an option names.
func optionOpener(name string) unwrapper {
	switch name {
	case "git":
		return invocation.git
	case "tar", "gtar", "bsdtar":
		return invocation.tar
	case "rsync":
		return invocation.rsync
	case "sort", "gsort":
		return valueOf("", "compress-program", false)
	case "man":
		return valueOf("P", "pager", true)
	case "split", "gsplit":
		return valueOf("", "filter", true)
	case "zip":
		return valueOf("TT", "unzip-command", true)
	case "vim", "vi", "nvim", "ex", "view", "gvim", "vimdiff":
		return invocation.vim
	case "less":
		return invocation.less
	case "make", "gmake":
		return invocation.make
	case "sed", "gsed":
		return invocation.sed
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return invocation.awk
	}
	return nil
}

// valueOf is the unwrapper of a program of which one option names a command.
func valueOf(short, long string, shell bool) unwrapper {
	return func(in invocation) ([]inner, *Error) { return in.optionValue(short, long, shell) }
}

// rsync runs the remote shell of its option, which is no news where that is the one it runs anyway.
func (in invocation) rsync() ([]inner, *Error) {
	inners, err := in.optionValue("e", "rsh", false)
	return slices.DeleteFunc(inners, func(i inner) bool { return len(i.Argv) == 1 && i.Argv[0].is("ssh") }), err
}

// optionValue looks for one option whose value is a command, in words whose other options do not matter: short is glued
// to its value or stands before it, also behind other letters; long may have an "=". A shell gets the value, or its words
// are run as they are.
func (in invocation) optionValue(short, long string, shell bool) ([]inner, *Error) {
	var inners []inner
	for at := 1; at < len(in.argv); at++ {
		w := in.argv[at]
		if w.is("--") {
			break
		}
		value, glued := optionIn(w, short, long)
		if value == nil {
			continue
		}
		if !glued {
			if at+1 == len(in.argv) {
				break
			}
			at++
			value = &in.argv[at]
		}
		one, err := in.commandText(*value, shell)
		if err != nil {
			return nil, err
		}
		inners = append(inners, one...)
	}
	return inners, nil
}

// optionIn gives the value that w has for the option, or an empty word if it is the next one; nil if w is not it.
func optionIn(w Word, short, long string) (value *Word, glued bool) {
	text := knownPrefix(w)
	if rest, ok := strings.CutPrefix(text, "--"); ok {
		name, _, glued := strings.Cut(rest, "=")
		if len(name) > 2 && strings.HasPrefix(long, name) { // also abbreviated
			if glued {
				return trimmed(w, len("--")+len(name)+1), true
			}
			return &Word{}, false
		}
		return nil, false
	}
	if len(short) == 0 || !strings.HasPrefix(text, "-") {
		return nil, false
	}
	i := strings.Index(text, short)
	if i < 1 || strings.Trim(text[1:i], "abcdfghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return nil, false
	}
	if end := i + len(short); end < len(text) || w.State != Exact {
		return trimmed(w, end), true
	}
	return &Word{}, false
}

// commandText is a text that names a command, for a shell or split at blanks.
func (in invocation) commandText(value Word, shell bool) ([]inner, *Error) {
	if value.State != Exact {
		return nil, in.dynamicScript("write the command out")
	}
	if strings.TrimSpace(value.Text) == "" {
		return nil, nil
	}
	if shell {
		return in.script(value, inner{})
	}
	if strings.ContainsAny(value.Text, `'"\`) {
		return nil, in.refuse(in.name + " splits the command in its own way; write it without quotes")
	}
	var words []Word
	for text := range strings.FieldsSeq(value.Text) {
		words = append(words, exact(text))
	}
	return in.command(words, inner{})
}

// tar starts compressors, remote shells and scripts.
func (in invocation) tar() ([]inner, *Error) {
	var inners []inner
	for _, o := range []struct {
		short, long string
		shell       bool
	}{
		{"", "to-command", true},
		{"I", "use-compress-program", false},
		{"", "info-script", true},
		{"", "new-volume-script", true},
		{"F", "", true},
		{"", "rsh-command", false},
	} {
		more, err := in.optionValue(o.short, o.long, o.shell)
		if err != nil {
			return nil, err
		}
		inners = append(inners, more...)
	}
	for at, w := range in.argv {
		if w.Text == "--checkpoint-action" && at+1 < len(in.argv) {
			w = Word{Text: "--checkpoint-action=" + in.argv[at+1].Text, State: in.argv[at+1].State}
		}
		text, ok := strings.CutPrefix(w.Text, "--checkpoint-action=")
		if ok && strings.HasPrefix(text, "exec") {
			_, command, _ := strings.Cut(text, "=")
			more, err := in.commandText(Word{Text: command, State: w.State}, true)
			if err != nil {
				return nil, err
			}
			inners = append(inners, more...)
		} else if ok && w.State != Exact {
			return nil, in.dynamicScript("write the action out")
		}
	}
	if len(in.argv) > 2 && !strings.HasPrefix(in.argv[1].Text, "-") && strings.ContainsAny(in.argv[1].Text, "IF") &&
		strings.Trim(in.argv[1].Text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
		return nil, in.refuse("the program of tar's old option bundle is not followed; write the options with a dash")
	}
	return inners, nil
}

// vim runs what stands behind "!" in a command.
func (in invocation) vim() ([]inner, *Error) {
	var inners []inner
	for at := 1; at < len(in.argv); at++ {
		w := in.argv[at]
		if w.is("--") {
			break
		}
		var command Word
		switch {
		case w.Text == "-c" || w.Text == "--cmd":
			if at++; at == len(in.argv) {
				return inners, nil
			}
			command = in.argv[at]
		case strings.HasPrefix(w.Text, "-c"):
			command = *trimmed(w, 2)
		case strings.HasPrefix(w.Text, "+"):
			command = *trimmed(w, 1)
		default:
			continue
		}
		if command.State != Exact {
			return nil, in.dynamicScript("write the command out")
		}
		text := strings.TrimLeft(command.Text, ": \t")
		for _, modifier := range []string{"silent! ", "silent ", "sil ", "sil! "} {
			text = strings.TrimPrefix(text, modifier)
		}
		bang := strings.IndexByte(text, '!')
		switch {
		case bang < 0 && !strings.Contains(text, "system(") && !strings.Contains(text, "term"):
		case bang == 0:
			inners = append(inners, inner{Script: &Word{Text: text[1:], State: Exact}})
		case bang > 0 && strings.Trim(text[:bang], "abcdefghijklmnopqrstuvwxyz") == "" &&
			(bang+1 == len(text) || strings.IndexByte(" |", text[bang+1]) >= 0) && text[0] != 'r':
			// q!, wq!, e! name: a forced command
		default:
			return nil, in.refuse("this command of " + in.name + " can run a program and is not followed; leave it out")
		}
	}
	return inners, nil
}

// less runs +!COMMAND once it has started.
func (in invocation) less() ([]inner, *Error) {
	var inners []inner
	for _, w := range in.argv[1:] {
		text := strings.TrimPrefix(w.Text, "+")
		text = strings.TrimPrefix(text, "+")
		if text == w.Text || text == "" {
			continue
		}
		if w.State != Exact {
			return nil, in.dynamicScript("write the command out")
		}
		switch {
		case text[0] == '!':
			inners = append(inners, inner{Script: &Word{Text: text[1:], State: Exact}})
		case strings.ContainsAny(text, "!|#") && strings.IndexByte("/?&", text[0]) < 0:
			return nil, in.refuse("this command of less can run a program and is not followed; leave it out")
		}
	}
	return inners, nil
}

// make runs recipes with the program in SHELL, and takes text with --eval.
func (in invocation) make() ([]inner, *Error) {
	for at := 1; at < len(in.argv); at++ {
		w := in.argv[at]
		name, value, ok := strings.Cut(w.Text, "=")
		name = strings.TrimRight(name, ":?+! \t")
		switch {
		case strings.HasPrefix(w.Text, "--eva"), strings.HasPrefix(w.Text, "-E"):
			return nil, in.refuse("make --eval is not followed; write its text into a makefile")
		case !ok:
		case name == ".SHELLFLAGS", name == "MAKEFLAGS", name == "GNUMAKEFLAGS", name == "MAKE":
			return nil, in.refuse("make with " + name + " changes which program runs the recipes; leave it out")
		case name == "SHELL":
			if w.State != Exact || shellOpener(baseName(value)) == nil || strings.Contains(value, " ") {
				return nil, in.refuse("make with this SHELL runs another program for each recipe line; leave it out")
			}
		}
	}
	return nil, nil
}
