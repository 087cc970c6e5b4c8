package shell

import "strings"

// xargs puts what it reads behind its words, or in place of the text of -I; without words it runs echo.
func (in invocation) xargs() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+0a:E:e::i::I:l::L:n:oprs:txP:d:",
		long: "null arg-file: delimiter: eof:: replace:: max-lines:: max-args: open-tty interactive no-run-if-empty " +
			"max-chars: verbose show-limits exit max-procs: process-slot-var: help version",
		none: "help version",
	})
	as := inner{Repeated: true, XArgs: true}
	placeholder := ""
	for opt := range s.options() {
		switch opt.name {
		case "I", "i", "replace":
			placeholder = "{}"
			if opt.set {
				text, err := in.exact(opt.value, "placeholder")
				if err != nil {
					return nil, err
				}
				placeholder = text
			}
			as.XArgs = false
		case "n", "max-args", "L", "l", "max-lines": // takes -I back, at least in some versions
			as.XArgs = true
		case "r", "no-run-if-empty", "p", "interactive":
			as.Maybe = true
		case "process-slot-var":
			as.Env = append(as.Env, Assign{Name: opt.value.Text, Value: Word{Text: "slot"}})
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if len(rest) == 0 {
		rest = []Word{exact("echo")}
	}
	if placeholder != "" {
		rest = replaced(rest, func(text string) bool { return strings.Contains(text, placeholder) }, false)
	}
	return in.command(rest, as)
}

// find runs what stands between -exec and its end, ";" or "{} +".
func (in invocation) find() ([]inner, *Error) {
	var inners []inner
	var unsure *Word // a word that may turn out to be -exec
	for at := 1; at < len(in.argv); at++ {
		w := in.argv[at]
		if w.State != Exact || w.Splits {
			prefix := knownPrefix(w)
			switch {
			case prefix != "" && prefix[0] != '-' && !w.Splits:
			case w.Splits:
				return nil, in.dynamic(w, `it may become several words, -exec and a command among them; quote it`)
			case w.State == Pattern && strings.ContainsAny(w.Text, "*?[{+@!"):
				return nil, in.dynamic(w, `it may become -exec and a command; write "./" before it`)
			default:
				unsure = &in.argv[at]
			}
			continue
		}
		switch w.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end, as, err := in.findCommand(at)
			if err != nil {
				return nil, err
			}
			inners = append(inners, as)
			at = end
		case ";", "+":
			if unsure != nil {
				return nil, in.dynamic(*unsure, `it may be -exec; write "./" before it, or spell it out`)
			}
		default:
			at += findValues(w.Text)
		}
	}
	return inners, nil
}

// findCommand reads the command that begins after the word at; end is the index of its last word.
func (in invocation) findCommand(at int) (end int, as inner, err *Error) {
	action := in.argv[at].Text
	many, unknown, failed := false, false, false
	for end = at + 1; ; end++ {
		if end >= len(in.argv) {
			if unknown {
				return 0, inner{}, in.refuse(action + ` of ` + in.name + ` has no end; write \; after its command`)
			}
			failed = true // find says so, and runs nothing
			break
		}
		w := in.argv[end]
		if manyWords(w) && knownPrefix(w) == "" {
			return 0, inner{}, in.dynamic(w, "it may end the command; quote it")
		}
		if w.State != Exact {
			unknown = true
			continue
		}
		if w.Text == ";" {
			break
		}
		if w.Text == "+" && in.argv[end-1].Text == "{}" && end > at+1 && (action == "-exec" || action == "-execdir") {
			many = true
			break
		}
	}
	if end == at+1 {
		return 0, inner{}, in.refuse(action + " of " + in.name + " has no command; write one after it")
	}
	return end, inner{
		Argv:     replaced(in.argv[at+1:end:end], func(text string) bool { return strings.Contains(text, "{}") }, many),
		Repeated: true, Maybe: action[1] == 'o' || failed, UnknownDir: strings.HasSuffix(action, "dir"),
	}, nil
}

// findValues is the number of words that a test or action of find takes.
func findValues(name string) int {
	switch name {
	case "-fprintf":
		return 2
	case "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-fstype", "-gid", "-group", "-ilname", "-iname", "-inum",
		"-ipath", "-iregex", "-iwholename", "-links", "-lname", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-name", "-newer",
		"-path", "-perm", "-regex", "-regextype", "-samefile", "-size", "-type", "-uid", "-used", "-user", "-wholename",
		"-xtype", "-context", "-printf", "-fls", "-fprint", "-fprint0", "-files0-from", "-D", "-Bmin", "-Bnewer", "-Btime",
		"-flags", "-f":
		return 1
	}
	if len(name) == len("-newerXY") && strings.HasPrefix(name, "-newer") {
		return 1
	}
	return 0
}

// fd runs the words after -x up to ";", with the path for {} and its like, or behind them.
func (in invocation) fd() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "HIusiFaglLpr0d:E:t:e:S:o:x::X::c:j:1qhV",
		long: "hidden no-hidden no-ignore ignore no-ignore-vcs ignore-vcs no-require-git require-git no-ignore-parent " +
			"ignore-parent no-global-ignore-file unrestricted case-sensitive ignore-case glob regex fixed-strings and: " +
			"literal absolute-path relative-path list-details follow no-follow full-path print0 max-depth: maxdepth: " +
			"min-depth: exact-depth: exclude: prune type: extension: size: changed-within: change-newer-than: newer: " +
			"changed-after: changed-before: change-older-than: older: owner: format: exec:: exec-batch:: batch-size: " +
			"ignore-file: color: hyperlink:: ignore-contain: threads: max-buffer-time: max-results: quiet show-errors " +
			"base-directory: path-separator: search-path: strip-cwd-prefix:: one-file-system mount xdev gen-completions:: " +
			"help version",
		none: "h help V version",
	})
	var inners []inner
	var dir *Word
	for opt := range s.options() {
		switch opt.name {
		case "base-directory":
			dir = &opt.value
		case "x", "exec", "X", "exec-batch":
			var words []Word
			if opt.set {
				words = append(words, opt.value)
			}
			for s.next < len(s.argv) && s.argv[s.next].Text != ";" {
				words = append(words, s.argv[s.next])
				s.next++
			}
			s.next++
			if len(words) == 0 {
				return nil, in.refuse("fd -x has no command; write one after it")
			}
			changed := replaced(words, holdsPath, opt.name == "X" || opt.name == "exec-batch")
			inners = append(inners, inner{Argv: changed, Repeated: true, XArgs: !anyWord(words, holdsPath)})
		}
	}
	if _, ok := s.rest(); !ok {
		return nil, s.err
	}
	for i := range inners {
		inners[i].Dir = dir
	}
	return inners, nil
}

// holdsPath reports whether text has one of fd's and parallel's placeholders.
func holdsPath(text string) bool {
	for _, p := range []string{"{}", "{/}", "{//}", "{.}", "{/.}"} {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

func anyWord(words []Word, holds func(string) bool) bool {
	for _, w := range words {
		if holds(w.Text) {
			return true
		}
	}
	return false
}

// replaced is words in which those that hold a placeholder are known only at run time.
func replaced(words []Word, holds func(string) bool, many bool) []Word {
	var changed []Word
	for i, w := range words {
		if !holds(w.Text) {
			continue
		}
		if changed == nil {
			changed = append(changed, words...)
		}
		changed[i] = Word{Text: w.Text, Splits: w.Splits || many}
	}
	if changed == nil {
		return words
	}
	return changed
}
