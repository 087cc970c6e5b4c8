package rules

import "testing"

// The rules of these files are written in every form that AgentLTL's documentation shows; what becomes of the lines is
// what that documentation says.
func TestFilesAreReadAsAgentLTLReadsThem(t *testing.T) {
	for name, test := range map[string]struct{ rules, play string }{
		"conditions beside the kind": {`
settings:
  mode: block
  retries: 3
  unparseable: {interactive: ask, auto: note}
  announce: yes
rules:
  - id: env-files
    never: [Edit, Write, Read, cat, cp, mv, rm, echo, tee]
    where: {"*": ["**/.env", "**/.env.*"]}
    why: >
      they hold
      credentials
    mode: stop
  - id: locks
    never: [Edit, Write]
    where: {file_path: "*.lock"}
    mode: ask`, `
			ask: Edit path:deps/poetry.lock
			allow: Edit path:a.go
			allow: ls .env
			stop: cp .env.local /tmp/x`},
		"staging before production": {`
rules:
- id: staging
  before:
    first: {tool: make, with: {argv: deploy-staging}}
    then: {tool: make, with: {argv: deploy-prod}}
    since: [Edit, Write]
  scope: project`, `
			deny: make deploy-prod
			allow: make deploy-staging
			allow: make deploy-prod
			allow: Write path:a.go
			deny: make -C . deploy-prod`},
		"several destructive calls": {`
rules:
- id: destroy
  never:
    - {tool: git_reset, with: {hard: true}}
    - {tool: git_clean, with: {force: true}}
    - {tool: git_checkout, with: {targets: "."}}
    - {tool: git_branch, with: {force_delete: true}}
    - {tool: docker_compose_down, with: {volumes: true}}
    - docker_system_prune
  mode: warn`, `
			allow: git reset --soft HEAD~1
			deny: git reset --hard
			note: git reset --hard
			deny: git branch -D x
			deny: docker compose down -v
			deny: docker system prune`},
		"a scope of files": {`
rules:
- id: scope
  require: {tool: [Edit, Write], where: {file_path: ["src/**", "tests/**"]}}
  mode: ask`, `
			allow: Edit path:src/a/b.go
			ask: Edit path:docs/a.md
			allow: Read path:docs/a.md`},
		"any argument of any kubectl call": {`
rules:
- id: production
  never:
    - {tool: [psql, mysql, redis_cli], where: {argv: "*prod*"}}
    - {tool: "kubectl_*", where: {"*": "*prod*"}}
  mode: stop`, `
			allow: kubectl get pods -n staging
			stop: kubectl --context prod-eu get pods`},
		"known hosts": {`
rules:
- id: hosts
  require:
    - {tool: curl, where: {urls: ["https://api.github.com/*", "https://pypi.org/*"]}}
  mode: ask`, `
			allow: curl -s https://pypi.org/simple
			ask: curl -s https://evil.example/x`},
		"a note": {`rules: [{id: sudo, never: sudo, mode: log}]`, `note: sudo ls`},
		"which script": {`
rules:
- id: commit-first
  before: {first: git_commit, then: {tool: python, where: {script: "train*.py"}}, since: [Edit, Write]}`, `
			allow: python eval.py
			deny: python3 train_small.py
			allow: git commit -am x
			allow: python train_small.py
			allow: Edit path:a.py
			deny: python train_small.py`},
		"read before overwriting": {`
rules:
- id: read-first
  before:
    first: {tool: Read, with: {file_path: $f}}
    then:
      - {tool: [Edit, Write], with: {file_path: $f}, exists: true}
      - {tool: [sed, perl, tee], with: {paths: $f}, exists: true}
      - {tool: "*", with: {overwrite_to: $f}, exists: true}`, `
			allow: Write path:new.go
			deny: Write path:a.go
			deny: sed -i s/a/b/ a.go
			deny: echo x > a.go
			allow: echo x >> a.go
			allow: echo x > new.txt
			allow: echo x > /dev/null
			deny: mytool > sub/../a.go
			allow: Read path:a.go
			allow: echo x > a.go
			allow: sed -i s/a/b/ a.go
			deny: tee a.go b.go`},
		"several variables together": {`
rules:
- id: reviewed
  before:
    first: {tool: review, with: {plan: $p, env: $e}}
    then: {tool: apply, with: {plan: $p, env: $e}}`, `
			allow: ls`},
		"a commit's message": {`
rules:
- id: conventional
  require: {tool: git_commit, where: {message: ["feat*", "fix*"]}}
  mode: retry`, `
			allow: git commit -m "feat: x"
			deny: git commit -m "x"
			deny: git commit -m "y"
			ask: git commit -m "z"`},
		"what ssh runs": {`
rules:
- id: drain
  before: {first: kubectl_drain, then: {tool: ssh, where: {command: "*reboot*"}}}`, `
			deny: ssh node1 sudo reboot
			allow: kubectl drain node1
			allow: ssh node1 sudo reboot`},
		"install": {`
rules:
- id: install
  never:
    - pip_install
    - {tool: [npm, yarn, apt_get], with: {argv: install}}
  mode: ask`, `
			ask: pip install x
			ask: python -m pip install x
			ask: npm install x
			ask: sudo apt-get install -y x
			allow: npm test`},
		"files known at run time": {`
rules:
- {id: n, never: {tool: rm, where: {paths: "*.pem"}}}
- {id: q, require: {tool: shred, where: {paths: "build/**"}}}`, `
			deny: ls | xargs rm
			deny: find . -exec rm {} +
			deny: rm $UNSET
			allow: F=x; rm $F
			deny: F=x.pem; rm $F
			deny: ls | xargs shred`},
		"true by other spellings": {`
rules:
- {id: a, never: {tool: git_push, with: {force: yes}}}
- {id: b, never: {tool: head, with: {lines: 5}}}`, `
			deny: git push -f
			allow: git push`},
	} {
		t.Run(name, func(t *testing.T) {
			l := in(t, test.rules)
			l.write("a.go", "b.go", "sub/x")
			l.play(test.play)
		})
	}
}

func TestVariablesMatchTogether(t *testing.T) {
	l := in(t, `
rules:
- id: reviewed
  before:
    first: {tool: review, with: {plan: $p, env: $e}}
    then: {tool: apply, with: {plan: $p, env: $e}}`)
	call := func(tool string, plan, env any) []Event {
		return []Event{Tool(tool, map[string]any{"plan": plan, "env": env}, "/w")}
	}
	judge := func(want int, events []Event) {
		t.Helper()
		if got := l.set.Judge(l.m, events, l.env); len(got) != want {
			t.Errorf("%v: %+v", events, got)
		}
	}
	judge(1, call("apply", 1, "x"))
	if err := l.set.Record(l.m, call("review", []any{1, 2}, "x"), l.env); err != nil {
		t.Fatal(err)
	}
	judge(0, call("apply", 1, "x"))
	judge(0, call("apply", "2", "x"))
	judge(1, call("apply", 1, "y"))
	judge(1, call("apply", []any{1, 3}, "x"))
	judge(0, call("apply", nil, "x"))
}
