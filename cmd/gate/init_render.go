package main

import (
	"fmt"
	"strings"
	"time"

	"gatehouse/internal/cli"
)

// A draft is a policy before it is written down.
type draft struct {
	project  *project
	home     string
	presets  []string
	found    []string // what was found, as one says it: "Go (go.mod)"
	sections []section
	missing  func(program string) bool
	strict   bool
	observe  bool
	dirs     []string // directories of the project that are only read
	now      time.Time

	written, left int // entries of allow, and those that are comments
}

// gateYAML writes the draft as a gate.yaml with the reasons as comments.
func (d *draft) gateYAML() string {
	var b strings.Builder
	d.head(&b)
	d.answers(&b)
	b.WriteString("\n# What passes. An entry is the beginning of a command; wrappers (env, timeout, xargs) and global options (git -C dir)\n# are seen through. Every command of a line needs an entry.\nallow:\n")
	for _, s := range d.sections {
		d.allow(&b, s)
	}
	b.WriteString("# What never passes. An entry here beats every entry above, whatever the order or spelling of the arguments.\ndeny:\n")
	for _, s := range d.sections {
		for _, r := range s.deny {
			if program, _, _ := strings.Cut(r.fix, " "); r.fix != "" && d.missing(program) {
				r.fix = "" // what it says would not pass
			}
			writeRefusal(&b, r)
		}
	}
	d.paths(&b)
	if d.strict {
		b.WriteString("\n# No variable may be set in front of a command; env: {allow: [CI, LANG]} would let these two.\n")
	} else {
		b.WriteString(`
# Variables that may be set in front of a command. Those that choose a program or a library (PATH, LD_PRELOAD, GIT_*,
# PAGER, NODE_OPTIONS and their like) are refused unless they are named in full.
env: {allow: [CI, LANG, LC_ALL, TZ, NO_COLOR, NODE_ENV, CGO_ENABLED, GOOS, GOARCH, RUST_BACKTRACE]}
`)
	}
	b.WriteString(`
# The client's own tools, by name. Tools of MCP servers are asked about, but for those of gate mcp: the catalogue is a list
# of what may run, and judges each call itself.
tools:
  - {tool: [Edit, Write], paths: {deny: ["**/*.lock", "**/package-lock.json", "**/go.sum"]}}
  - {tool: ["mcp__*", "!mcp__gatehouse__*"], unlisted: ask}
`)
	return b.String()
}

func (d *draft) head(b *strings.Builder) {
	fmt.Fprintf(b, "# Policy of the gate: made by \"gate init%s\" on %s.\n#\n", strings.TrimRight(" "+strings.Join(d.presets, " "), " "), d.now.Format(time.DateOnly))
	fmt.Fprintf(b, "# Project: %s\n", cli.Line(d.project.dir))
	for _, found := range d.found {
		fmt.Fprintf(b, "#   %s\n", cli.Line(found))
	}
	b.WriteString(`#
# A shell line is taken apart into the commands that it can run, and each of them is judged; the line passes if all of
# them do. Entries that are comments say why they are off; take the # away where you disagree. docs/gate-yaml.md has
# every key. After a change: gate policy, and gate check LINE.
version: 1

`)
}

func (d *draft) answers(b *strings.Builder) {
	unlisted, dynamic := "ask", "ask"
	if d.strict {
		unlisted, dynamic = "deny", "deny"
	}
	row := func(key, comment string) { fmt.Fprintf(b, "%-27s # %s\n", key, comment) }
	row("shell: full", `any shell line; "none" allows one simple command only`)
	if d.observe {
		until := d.now.AddDate(0, 0, 14).Format(time.DateOnly)
		row("enforce: observe", `everything passes, and the log says what would not have: gate log`)
		row("observe_until: "+until, "after this day a refusal refuses")
	} else {
		row("enforce: deny", `a refusal refuses; "observe" only logs it, and needs observe_until: DATE`)
	}
	row("unlisted: "+unlisted, "what no entry below covers: a person decides (ask), or it is refused (deny)")
	row("check_flags: help", "a flag must be one that the very program knows: gate flags NAME")
	row("dynamic_values: "+dynamic, "a value known only when the line runs, where it could turn a limit")
	row("ask: {unattended: deny}", "nobody there to ask: refused")
}

func (d *draft) allow(b *strings.Builder, s section) {
	if s.title != "" {
		fmt.Fprintf(b, "  # %s\n", cli.Line(s.title))
	}
	for _, one := range s.allow {
		why := one.off
		if program, _, _ := strings.Cut(one.call, " "); why == "" && d.missing(program) {
			why = "not on this machine"
		}
		text := "- " + scalar(one.call)
		if one.exact {
			text = fmt.Sprintf("- {call: %s, exact: true}", scalar(one.call))
		}
		if one.only != nil {
			text = fmt.Sprintf("- {call: %s, only: [%s]}", scalar(one.call), scalars(one.only))
		}
		note := one.note
		if why != "" {
			d.left++
			text, note = "# "+text, why
		} else {
			d.written++
		}
		if note != "" {
			text = fmt.Sprintf("%-25s # %s", text, cli.Line(note))
		}
		fmt.Fprintf(b, "  %s\n", text)
	}
	if len(s.allow) > 0 {
		b.WriteByte('\n')
	}
}

func writeRefusal(b *strings.Builder, r refusalEntry) {
	if r.flags == nil && r.fix == "" {
		fmt.Fprintf(b, "  - {call: %s, why: %s}\n", scalar(r.call), scalar(r.why))
		return
	}
	fmt.Fprintf(b, "  - call: %s\n    flags: [%s]\n    why: %s\n", scalar(r.call), scalars(r.flags), scalar(r.why))
	if r.fix != "" {
		fmt.Fprintf(b, "    fix: {run: %s}\n", scalar(r.fix))
	}
}

func (d *draft) paths(b *strings.Builder) {
	b.WriteString("\npaths:\n")
	switch {
	case !d.project.git && d.project.dir != d.home:
		b.WriteString("  # There is no .git in or above this directory. With one, \"root: project\" follows the agent from project to project.\n")
		fmt.Fprintf(b, "  root: %s\n", scalar(d.project.dir))
	case d.project.git && !below(d.project.dir, d.home) && parent(d.project.dir) == "/":
		fmt.Fprintf(b, "  root: %-19s # nothing outside of it\n", scalar(d.project.dir))
	case below(d.project.dir, d.home):
		b.WriteString("  root: project             # the nearest directory with a .git; nothing outside of it\n")
		b.WriteString("  within: ${HOME}           # and only where that directory lies below the home directory\n")
	case d.project.dir == d.home:
		b.WriteString("  root: project             # the nearest directory with a .git, below the home directory\n  within: ${HOME}\n")
	default:
		b.WriteString("  root: project             # the nearest directory with a .git; nothing outside of it\n")
		fmt.Fprintf(b, "  within: %-17s # and only where that directory lies below this one\n", scalar(parent(d.project.dir)))
	}
	b.WriteString(`  # Neither read nor written, by any command, in any spelling.
  deny:
    - ".env*"
    - "!.env.example"
    - "**/*.pem"
    - "**/*.key"
    - "**/*.p12"
    - "**/*.pfx"
    - "**/*.kdbx"
    - "**/id_rsa*"
    - "**/id_ecdsa*"
    - "**/id_ed25519*"
    - "**/credentials.json"
    - "**/.git/hooks/**"
    - "${HOME}/.ssh/**"
    - "${HOME}/.gnupg/**"
    - "${HOME}/.aws/**"
    - "${HOME}/.azure/**"
    - "${HOME}/.config/gcloud/**"
    - "${HOME}/.config/gh/**"
    - "${HOME}/.docker/config.json"
    - "${HOME}/.kube/**"
    - "${HOME}/.netrc"
    - "${HOME}/.git-credentials"
    - "${HOME}/.npmrc"
    - "${HOME}/.pypirc"
  # Read, but not written.
  read_only:
    - "**/.git/config"
    - "**/.gitmodules"
    - "**/.mcp.json"        # which MCP servers a client starts, and by which name
    - "**/.cursor/mcp.json"
    - "**/.vscode/mcp.json"
    - "**/.kiro/settings/mcp.json"
    - "${HOME}/.claude.json"
    - "${HOME}/.copilot/mcp-config.json"
    - "${HOME}/.codeium/windsurf/mcp_config.json"
    - "**/.husky/**"        # what git runs, as in .git/hooks
    - "${HOME}/.local/bin/**"
`)
	for _, dir := range d.dirs {
		fmt.Fprintf(b, "    - %s\n", scalar(dir+"/**"))
	}
	if d.strict {
		b.WriteString("  redirects: [\"build/**\"]   # where > and the output options of reading programs may write\n")
	} else {
		b.WriteString("  redirects: [\"**\"]         # where > and the output options of reading programs may write\n")
	}
	b.WriteString("  create: [\"build/**\", \"*.log\"]\n  reads_must_exist: true\n")
}

// rulesYAML writes rules that fit: tests before a push only where there are tests that the gate lets run.
func (d *draft) rulesYAML() string {
	var b strings.Builder
	b.WriteString(`# Rules over the calls of a session and their order. Each has an id, one kind (never, before, require, at_most, finally
# or ltl), and what happens when it is broken (mode): block, warn (refused once, insisting passes), ask, retry, stop or
# log. docs/rules.md has the format, and "gate rules" lists what there is to add.
#
# An order of calls is known from traces that the agent's own user keeps. A rule is a guard, not a boundary.
version: 1

settings:
  mode: block
  scope: session

rules:
`)
	if tests := d.testCalls(); len(tests) > 0 {
		b.WriteString("  - id: tests-before-push\n    why: others build on what is pushed\n    fix: run the project's tests, then push\n    mode: warn\n    before:\n      first:\n")
		for _, target := range tests {
			fmt.Fprintf(&b, "        - %s\n", target)
		}
		b.WriteString("      then: git_push\n      since: [Edit, Write, MultiEdit, NotebookEdit]\n\n")
	}
	b.WriteString(`  - id: ask-before-pushing-to-main
    why: the main branch is reviewed before it moves
    fix: push a branch of your own and open a pull request
    mode: ask
    never:
      - {tool: git_push, where: {refspecs: main}}
      - {tool: git_push, where: {refspecs: "*:main"}}
      - {tool: git_push, where: {refspecs: master}}
      - {tool: git_push, where: {refspecs: "*:master"}}

  - id: ask-before-recursive-delete
    why: a whole directory goes, with what nobody has looked at
    fix: remove the files by name
    mode: ask
    never: {tool: rm, with: {recursive: true}}

  - id: ask-before-amending
    why: a commit that was pushed should stay as it is
    mode: ask
    never: {tool: git_commit, with: {amend: true}}
`)
	if targets := d.farTargets(); len(targets) > 0 {
		b.WriteString("\n  - id: ask-before-targets-that-reach-out\n    why: by their names they act on more than this project\n    mode: ask\n    never:\n")
		for _, target := range targets {
			fmt.Fprintf(&b, "      - {tool: make, with: {targets: %s}}\n", scalar(target))
		}
	}
	return b.String()
}

// testCalls are targets for the calls that test, as far as the policy lets them run.
func (d *draft) testCalls() (targets []string) {
	known := map[string]string{
		"pytest":       "{tool: pytest, succeeded: true}",
		"go test":      "{tool: go, with: {subcommand: test}, succeeded: true}",
		"cargo test":   "{tool: cargo, with: {subcommand: test}, succeeded: true}",
		"make test":    "{tool: make, with: {targets: test}, succeeded: true}",
		"make check":   "{tool: make, with: {targets: check}, succeeded: true}",
		"npm test":     "{tool: npm, with: {subcommand: test}, succeeded: true}",
		"npm run test": "{tool: npm, with: {script: test}, succeeded: true}",
		"pnpm test":    "{tool: pnpm, with: {subcommand: test}, succeeded: true}",
		"yarn test":    "{tool: yarn, with: {subcommand: test}, succeeded: true}",
		"node --test":  "{tool: node, with: {test: true}, succeeded: true}",
		"mvn test":     "{tool: mvn, with: {argv: test}, succeeded: true}",
		"rspec":        "{tool: rspec, succeeded: true}",
		"ctest":        "{tool: ctest, succeeded: true}",
	}
	for _, s := range d.sections {
		for _, one := range s.allow {
			program, _, _ := strings.Cut(one.call, " ")
			if target := known[one.call]; target != "" && one.off == "" && !d.missing(program) {
				targets = append(targets, target)
			}
		}
	}
	return targets
}

// farTargets are targets of make that are off: "make test deploy" begins as an entry does.
func (d *draft) farTargets() (targets []string) {
	for _, s := range d.sections {
		for _, one := range s.allow {
			if target, ok := strings.CutPrefix(one.call, "make "); ok && one.off != "" {
				targets = append(targets, target)
			}
		}
	}
	return targets
}

// scalar writes text as one YAML value.
func scalar(text string) string {
	plain := text != "" && ordinaryStart(text[0])
	for i := range len(text) {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune(" _./+-=@", rune(c)) && !(c == ':' && i+1 < len(text) && text[i+1] != ' ') {
			plain = false
		}
	}
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		plain = false
	}
	if plain && strings.TrimSpace(text) == text {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}

// ordinaryStart reports whether a value that begins like this cannot be taken for a number or a sign of YAML.
func ordinaryStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/'
}

func scalars(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = scalar(text)
	}
	return strings.Join(quoted, ", ")
}

// below reports whether the absolute path is below dir.
func below(path, dir string) bool { return strings.HasPrefix(path, strings.TrimRight(dir, "/")+"/") }

func parent(dir string) string { return dir[:max(1, strings.LastIndexByte(dir, '/'))] }
