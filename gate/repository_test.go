package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// laid makes a repository without the help of git.
func (h *host) laid(name, config string) {
	for _, dir := range []string{"objects", "refs", "hooks"} {
		must(h.t, os.MkdirAll(filepath.Join(h.work, name, dir), 0o755))
	}
	put(h.t, filepath.Join(h.work, name, "HEAD"), "ref: refs/heads/main\n")
	put(h.t, filepath.Join(h.work, name, "config"), config)
}

const plainConfig = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://h/x\n"

// A repository that lies around can make git run whatever its configuration and its hooks name.
func TestAnotherRepositoryRunsNothing(t *testing.T) {
	h := newHost(t, `version: 1
check_flags: off
allow: [git, cd, cp, mv, mkdir, echo, tar, ln, rsync]
paths: {reads_must_exist: false, redirects: ["**"]}
`).files("src/a", "evil/HEAD", "list")
	h.laid(".git", plainConfig)
	h.laid("plain/.git", plainConfig)
	h.laid("bare.git", plainConfig)
	for name, config := range map[string]string{
		"fsmonitor": "[core]\n\tfsmonitor = mystery\n", "pager": "[pager]\n\tlog = mystery\n", "ssh": "[core]\nsshCommand = mystery\n",
		"external": "[diff]\n external=mystery", "filter": "[filter \"x\"]\n\tclean = mystery\n", "hooks": "[core]\n\thooksPath = h\n",
		"include": "[include]\n\tpath = ../evil\n", "alias": "[alias]\n\tx = !mystery\n", "oneline": "[core] fsmonitor = mystery\n",
		"worktree": "[core]\n\tworktree = /etc\n", "odd": "[core \"a]b\"]\n\tx = y\n", "continued": "[core]\n\tfsmon\\\nitor = x\n",
		"protocol": "[protocol \"ext\"]\n\tallow = always\n",
	} {
		h.laid("bad-"+name+"/.git", config)
	}
	h.laid("bad.git", "[core]\n\tfsmonitor = mystery\n")
	h.laid("hooked/.git", plainConfig)
	put(t, filepath.Join(h.work, "hooked/.git/hooks/post-index-change"), "#!/bin/sh\n")
	must(t, os.Chmod(filepath.Join(h.work, "hooked/.git/hooks/post-index-change"), 0o755))
	put(t, filepath.Join(h.work, "file/.git"), "gitdir: ../bad.git\n")
	must(t, os.Symlink("bad-fsmonitor", filepath.Join(h.work, "link")))
	rows := []row{
		{"git status", "allow"},
		{"git -C src status", "allow"},
		{"cd src && git log", "allow"},
		{"git -C plain status", "allow"},
		{"git -C bare.git log", "allow"},
		{"git --git-dir=plain/.git log", "allow"},
		{"mkdir z && cd z && git init && git status", "allow"},
		{"git clone https://h/x && cd x && git log", "allow"},
		{"git push ./plain main", "allow"},
		{"cd bad-fsmonitor && git status", "ask dynamic core.fsmonitor"},
		{"git --git-dir bad-pager/.git log", "ask dynamic"},
		{"git --git-dir=bad.git log", "ask dynamic"},
		{"git -C bad.git log", "ask dynamic"},
		{"git -C link status", "ask dynamic"},
		{"git -C file status", "ask dynamic"},
		{"git -C hooked status", "ask dynamic hook"},
		{"git --work-tree=plain checkout .", "ask dynamic"},
		{"git push ./bad.git main", "ask dynamic"},
		{"git fetch bad-fsmonitor", "ask dynamic"},
		{"git remote add x ./bad.git", "ask dynamic"},
		{"git archive --remote=./bad.git HEAD", "ask dynamic"},
		{"git -C \"$D\" status", "ask dynamic"},
		{"cp -r bad-fsmonitor c && git -C c status", "ask dynamic"},
		{"mv bad-fsmonitor c && cd c && git status", "ask dynamic"},
		{"ln -s bad-fsmonitor c && git -C c status", "ask dynamic"},
		{"rsync -a plain/ c && git -C c status", "ask dynamic"},
		{"tar xf a.tar -C src && git -C src log", "ask dynamic"},
		{"mkdir -p n/objects n/refs && echo x > n/HEAD && echo x > n/config && git -C n status", "ask dynamic"},
	}
	bad, err := filepath.Glob(filepath.Join(h.work, "bad-*"))
	must(t, err)
	for _, dir := range bad {
		rows = append(rows, row{"git -C " + filepath.Base(dir) + " status", "ask dynamic"})
	}
	h.rows(rows)

	r := h.request("git status") // the client's own directory is in a repository below another one
	r.Cwd = filepath.Join(h.work, "bad-fsmonitor")
	h.judged(t, row{"git status in bad-fsmonitor", "ask dynamic"}, h.open().Check(t.Context(), r))
}

// What git takes instructions from is written by people only, by whatever means.
func TestWhatGitObeysIsNotWritten(t *testing.T) {
	h := newHost(t, `version: 1
check_flags: off
allow: [git, echo, tee, cp, mv, sed, dd, install, ln, touch, chmod, cat, rm, grep, python3, mkdir]
paths: {reads_must_exist: false, redirects: ["**"]}
`).files("a", "evil/config")
	h.laid(".git", plainConfig)
	h.laid(".git/modules/sub", plainConfig)
	h.laid("bare", plainConfig)
	var rows []row
	for _, file := range []string{".git/config", ".git/config.worktree", ".git/hooks/pre-commit", "x/.git/config", ".git/modules/sub/config", "bare/config",
		"bare/hooks/update", ".git/commondir", "x/.git"} {
		for _, line := range []string{"echo x > %", "echo x >> %", "echo x | tee %", "cp a %", "mv a %", "dd if=a of=%", "install a %", "ln -s ../a %", "touch %"} {
			rows = append(rows, row{strings.ReplaceAll(line, "%", file), "deny protect git"})
		}
	}
	rows = append(rows,
		row{"sed -i s/a/b/ .git/config", "deny protect"},
		row{"chmod +x .git/hooks/pre-commit", "deny protect"},
		row{"python3 -c \"open('.git/config','a').write('x')\"", "ask dynamic"},
		row{"cat .git/config", "allow"},
		row{"grep -n url .git/config", "allow"},
		row{"echo x >> .git/info/exclude", "allow"},
		row{"echo x > config", "allow"},
		row{"git config -f x/.git/config a.b c", "deny protect"},
		row{"git config user.name me", "allow"},
		row{"git config pull.rebase false", "allow"},
		row{"git config core.editor true", "deny entry"}, // true is a program that no entry covers here
		row{"git config --get core.pager", "allow"},
		row{"git config --list", "allow"},
		row{"git config core.fsmonitor true", "allow"},
		row{"git config alias.st status", "allow"},
	)
	for _, setting := range []string{"core.fsmonitor 'cat a'", "core.fsmonitor 'touch x'", "core.sshCommand 'cat a'", "core.hooksPath hooks", "include.path ../evil", "diff.external cat\\ a",
		"filter.x.clean 'touch x'", "filter.x.smudge 'touch x'", "merge.x.driver 'touch x'", "alias.x '!touch x'", "protocol.ext.allow always", "core.worktree /etc",
		"remote.origin.url ext::x", "credential.helper '!touch x'", "gpg.program ./x", "FILTER.x.Process ./x"} {
		rows = append(rows, row{"git config " + setting, "deny protect"}, row{"git config --global " + setting, "deny protect"}, row{"git config set " + setting, "deny protect"})
	}
	rows = append(rows, row{"git config --edit", "deny protect"}, row{"git config -e", "deny protect"}, row{"git config --rename-section a core", "deny protect"},
		row{"git config \"$K\" x", "deny protect"})
	h.rows(rows)

	for path, want := range map[string]string{".git/config": "deny protect", ".git/hooks/x": "deny protect", "src/config": "allow", ".gitignore": "allow"} {
		r := Request{Tool: &Tool{Name: "Write", Args: map[string]any{"file_path": filepath.Join(h.work, path), "content": "x"}}, Cwd: h.work}
		h.judged(t, row{"Write " + path, want}, h.open().Check(t.Context(), r))
	}
}
