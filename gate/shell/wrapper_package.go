package shell

import "strings"

// packageOpener is for package managers and environments that run a command of theirs.
func packageOpener(name string) unwrapper {
	switch name {
	case "npx", "pnpx", "bunx":
		return invocation.npx
	case "npm", "pnpm", "yarn", "bun":
		return invocation.nodeManager
	case "uv", "uvx":
		return invocation.uv
	case "poetry", "pipx", "bundle", "direnv", "conda", "mamba", "micromamba":
		return invocation.environment
	case "nix-shell":
		return invocation.nixShell
	case "nix":
		return invocation.nix
	}
	return nil
}

const (
	npmLong = "package: call: yes no no-install quiet silent version help cache: userconfig: workspace: workspaces " +
		"include-workspace-root registry: prefix: loglevel: offline prefer-offline prefer-online ignore-scripts color " +
		"no-color if-present foreground-scripts legacy-peer-deps "
	pnpmLong = "recursive filter: filter-prod: dir: workspace-root silent stream aggregate-output color no-color loglevel: " +
		"reporter: use-stderr package: shell-mode parallel resume-from: report-summary no-bail workspace-concurrency: " +
		"allow-build: "
)

func (in invocation) npx() ([]inner, *Error) {
	o := optionTable{style: pflagStyle, short: "+p:c:yqvhw:s", long: npmLong}
	if in.name == "bunx" {
		o = optionTable{style: pflagStyle, short: "+p:", long: "bun package: verbose silent no-install version help"}
	}
	if in.name == "pnpx" {
		o = optionTable{style: pflagStyle, short: "+cs", long: pnpmLong}
	}
	return in.fetched(in.scan(o))
}

// fetched reads options and a command that may be fetched: its name can carry a version.
func (in invocation) fetched(s *scanner) ([]inner, *Error) {
	s.none = "help h version v V"
	shell := false
	var text *Word // of the last -c
	as := inner{}
	for opt := range s.options() {
		switch opt.name {
		case "c", "call", "shell-mode":
			if opt.set {
				text = &opt.value
			}
			shell = true
		case "C", "dir", "directory", "cwd", "prefix":
			as.Dir = new(opt.value)
		case "r", "recursive", "w", "workspace", "workspaces", "F", "filter":
			as.UnknownDir, as.Repeated = true, true
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if text != nil {
		return in.script(*text, as)
	}
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, nil
	}
	if shell {
		return in.script(joined(rest), as)
	}
	if at := strings.LastIndexByte(rest[0].Text, '@'); at > 0 && rest[0].State == Exact {
		rest = append([]Word{exact(rest[0].Text[:at])}, rest[1:]...)
	}
	return in.command(rest, as)
}

// nodeManager is for npm exec, pnpm dlx, yarn dlx and bun x.
func (in invocation) nodeManager() ([]inner, *Error) {
	o := optionTable{style: pflagStyle, short: "+p:c:yqvhw:sgC:", long: npmLong + "global location: "}
	switch in.name {
	case "pnpm":
		o = optionTable{style: pflagStyle, short: "+rF:C:wcshv", long: pnpmLong + "help version global "}
	case "yarn":
		o = optionTable{style: pflagStyle, short: "+p:qshv", long: "package: quiet silent cwd: version help verbose " +
			"use-yarnrc: cache-folder: modules-folder: non-interactive network-timeout: "}
	case "bun":
		o = optionTable{style: pflagStyle, short: "+p:hvb", long: "bun package: silent verbose cwd: help version no-install "}
	}
	s := in.scan(o)
	if !s.finds("exec", "x", "dlx") {
		return nil, nil
	}
	sub := s.argv[s.next].Text
	switch {
	case in.name == "npm" && sub == "dlx", in.name == "pnpm" && sub == "x", in.name == "yarn" && sub == "x":
		return nil, nil
	case in.name == "bun" && sub == "exec":
		if s.next+1 < len(s.argv) {
			return in.script(joined(s.argv[s.next+1:]), inner{})
		}
		return nil, nil
	}
	inner := s.subcommand(in.name + " " + sub)
	if in.name == "npm" { // its own options may stand among the operands, up to "--"
		for at, w := range inner.argv {
			if at > 1 && w.State == Exact && strings.HasPrefix(w.Text, "-") && w.Text != "--" && !npmBefore(inner.argv[:at]) {
				return nil, in.refuse("npm takes " + w.Text + " for an option of its own; write \"--\" before the command")
			}
			if w.Text == "--" {
				break
			}
		}
	}
	return inner.fetched(inner.scan(o))
}

// npmBefore reports whether no operand is among words, other than values.
func npmBefore(words []Word) bool {
	for at := 1; at < len(words); at++ {
		if !strings.HasPrefix(words[at].Text, "-") && !strings.HasPrefix(words[at-1].Text, "-") {
			return false
		}
	}
	return true
}

func (in invocation) uv() ([]inner, *Error) {
	const long = "all-extras all-groups all-packages active allow-insecure-host: allow-python-downloads build-constraint: " +
		"cache-dir: color: compile-bytecode config-file: config-setting: config-settings: constraint: constraints: " +
		"default-index: dev directory: env-file: exact exclude-newer: exclude-newer-package: extra: extra-index-url: " +
		"find-links: fork-strategy: from: frozen group: gui-script help index: index-strategy: index-url: isolated " +
		"keyring-provider: link-mode: locked managed-python module native-tls no-active no-binary no-binary-package: " +
		"no-build no-build-isolation no-build-isolation-package: no-build-package: no-cache no-config no-default-groups " +
		"no-dev no-editable no-env-file no-extra: no-group: no-index no-managed-python no-progress no-project " +
		"no-python-downloads no-sources no-sync no-workspace offline only-dev only-group: override: overrides: package: " +
		"prerelease: project: python: python-platform: python-preference: quiet refresh refresh-package: reinstall " +
		"reinstall-package: resolution: script torch-backend: upgrade upgrade-package: verbose version with: " +
		"with-editable: with-requirements: "
	o := optionTable{short: "+b:c:C:f:i:hmnp:P:qsUvVw:", long: long}
	s := in.scan(o)
	if in.name == "uvx" {
		return in.fetched(s)
	}
	if !s.finds("run", "tool") {
		return nil, nil
	}
	sub := s.subcommand("uv run")
	if sub.argv[0].Text == "tool" {
		if len(sub.argv) < 2 || sub.argv[1].Text != "run" {
			return nil, nil
		}
		sub = invocation{name: "uv tool run", argv: sub.argv[1:], stdin: in.stdin}
		return sub.fetched(sub.scan(o))
	}
	o.none = "h help V version"
	s = sub.scan(o)
	as := inner{}
	python := false
	for opt := range s.options() {
		switch opt.name {
		case "directory":
			as.Dir = new(opt.value)
		case "m", "module":
			rest := s.argv[s.next:]
			return in.command(append([]Word{exact("python"), exact("-m")}, rest...), as)
		case "s", "script", "gui-script":
			python = true
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	if len(rest) == 0 {
		return nil, nil
	}
	if text := rest[0].Text; python || text == "-" || strings.HasSuffix(text, ".py") || strings.HasSuffix(text, ".pyw") ||
		strings.HasPrefix(text, "http:") || strings.HasPrefix(text, "https:") {
		rest = append([]Word{exact("python")}, rest...)
	}
	return in.command(rest, as)
}

// environment is for programs with one subcommand that runs its words.
func (in invocation) environment() ([]inner, *Error) {
	global, verb, local := optionTable{short: "+hqvnVC:P:", long: "quiet verbose no-interaction ansi no-ansi version project: " +
		"directory: no-plugins no-cache help"}, "run", runner{optionTable: optionTable{short: "+"}}
	switch in.name {
	case "pipx":
		global = optionTable{short: "+hqv", long: "help quiet verbose version global"}
		local.optionTable = optionTable{short: "+hqvei:", long: "help quiet verbose no-cache path pypackages spec: with: python: " +
			"fetch-missing-python fetch-python: system-site-packages index-url: editable pip-args: global"}
	case "bundle":
		global, verb = optionTable{short: "+rV", long: "no-color retry: verbose help version"}, "exec"
		local.optionTable = optionTable{short: "+", long: "gemfile: keep-file-descriptors no-keep-file-descriptors"}
	case "direnv":
		global, verb, local.operands = optionTable{short: "+"}, "exec", 1
	case "conda", "mamba", "micromamba":
		global = optionTable{short: "+hvqyVr:n:p:", long: "help version verbose quiet yes root-prefix: name: prefix: json no-rc"}
		local.optionTable = optionTable{short: "+hvn:p:r:a:e:d", long: "help verbose name: prefix: root-prefix: dev " +
			"debug-wrapper-scripts cwd: no-capture-output live-stream attach: clean-env env: detach label: quiet"}
		local.dir = "cwd"
	}
	s := in.scan(global)
	if !s.finds(verb) {
		return nil, nil
	}
	local.none = "h help"
	sub := s.subcommand(in.name + " " + verb)
	if in.name == "pipx" {
		return sub.fetched(sub.scan(local.optionTable))
	}
	return local.open(sub)
}

// nixShell gives the value of --run or --command to a shell; without them the shell is interactive.
func (in invocation) nixShell() ([]inner, *Error) {
	var inners []inner
	for at := 1; at < len(in.argv); at++ {
		w := in.argv[at]
		if w.State != Exact && (knownPrefix(w) == "" || manyWords(w)) {
			return nil, in.dynamic(w, "it may be --run; spell it out")
		}
		if w.Text != "--run" && w.Text != "--command" {
			continue
		}
		if at+1 == len(in.argv) {
			return nil, in.refuse("nix-shell " + w.Text + " has no text; write one after it")
		}
		at++
		inners = append(inners, inner{Script: &in.argv[at]})
	}
	if inners != nil {
		return inners, nil
	}
	return []inner{{FromStdin: true}}, nil
}

// nix runs the words after -c in nix develop and nix shell.
func (in invocation) nix() ([]inner, *Error) {
	if len(in.argv) < 2 {
		return nil, nil
	}
	verb := in.argv[1].Text
	if verb != "develop" && verb != "shell" && verb != "env" {
		return nil, nil
	}
	for at := 2; at < len(in.argv); at++ {
		w := in.argv[at]
		if w.State != Exact && (knownPrefix(w) == "" || manyWords(w)) {
			return nil, in.dynamic(w, "it may be --command; spell it out")
		}
		if w.Text == "-c" || w.Text == "--command" {
			return in.command(in.argv[at+1:], inner{Wrapper: "nix " + verb})
		}
	}
	return []inner{{FromStdin: true, Wrapper: "nix " + verb}}, nil
}
