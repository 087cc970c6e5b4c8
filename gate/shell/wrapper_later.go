package shell

import "strings"

// systemdRun starts a unit; with --scope, it starts the command itself.
func (in invocation) systemdRun() ([]inner, *Error) {
	s := in.scan(optionTable{
		short: "+hrC:H:M:E:p:tPqGdSu:v",
		long: "help version user system scope unit: description: slice: slice-inherit remain-after-exit send-sighup host: " +
			"machine: capsule: service-type: wait uid: gid: nice: setenv: property: tty pty pty-late pipe quiet on-active: " +
			"on-boot: on-startup: on-unit-active: on-unit-inactive: on-calendar: on-timezone-change on-clock-change " +
			"path-property: socket-property: timer-property: no-block no-ask-password collect working-directory: same-dir " +
			"shell job-mode: ignore-failure expand-environment: background: json: verbose output: root-directory: " +
			"same-root-dir area: empower",
		none: "h help version",
	})
	as := inner{Background: true, UnknownDir: true}
	var inners []inner
	shell, expand := false, true
	for opt := range s.options() {
		switch opt.name {
		case "scope":
			as.Background, as.UnknownDir, expand = false, false, false
		case "t", "pty", "tty", "P", "pipe", "wait":
			as.Background = false
		case "d", "same-dir":
			as.UnknownDir = false
		case "working-directory":
			dir := opt.value
			as.Dir, as.UnknownDir = &dir, false
		case "S", "shell":
			shell = true
		case "H", "host", "M", "machine", "C", "capsule":
			as.Remote = true
		case "E", "setenv":
			as.assign(opt.value)
		case "p", "property":
			more, err := in.unitProperty(opt.value)
			if err != nil {
				return nil, err
			}
			inners = append(inners, more...)
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	switch {
	case len(rest) > 0:
		if expand {
			rest = dollarsUnknown(rest)
		}
		as.Argv = rest
		inners = append(inners, as)
	case shell:
		as.FromStdin = true
		inners = append(inners, as)
	}
	return inners, nil
}

// unitProperty is for properties that name commands, whose language is like the shell's for plain words.
func (in invocation) unitProperty(w Word) ([]inner, *Error) {
	prefix := knownPrefix(w)
	name, _, ok := strings.Cut(prefix, "=")
	if !ok {
		return nil, in.dynamic(w, "write the property out")
	}
	switch {
	case name == "RootDirectory", name == "RootImage", name == "BindPaths":
		return nil, in.refuse("systemd-run with " + name + " makes paths mean others; leave it out")
	case !strings.HasPrefix(name, "Exec") || strings.HasPrefix(name, "ExecPaths"):
		return nil, nil
	}
	text := strings.TrimLeft(w.Text[len(name)+1:], "@-:+!")
	if w.State != Exact || !commonText(text) || strings.ContainsAny(text, ";&|\n%") {
		return nil, in.refuse("the property " + name + " is not followed; run its command on the line itself")
	}
	return []inner{{Script: new(exact(text)), Background: true, UnknownDir: true}}, nil
}

// later is for programs that keep commands from standard input and run them another time.
func (in invocation) later() ([]inner, *Error) {
	if in.name == "crontab" {
		return in.crontab()
	}
	s := in.scan(optionTable{short: "q:f:MmubvVlrdct:ho:", none: "f l r d c V h"})
	if _, ok := s.skip(); !ok {
		return nil, s.err
	}
	if in.stdin.Known {
		return in.script(exact(in.stdin.Text), inner{Background: true})
	}
	return []inner{{FromStdin: true, Background: true}}, nil
}

// crontab installs a table from a file, or from standard input: each line's sixth field is a command.
func (in invocation) crontab() ([]inner, *Error) {
	s := in.scan(optionTable{short: "u:lerisnx:cT:V", none: "l e r c V T"})
	rest, ok := s.skip()
	if !ok {
		return nil, s.err
	}
	if len(rest) > 0 && (rest[0].State != Exact || rest[0].Text != "-" && rest[0].Text != "/dev/stdin") {
		return nil, nil
	}
	if !in.stdin.Known {
		return nil, &Error{Kind: StdinScript, Source: joinTexts(in.argv),
			Message: "crontab reads commands from standard input that is not known; write them into a file first"}
	}
	var inners []inner
	for line := range strings.Lines(in.stdin.Text) {
		line = strings.TrimSpace(line)
		command := line
		fields := 5
		if strings.HasPrefix(line, "@") {
			fields = 1
		}
		for range fields {
			_, after := cutBlank(command)
			command = after
		}
		first, _ := cutBlank(line)
		switch {
		case line == "", line[0] == '#':
			continue
		case strings.Contains(first, "=") || strings.Contains(line, "=") && !strings.ContainsAny(line[:1], "*0123456789@"):
			if strings.HasPrefix(line, "SHELL") || strings.HasPrefix(line, "PATH") || strings.HasPrefix(line, "BASH_ENV") {
				return nil, in.refuse("the table changes what its commands mean by a variable; leave that line out")
			}
			continue
		case command == "":
			return nil, in.refuse("a line of the table has no command; write five fields and a command")
		}
		if percent := strings.IndexByte(strings.ReplaceAll(command, `\%`, "__"), '%'); percent >= 0 {
			command = command[:percent]
		}
		command = strings.ReplaceAll(command, `\%`, "%")
		inners = append(inners, inner{Script: new(exact(command)), Background: true, Repeated: true, UnknownDir: true})
	}
	return inners, nil
}

// cutBlank splits text at its first run of blanks.
func cutBlank(text string) (first, rest string) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimLeft(text[i:], " \t")
}
