package gate

import (
	"path/filepath"
	"testing"
)

func TestSelfProtection(t *testing.T) {
	h := newHost(t, wide+"paths: {root: [/]}\n").files("src/a.go", ".claude/settings.json", "README.md")
	put(t, filepath.Join(h.home, ".claude", "settings.json"), "{}")
	h.rows([]row{
		{"rm ~/.config/gatehouse/gate.yaml", "deny protect"},
		{"rm -rf ~/.config/gatehouse", "deny protect"},
		{"rm -rf ~/.config", "deny protect"},
		{"mv ~/.config x", "deny protect"},
		{"echo x > ~/.config/gatehouse/gate.yaml", "deny protect"},
		{"cd ~/.config && echo x > gatehouse/rules.yaml", "deny protect"},
		{"sed -i s/deny/allow/ ~/.config/gatehouse/*.yaml", "deny protect"},
		{"echo '{}' > .claude/settings.json", "deny protect"},
		{"echo '{}' > ~/.claude/settings.json", "deny protect"},
		{"echo '{}' > .claude/settings.local.json", "deny protect"},
		{"mkdir -p .github/hooks", "deny protect"},
		{"touch ~/.codex/hooks.json", "deny protect"},
		{"cp README.md .cursor/hooks.json", "deny protect"},
		{"ln -s README.md .gemini/settings.json", "deny protect"},
		{"tee .opencode/plugin/x.js < README.md", "deny protect"},
		{"python3 -c \"open('.claude/settings.json','w')\"", "deny protect"},
		{"touch /etc/gatehouse/gates.json", "deny protect"},
		{"gate hook remove claude-code", "deny protect"},
		{"gate rules remove x", "deny protect"},
		{"gate --config x hook install claude-code", "deny protect"},
		{"gate $X remove", "deny protect"},
		{"env gate hook remove codex", "deny protect"},
		{"sudo warden accept", "deny protect"},
		{"ln -s ~/.config/gatehouse x && echo y > x/gate.yaml", "deny protect"},
		{"ln -s ~/.config x; rm -r x/gatehouse", "deny protect"},
		{"warden status", "allow"},
		{"gate check 'git hook remove'", "allow"},
		{"cat ~/.config/gatehouse/gate.yaml", "allow"},
		{"cat .claude/settings.json", "allow"},
		{"git checkout .", "allow"},
		{"touch src/settings.json", "allow"},
		{"tar -xf README.md", "deny protect"},
		{"tar -xf README.md -C src", "allow"},
		{"mystery .claude/settings.json", "deny protect"},
	})
}

func TestSelfProtectionGoesWhereAClientsVariablesGo(t *testing.T) {
	h := newHost(t, wide+"paths: {root: [/]}\n").files("README.md")
	r := h.request("touch ~/claude/settings.json; touch ~/xdg/opencode/plugins/x.js; touch ~/claw.json; touch ~/claude/notes")
	r.Env = environment("PATH", h.bin+":/usr/bin:/bin", "CLAUDE_CONFIG_DIR", h.home+"/claude", "XDG_CONFIG_HOME", h.home+"/xdg", "OPENCLAW_CONFIG_PATH", h.home+"/claw.json")
	d := h.open().Check(t.Context(), r)
	if n := len(d.Reasons); n != 3 || d.Reasons[0].Stage != StageProtect || d.Reasons[2].Stage != StageProtect {
		t.Errorf("%v", d.Reasons)
	}
}

func TestEnvironment(t *testing.T) {
	h := newHost(t, wide+"paths: {root: [/]}\nenv: {allow: [CI, \"APP_*\", NODE_OPTIONS]}\n").files("README.md", "x.sh")
	h.rows([]row{
		{"CI=1 make", "allow"},
		{"APP_MODE=x make", "allow"},
		{"OTHER=1 make", "deny env"},
		{"NODE_OPTIONS=--max-old-space-size=4096 make", "allow"},
		{"PATH=./bin:$PATH cat README.md", "deny env"},
		{"PATH=./bin; cat README.md", "deny env"},
		{"export PATH=./bin; cat README.md", "deny env"},
		{"declare -x LD_PRELOAD=./x.so; cat README.md", "deny env"},
		{"export CI=1; make", "allow"},
		{"export OTHER=1; make", "deny env"},
		{"X=1; echo $X", "allow"},
		{"for PATH in ./bin; do cat README.md; done", "deny env"},
		{": ${PATH:=./bin}; cat README.md", "deny env"},
		{"read -r PATH < README.md; cat README.md", "deny env"},
		{"printf -v PATH ./bin; cat README.md", "deny env"},
		{"((BASH_ENV=1)); make", "deny env"},
		{"bash -c 'PATH=./bin; cat README.md'", "deny env"},
		{"bash <<'EOF'\nPATH=./bin\ncat README.md\nEOF", "deny env"},
		{"eval 'PATH=./bin; cat README.md'", "deny env"},
		{"env PATH=./bin cat README.md", "deny env"},
		{"env BASH_ENV=./x.sh bash -c 'echo hi'", "deny env"},
		{"GIT_SSH_COMMAND=./x.sh git fetch", "deny env"},
		{"PAGER=./x.sh git log", "deny env"},
		{"LD_PRELOAD=./x.so make", "deny env"},
		{"echo \"PATH is $PATH\"", "allow"},
		{"echo PATH=1", "allow"},
		{"env -u CI make", "allow"},
		{"if ((PATH == 1)); then make; fi", "allow"},
	})
}

func TestEntries(t *testing.T) {
	h := newHost(t, `version: 1
check_flags: off
dynamic_values: ask
unlisted: ask
paths: {root: [/]}
allow:
  - git status
  - git push
  - echo
  - xargs
  - cd
  - sh -c
deny:
  - {call: git push, flags: [--force], why: history is shared, fix: {run: git push --force-with-lease}}
  - rm
`).files("README.md")
	h.rows([]row{
		{"git status", "allow"},
		{"git -C . status", "allow"},
		{"git push origin main", "allow"},
		{"git push --force", "deny entry"},
		{"git push origin main -f", "deny entry"},
		{"git push \"$X\"", "ask dynamic"},
		{"git push --force-with-lease", "allow"},
		{"git commit -m x", "ask entry no allow entry covers git commit"},
		{"rm README.md", "deny entry"},
		{"echo README.md | xargs rm", "deny entry"},
		{"sh -c 'git push --force'", "deny entry"},
		{"git log | cat", "ask entry"},
		{"rm x; git log", "deny entry"},
		{"echo rm", "allow"},
		{"curl -s http://127.0.0.1/q?a=1&b=2", "deny shell address"},
		{"echo 'unfinished", "deny shell"},
		{"$CMD x", "deny shell"},
		{"", "allow"},
		{"# only a comment", "allow"},
	})
	d := h.check("git push --force")
	r := d.Reasons[0]
	if r.Why != "history is shared" || r.Fix != "git push --force-with-lease" || r.At == "" || r.Call != 0 || r.Source != "git push --force" {
		t.Errorf("%+v", r)
	}
	unattended := h.request("git log")
	unattended.Unattended = true
	if d := h.open().Check(t.Context(), unattended); d.Action != Deny {
		t.Errorf("unattended: %s", d.Action)
	}
}

func TestOneSimpleCommand(t *testing.T) {
	h := newHost(t, "version: 1\nshell: none\ncheck_flags: off\npaths: {root: [/]}\nallow: [cat, echo, git commit, ls]\nenv: {allow: [CI]}\n").files("a b", "x")
	h.rows([]row{
		{"cat x", "allow"},
		{"cat 'a b'", "allow"},
		{"git commit -m \"fix: a & b | c\"", "allow"},
		{"echo it#s", "allow"},
		{"cat x | cat", "deny shell"},
		{"cat x; cat x", "deny shell"},
		{"cat x && cat x", "deny shell"},
		{"cat x\ncat x", "deny shell"},
		{"cat *", "deny shell"},
		{"echo $HOME", "deny shell"},
		{"echo \"$HOME\"", "deny shell"},
		{"echo `ls`", "deny shell"},
		{"cat < x", "deny shell"},
		{"cat x > y", "deny shell"},
		{"CI=1 cat x", "deny shell"},
		{"cat x &", "deny shell"},
		{"(cat x)", "deny shell"},
		{"cat ~/x", "deny shell"},
		{"echo {a,b}", "deny shell"},
		{"! cat x", "deny shell"},
		{"echo a\\ b", "deny shell"},
	})
}

func TestBinaries(t *testing.T) {
	h := newHost(t, `version: 1
check_flags: spec
paths: {root: [/]}
allow:
  - {call: tool, trust: root-owned}
  - {call: pinned, sha256: 0000000000000000000000000000000000000000000000000000000000000000}
  - {call: ls, trust: root-owned}
  - nosuch
  - ./made
  - make
  - echo
  - git status
env: {allow: [PATH]}
`).files("README.md")
	program(t, filepath.Join(h.bin, "tool"))
	program(t, filepath.Join(h.bin, "pinned"))
	program(t, filepath.Join(h.bin, "make"))
	h.rows([]row{
		{"tool", "deny binary can be written by others"},
		{"pinned", "deny binary another build"},
		{"ls", "allow"},
		{"PATH=" + h.bin + ":/usr/bin ls", "allow"},
		{"PATH=$X ls", "deny binary depends"},
		{"nosuch -x", "deny binary not on PATH"},
		{"./made", "deny binary"},
		{"make && ./made", "allow"},
		{"echo -n x", "allow"},
		{"git status --porcelain", "allow"},
		{"git status --fancy", "deny flags"},
		{"git status --porc", "deny flags"},
	})
}
