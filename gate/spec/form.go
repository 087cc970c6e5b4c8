package spec

import "strings"

// local returns the path in a value of that form, and whether there is one on this machine.
func local(f form, value string) (string, bool) {
	switch f {
	case formAt:
		path, ok := strings.CutPrefix(value, "@")
		return path, ok
	case formKVAt:
		_, v, ok := strings.Cut(value, "=")
		if !ok || v == "" || v[0] != '@' && v[0] != '<' {
			return "", false
		}
		path, _, _ := strings.Cut(v[1:], ";") // curl -F f=@path;type=…
		return path, true
	case formKV:
		if _, path, ok := strings.Cut(value, "="); ok {
			return path, true
		}
		return value, true
	case formRemote:
		return value, !isRemote(value)
	case formVolume:
		source, _, _ := strings.Cut(value, ":")
		return source, strings.HasPrefix(source, "/") || strings.HasPrefix(source, ".") || strings.HasPrefix(source, "~")
	case formMount:
		bind := false
		path := ""
		for field := range strings.SplitSeq(value, ",") {
			k, v, _ := strings.Cut(field, "=")
			switch k {
			case "type":
				bind = v == "bind"
			case "source", "src":
				path = v
			}
		}
		return path, path != "" && (bind || strings.HasPrefix(path, "/"))
	case formRevPath:
		_, path, ok := strings.Cut(value, ":")
		return path, ok && path != ""
	case formSocket:
		path, ok := strings.CutPrefix(value, "unix:")
		if ok && strings.HasPrefix(path, "//") {
			path = path[2:]
		}
		return path, ok || strings.HasPrefix(value, "/")
	case formNameAt: // curl --data-urlencode NAME@PATH
		name, path, ok := strings.Cut(value, "@")
		return path, ok && !strings.Contains(name, "=")
	case formLinePath: // git log -L 1,5:PATH
		at := strings.LastIndexByte(value, ':')
		return value[at+1:], at >= 0
	case formNode:
		path, _, _ := strings.Cut(value, "::")
		return path, true
	case formFields:
		return fieldPath(value)
	case formPathOrFields:
		if !strings.Contains(value, "=") {
			return value, value != "-"
		}
		return fieldPath(value)
	default:
		return value, true
	}
}

// fieldPath returns the path among fields such as id=key,src=PATH. In TARGET.KEY=VALUE, as docker buildx bake --set has
// it, VALUE is a path or fields itself.
func fieldPath(value string) (string, bool) {
	key, rest, ok := strings.Cut(value, "=")
	if !ok {
		return "", false
	}
	if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
		switch key[dot+1:] {
		case "context", "dockerfile":
			return rest, true
		case "output":
			return local(formPathOrFields, rest)
		case "cache-from", "cache-to", "secrets":
			return fieldPath(rest)
		}
		return "", false
	}
	for field := range strings.SplitSeq(value, ",") {
		switch key, path, _ := strings.Cut(field, "="); key {
		case "src", "source", "dest", "destination", "path", "file":
			return path, path != "" && path != "-"
		}
	}
	return "", false
}

// cutSetting splits KEY=VALUE, or KEY VALUE as ssh has it; the key is in lower case.
func cutSetting(setting string) (key, value string, ok bool) {
	end := strings.IndexAny(setting, "= \t")
	if end < 0 {
		return "", "", false
	}
	return strings.ToLower(setting[:end]), strings.TrimLeft(setting[end+1:], "= \t"), true
}

// settingPath returns the file that a setting KEY=PATH of git, ssh or wget names, and what is done with it; "" if it names
// none.
func settingPath(setting string) (kind mask, file string) {
	key, value, _ := cutSetting(setting)
	switch key {
	case "core.worktree", "output_document", "outputdocument", "dir_prefix", "dirprefix", "logfile", "log_file", "save_cookies", "savecookies",
		"userknownhostsfile", "controlpath", "warc_file", "warcfile", "hsts_file", "hstsfile", "rejected_log", "rejectedlog", "init.templatedir":
		return maskRead | maskWrite, value
	case "core.excludesfile", "core.attributesfile", "commit.template", "mailmap.file", "include.path", "blame.ignorerevsfile", "gpg.ssh.allowedsignersfile",
		"post_file", "postfile", "body_file", "bodyfile", "input", "load_cookies", "loadcookies", "ca_certificate", "cacertificate",
		"identityfile", "certificatefile", "globalknownhostsfile":
		return maskRead, value
	}
	if strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path") {
		return maskRead, value
	}
	return 0, ""
}

// settingProgram returns the program that a setting KEY=VALUE of git or ssh names, and whether it names one.
func settingProgram(setting string) (string, bool) {
	key, value, ok := cutSetting(setting)
	if !ok {
		return setting, false
	}
	if value == "" {
		return "/dev/null", strings.HasSuffix(key, ".hookspath") // no directory is another directory than the repository's
	}
	section, name := "", key
	if dot := strings.IndexByte(key, '.'); dot >= 0 {
		section, name = key[:dot], key[strings.LastIndexByte(key, '.')+1:]
	}
	switch section {
	case "":
		switch key {
		case "use_askpass", "useaskpass":
			return value, true
		case "exec": // tar --checkpoint-action=exec=CMD
			return value, true
		case "proxycommand", "localcommand", "knownhostscommand", "remotecommand", "pkcs11provider", "securitykeyprovider":
			return value, value != "none"
		}
	case "alias":
		return strings.CutPrefix(value, "!")
	case "submodule":
		if name == "update" {
			return strings.CutPrefix(value, "!")
		}
	case "pager":
		return value, value != "true" && value != "false"
	case "credential":
		if command, is := strings.CutPrefix(value, "!"); is || strings.HasPrefix(value, "/") {
			return command, name == "helper"
		}
		return "git credential-" + value, name == "helper"
	case "core", "sequence", "diff", "difftool", "merge", "mergetool", "filter", "gpg", "interactive", "uploadpack", "remote",
		"browser", "man", "trailer", "sendemail", "guitool", "web", "tar", "receive", "commit", "hook", "maintenance", "imap":
		switch name {
		case "sshcommand", "editor", "pager", "fsmonitor", "hookspath", "askpass", "gitproxy", "alternaterefscommand", "external",
			"command", "cmd", "textconv", "driver", "clean", "smudge", "process", "program", "defaultkeycommand", "difffilter",
			"packobjectshook", "uploadpack", "receivepack", "vcs", "sendmailcmd", "tocmd", "cccmd", "headercmd", "browser",
			"tunnel":
			return value, name != "fsmonitor" || value != "true" && value != "false"
		}
	}
	return value, false
}
