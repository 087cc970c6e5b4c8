package gate

import (
	"path/filepath"
	"strings"
	"testing"
)

// What shells read as they start decides what every later command is, and is written by people only.
func TestWhatShellsObeyIsNotWritten(t *testing.T) {
	h := newHost(t, `version: 1
check_flags: off
allow: [echo, tee, cp, mv, sed, dd, install, ln, cat, grep, mkdir, rsync]
paths: {root: /, reads_must_exist: false}
`).files("a", ".claude/skills/x/SKILL.md", "profile/SKILL.md")
	put(t, filepath.Join(h.home, ".bashrc"), "x")
	var rows []row
	for _, file := range []string{"~/.bashrc", "~/.zshenv", "~/.config/fish/conf.d/x.fish", "~/.config/environment.d/x.conf", "/etc/profile.d/x.sh", "~/.bash_aliases"} {
		for _, line := range []string{"echo x >> %", "echo x | tee -a %", "cp a %", "mv a %", "dd if=a of=%", "install a %", "ln -s $PWD/a %", "rsync a %"} {
			rows = append(rows, row{strings.ReplaceAll(line, "%", file), "deny protect a shell takes"})
		}
	}
	for _, file := range []string{".claude/skills/x/SKILL.md", ".claude/agents/new.md", "~/.claude/commands/x.md", "sub/.claude/agents/a.md"} {
		for _, line := range []string{"echo x > %", "cat a | tee %", "cp a %"} {
			rows = append(rows, row{strings.ReplaceAll(line, "%", file), "ask dynamic hooks"})
		}
	}
	h.rows(append(rows, row{"sed -i s/a/b/ ~/.bashrc", "deny protect"}, row{"cp -r profile .claude/skills/y", "ask dynamic hooks"}, row{"cat ~/.bashrc", "allow"}, row{"echo x > .profile", "allow"},
		row{"echo x > .claude/skills/x/run.py", "allow"}, row{"grep -rn x .claude", "allow"}, row{"mkdir -p .claude/agents", "allow"}))
	for path, want := range map[string]string{h.home + "/.bashrc": "deny protect", h.home + "/.profile": "deny protect", h.work + "/.profile": "allow", h.work + "/.claude/agents/a.md": "ask dynamic",
		h.work + "/docs/agents/a.md": "allow"} {
		for name, want := range map[string]string{"Write": want, "Read": "allow"} {
			r := Request{Tool: &Tool{Name: name, Args: map[string]any{"file_path": path, "content": "x"}}, Cwd: h.work}
			h.judged(t, row{name + " " + path, want}, h.open().Check(t.Context(), r))
		}
	}
}
