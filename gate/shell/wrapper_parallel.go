package shell

import "strings"

// parallel joins its words to shell text, once for each value: those after ":::", or what it reads.
func (in invocation) parallel() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+D:mXvkgu0qI:U:j:S:MB:W:oTH:J:P:d:s:a:rE:n:N:C:hL:ptVxY",
		long: "debug: xargs joblog: jl: results: result: res: resume resume-failed retry-failed silent keep-order no-keep-order " +
			"group ungroup latest-line ll line-buffer lb null quote plus I: extensionreplace: er: seqreplace: slotreplace: " +
			"jobs: delay: ssh-delay: load: noswap nice: tag tag-string: tagstring: ctag color color-failed onall nonall " +
			"filter-hosts sshlogin: sshloginfile: slf: controlmaster ssh: transfer-file: transferfile: tf: return: trc: " +
			"transfer cleanup basefile: bf: work-dir: workdir: wd: tmpdir: tempdir: compress open-tty tty dry-run dryrun dr " +
			"progress eta bar total-jobs: total: shuf trim: env: link xapply will-cite halt-on-error: halt: memfree: " +
			"memsuspend: retries: timeout: term-seq: termseq: max-procs: delimiter: max-chars: arg-file: argfile: " +
			"no-run-if-empty max-args: max-replace-args: col-sep: colsep: csv help interactive verbose version " +
			"show-limits exit semaphore semaphore-name: semaphorename: id: semaphore-timeout: st: fg bg wait pipe " +
			"spreadstdin round-robin roundrobin round recstart: recend: block-size: block: skip-first-line header: cat " +
			"fifo pipe-part pipepart tee group-by: files bibtex citation number-of-cpus number-of-cores plain gnu",
		none: "h help V version dry-run dryrun dr bibtex citation number-of-cpus number-of-cores show-limits",
	})
	as := inner{Repeated: true}
	placeholder, quote, piped, fromFile := "{}", false, false, false
	for opt := range s.options() {
		switch opt.name {
		case "S", "sshlogin", "sshloginfile", "slf", "onall", "nonall":
			as.Remote = true
		case "I":
			text, err := in.exact(opt.value, "placeholder")
			if err != nil {
				return nil, err
			}
			placeholder = text
		case "q", "quote":
			quote = true
		case "pipe", "spreadstdin", "pipe-part", "pipepart", "semaphore":
			piped = true
		case "a", "arg-file", "argfile", "header", "col-sep", "colsep", "C", "csv", "n", "N", "max-args", "max-replace-args", "X",
			"m", "xargs":
			fromFile = true
		case "bg":
			as.Background = true
		case "work-dir", "workdir", "wd":
			as.Dir = new(opt.value)
		case "ssh", "J", "debug", "D":
			return nil, in.refuse("parallel's option " + opt.name + " is not followed; leave it out")
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	words, values, literal, err := in.parallelValues(rest)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return in.parallelTexts(values, literal && !fromFile, as)
	}
	text := joined(words)
	if quote {
		text = quoted(words)
	}
	switch {
	case text.State != Exact:
		return in.script(text, as)
	case piped:
	case literal && !fromFile && !strings.Contains(strings.ReplaceAll(text.Text, placeholder, ""), "{"):
		if !strings.Contains(text.Text, placeholder) {
			text.Text += " " + placeholder
		}
		if len(values)*len(text.Text) > maxMade {
			return nil, in.tooMuch()
		}
		var inners []inner
		for _, v := range values {
			one := as
			one.Script = &Word{Text: strings.ReplaceAll(text.Text, placeholder, singleQuoted(v.Text)), State: Exact}
			inners = append(inners, one)
		}
		return inners, nil
	default:
		text = unknownValues(text, placeholder)
	}
	return in.script(text, as)
}

// parallelValues splits the words at ":::". literal says that values is all there will be.
func (in invocation) parallelValues(rest []Word) (words, values []Word, literal bool, err *Error) {
	for at, w := range rest {
		if manyWords(w) && knownPrefix(w) == "" {
			return nil, nil, false, in.dynamic(w, "it may become several words; quote it")
		}
		switch w.Text {
		case ":::":
			values = rest[at+1:]
			literal = true
			for _, v := range values {
				if v.State != Exact || v.Splits || strings.HasPrefix(v.Text, ":::") {
					literal = false
				}
			}
			return rest[:at], values, literal, nil
		case "::::", ":::+", "::::+":
			return rest[:at], nil, false, nil
		}
	}
	return rest, nil, false, nil
}

// parallelTexts is for values that are commands themselves.
func (in invocation) parallelTexts(values []Word, literal bool, as inner) ([]inner, *Error) {
	if values == nil {
		as.FromStdin = true
		return []inner{as}, nil
	}
	if !literal {
		return nil, in.dynamicScript("write the commands out after :::")
	}
	var inners []inner
	for _, v := range values {
		one := as
		one.Script = &v
		inners = append(inners, one)
	}
	return inners, nil
}

// unknownValues puts a variable that nobody has set where parallel puts a value, quoted as parallel quotes it.
func unknownValues(text Word, placeholder string) Word {
	if strings.ContainsAny(text.Text, `'"\`+"`") && strings.Contains(text.Text, "{") {
		text.State = Unknown // the value may stand between quotes
		return text
	}
	const value = `"$parallel_value"`
	found := false
	for _, p := range []string{placeholder, "{/.}", "{//}", "{/}", "{.}", "{#}", "{%}"} {
		if strings.Contains(text.Text, p) {
			found = true
			text.Text = strings.ReplaceAll(text.Text, p, value)
		}
	}
	for digit := '1'; digit <= '9'; digit++ {
		p := "{" + string(digit) + "}"
		if strings.Contains(text.Text, p) {
			found = true
			text.Text = strings.ReplaceAll(text.Text, p, value)
		}
	}
	switch {
	case strings.Contains(text.Text, "{="), strings.Contains(text.Text, "{+"):
		text.State = Unknown
	case !found:
		text.Text += " " + value
	}
	return text
}

// quoted is the text of a command whose words a shell will read as they are.
func quoted(words []Word) Word {
	all := Word{State: Exact}
	var text strings.Builder
	for i, w := range words {
		if i > 0 {
			text.WriteByte(' ')
		}
		if w.State != Exact || w.Splits {
			all.State = Unknown
		}
		if strings.Trim(w.Text, "{}") == "" {
			text.WriteString(w.Text)
		} else {
			text.WriteString(singleQuoted(w.Text))
		}
	}
	all.Text = text.String()
	return all
}
