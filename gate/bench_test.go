package gate

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/syntax"

	"gatehouse/config"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
)

// fifty allow entries, of the kind that people write.
const fifty = `version: 1
check_flags: off
dynamic_values: ask
unlisted: ask
env: {allow: [CI, NODE_ENV, LANG, "APP_*"]}
paths:
  root: [/]
  deny: [".env*", "**/*.pem", "${HOME}/.ssh/**", ".git/hooks/**"]
  read_only: ["migrations/**"]
allow: [git status, git add, git commit, git diff, git log, git show, git branch, git checkout, git fetch, git push, git rev-parse,
  ls, cat, grep, rg, find, head, tail, wc, sort, uniq, sed, awk, tr, cut, echo, printf, cd, pwd, test, mkdir, touch, cp, mv, rm -r build,
  npm run, npm test, npm ci, node, python3 -m pytest, python3 -c, pytest, ruff check, go test, go vet, go build, make, docker compose ps, curl, jq]
deny:
  - {call: git push, flags: [--force], why: history is shared}
  - {call: git reset, flags: [--hard]}
  - {call: rm, flags: [--recursive]}
  - sudo
`

// BenchmarkCheck compares one decision with the bare parse of the same lines: gate/spec/testdata/lines.txt, which has
// lines of the kinds that agents run. The policy has 200 rules, 50 allow entries, and denied paths.
//
//	go test -bench Check -benchmem ./gate
func BenchmarkCheck(b *testing.B) {
	data, err := os.ReadFile("spec/testdata/lines.txt")
	must(b, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `\n`, "\n")
	}
	h := newHost(b, fifty).files("src/a.go", "README.md", "docs/a.md", "package.json")
	put(b, h.live+"/rules.yaml", manyRules())
	g := h.open()
	must(b, g.Problem())
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	syntaxes := 0.0
	measure := func(name string, work func(line string)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := used(b)
			for i := 0; b.Loop(); i++ {
				work(lines[i%len(lines)])
			}
			cpu := float64(used(b)-before) / float64(b.N)
			if name == "syntax" {
				syntaxes = cpu
			}
			b.ReportMetric(cpu, "cpu-ns/op")
			b.ReportMetric(cpu/syntaxes, "cpu/syntax")
		})
	}
	measure("syntax", func(line string) { _, _ = parser.Parse(strings.NewReader(line), "") })
	packs := spec.Bundled()
	measure("translate", func(line string) {
		o := shell.Options{Dir: h.work, Home: h.home}
		commands, _ := shell.Parse(line, o)
		spec.Translate(commands, spec.Options{Shell: o, Packs: packs, Effects: true, Forms: true})
	})
	measure("check", func(line string) { g.Check(b.Context(), h.request(line)) })
	measure("without disk", func(line string) {
		g.disk = nothing{}
		g.Check(b.Context(), h.request(line))
	})
}

// BenchmarkOpen is what each process does before its one decision, from the compiled form that root wrote and from YAML.
func BenchmarkOpen(b *testing.B) {
	h := newHost(b, fifty)
	put(b, h.live+"/rules.yaml", manyRules())
	measure := func(name string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := used(b)
			for b.Loop() {
				must(b, h.open().Problem())
			}
			b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	measure("yaml")
	h.accept(config.DecideAccepted)
	measure("compiled")
}

func manyRules() string {
	var rules strings.Builder
	rules.WriteString("rules:\n")
	for i := range 200 {
		fmt.Fprintf(&rules, "  - {id: rule-%d, never: {tool: tool_%d}}\n", i, i)
	}
	return rules.String()
}

// used is the processor time of the program so far: unlike the time on the clock it is the same on a busy machine.
func used(b *testing.B) time.Duration {
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
