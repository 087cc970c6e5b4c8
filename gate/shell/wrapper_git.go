package shell

import "strings"

// git runs aliases and settings given with -c, and the commands of a few subcommands.
func (in invocation) git() ([]inner, *Error) {
	s := in.scan(optionTable{short: "+C:c:hvpP", long: "exec-path:: html-path man-path info-path paginate no-pager " +
		"no-replace-objects no-lazy-fetch no-optional-locks no-advice bare git-dir: work-tree: namespace: super-prefix: config-env: " +
		"literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs attr-source: list-cmds: version help shallow-file:"})
	var settings []Word
	as := inner{}
	for opt := range s.options() {
		switch opt.name {
		case "c":
			settings = append(settings, opt.value)
		case "config-env":
			name, _, _ := strings.Cut(knownPrefix(opt.value), "=")
			if name == "" || gitRuns(strings.ToLower(name)) {
				return nil, in.refuse("git --config-env takes a command from a variable; write it with -c")
			}
		case "C":
			if as.Dir != nil || opt.value.Text == "" {
				as.UnknownDir, as.Dir = true, nil
				break
			}
			as.Dir = new(opt.value)
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	var inners []inner
	for _, setting := range settings {
		more, err := in.gitSetting(setting, rest, as)
		if err != nil {
			return nil, err
		}
		if inners = append(inners, more...); len(inners) > maxInners {
			return nil, in.tooMuch()
		}
	}
	if len(rest) == 0 {
		return inners, nil
	}
	more, err := in.gitSubcommand(rest, as)
	return append(inners, more...), err
}

// gitSetting is for a setting NAME=VALUE that holds for one call.
func (in invocation) gitSetting(setting Word, rest []Word, as inner) ([]inner, *Error) {
	name, value, _ := strings.Cut(knownPrefix(setting), "=")
	if setting.State != Exact && !strings.Contains(knownPrefix(setting), "=") {
		return nil, in.dynamic(setting, "write the name of the setting out")
	}
	name = strings.ToLower(name)
	alias, isAlias := strings.CutPrefix(name, "alias.")
	if !isAlias && !gitRuns(name) {
		return nil, nil
	}
	if setting.State != Exact {
		return nil, in.dynamicScript("write the value of " + name + " out")
	}
	if name == "core.hookspath" || strings.HasPrefix(name, "include") {
		if value == "/dev/null" || value == "" {
			return nil, nil
		}
		return nil, in.refuse("git -c " + name + " runs what a file holds and is not followed; leave it out")
	}
	text := Word{Text: value, State: Exact}
	if !isAlias {
		if name == "credential.helper" || strings.HasPrefix(name, "credential.") {
			shell, ok := strings.CutPrefix(value, "!")
			if !ok && !strings.Contains(value, "/") { // a program git-credential-NAME
				return nil, nil
			}
			text.Text = shell
		}
		switch value {
		case "", "cat", "true", "false", "0", "1":
			return nil, nil
		}
		as.Maybe = true
		return in.script(text, as)
	}
	if len(rest) > 0 && rest[0].State == Exact && rest[0].Text != alias {
		return nil, nil
	}
	if shell, ok := strings.CutPrefix(value, "!"); ok {
		text.Text = shell
		as.UnknownDir, as.Dir = true, nil // the top of the work tree
		if len(rest) > 1 {                // git puts "$@" behind the text
			text.Text += ` "$@"`
			as.Params = append([]Word{exact("git")}, rest[1:]...)
		}
		return in.script(text, as)
	}
	if strings.ContainsAny(value, `'"\`) {
		return nil, in.refuse("git splits this alias in its own way; write it without quotes")
	}
	words := []Word{in.argv[0]}
	for word := range strings.FieldsSeq(value) {
		words = append(words, exact(word))
	}
	return in.command(append(words, rest[min(1, len(rest)):]...), as)
}

// GitRuns reports whether a setting of git, by its name in lower case, makes git run a program with this value, or lets it
// take more settings or programs from elsewhere. Names of subsections may have any case.
func GitRuns(name, value string) bool {
	section, _, _ := strings.Cut(name, ".")
	switch section {
	case "protocol", "alias", "lfs":
		return true
	case "url":
		return strings.Contains(name, "ext::")
	case "remote":
		if strings.HasSuffix(name, "url") {
			return strings.HasPrefix(value, "ext::") || strings.HasPrefix(value, "-")
		}
	}
	if !gitRuns(name) {
		return false
	}
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1", "cat":
		return false
	}
	switch {
	case name == "core.hookspath":
		return value != "/dev/null"
	case section == "credential":
		return strings.HasPrefix(value, "!") || strings.Contains(value, "/")
	case section == "submodule":
		return strings.HasPrefix(value, "!")
	}
	return true
}

// gitRuns reports whether git runs the value of the setting called name.
func gitRuns(name string) bool {
	switch name {
	case "core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "core.hookspath",
		"core.alternaterefscommand", "sequence.editor", "diff.external", "gpg.program", "credential.helper",
		"interactive.difffilter", "uploadpack.packobjectshook", "include.path", "gpg.ssh.defaultkeycommand",
		"sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "sendemail.smtpserver", "web.browser", "instaweb.httpd":
		return true
	}
	section, key := name, name
	if i := strings.IndexByte(name, '.'); i > 0 {
		section = name[:i]
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		key = name[i+1:]
	}
	switch section {
	case "pager", "includeif":
		return true
	case "diff":
		return key == "command" || key == "textconv"
	case "merge":
		return key == "driver"
	case "filter":
		return key == "clean" || key == "smudge" || key == "process"
	case "difftool", "mergetool", "man", "browser", "guitool", "mergetools":
		return key == "cmd" || key == "path"
	case "gpg":
		return key == "program"
	case "credential":
		return key == "helper"
	case "remote":
		return key == "uploadpack" || key == "receivepack" || key == "vcs"
	case "trailer":
		return key == "command" || key == "cmd"
	case "tar":
		return key == "command"
	case "submodule":
		return key == "update"
	}
	return false
}

// gitSubcommand is for the subcommands that run what their words say.
func (in invocation) gitSubcommand(rest []Word, as inner) ([]inner, *Error) {
	sub := invocation{name: "git " + rest[0].Text, argv: rest, stdin: in.stdin}
	var inners []inner
	var err *Error
	as.Repeated = true
	switch rest[0].Text {
	case "rebase":
		inners, err = sub.optionValue("x", "exec", true)
	case "difftool":
		inners, err = sub.optionValue("x", "extcmd", true)
	case "clone", "fetch", "pull", "ls-remote", "fetch-pack":
		inners, err = sub.gitClone()
	case "push", "send-pack":
		inners, err = sub.optionValue("", "receive-pack", true)
		if err == nil {
			var more []inner
			more, err = sub.optionValue("", "exec", true)
			inners = append(inners, more...)
		}
	case "bisect":
		if len(rest) > 2 && rest[1].Text == "run" {
			return sub.command(rest[2:], inner{Wrapper: "git bisect run", Repeated: true, Dir: as.Dir, UnknownDir: as.UnknownDir})
		}
		return nil, nil
	case "submodule":
		at := 1
		for at < len(rest) && rest[at].Text != "foreach" {
			at++
		}
		for at++; at < len(rest) && (rest[at].Text == "--recursive" || rest[at].Text == "--quiet" || rest[at].Text == "-q"); at++ {
		}
		if at >= len(rest) {
			return nil, nil
		}
		as.Wrapper, as.UnknownDir, as.Dir = "git submodule foreach", true, nil
		if len(rest[at:]) > 1 {
			return sub.command(rest[at:], as)
		}
		return sub.script(rest[at], as)
	case "filter-branch":
		for _, filter := range []string{"setup", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter",
			"commit-filter", "tag-name-filter"} {
			more, err := sub.optionValue("", filter, true)
			if err != nil {
				return nil, err
			}
			inners = append(inners, more...)
		}
	}
	for i := range inners {
		inners[i].Dir, inners[i].UnknownDir, inners[i].Repeated, inners[i].Wrapper = as.Dir, as.UnknownDir, true, "git"
	}
	return inners, err
}

// gitClone is for the program of the other side, and for addresses that are commands.
func (in invocation) gitClone() ([]inner, *Error) {
	short := ""
	if in.name == "git clone" {
		short = "u"
	}
	inners, err := in.optionValue("", "upload-pack", true)
	if err != nil {
		return nil, err
	}
	for at, w := range in.argv {
		if short != "" && strings.HasPrefix(w.Text, "-u") {
			return nil, in.refuse("git clone -u is not followed; write --upload-pack=")
		}
		if text, ok := strings.CutPrefix(w.Text, "ext::"); ok && w.State == Exact {
			if !commonText(text) {
				return nil, in.refuse("this address runs a command that is not followed; use another transport")
			}
			inners = append(inners, inner{Script: new(exact(text))})
		}
		var setting Word
		switch {
		case in.name != "git clone":
			continue
		case (w.Text == "-c" || w.Text == "--config") && at+1 < len(in.argv):
			setting = in.argv[at+1]
		case strings.HasPrefix(w.Text, "--config="):
			setting = *trimmed(w, len("--config="))
		default:
			continue
		}
		more, err := in.gitSetting(setting, nil, inner{})
		if err != nil {
			return nil, err
		}
		inners = append(inners, more...)
	}
	return inners, nil
}
