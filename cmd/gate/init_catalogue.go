package main

// A section of a policy is a group of entries that are there for one reason. It is what gate init chooses from.
type section struct {
	title string
	allow []suggestion
	deny  []refusalEntry
}

// A suggestion is one allow entry. It is written as a comment where off says why, or where its program is not there.
type suggestion struct {
	call string
	note string   // a comment behind it
	only []string // arguments that the call must begin with
	off  string
	// exact: nothing may follow, since a word there would make it another thing
	exact bool
}

// A refusalEntry is one deny entry.
type refusalEntry struct {
	call  string
	flags []string
	why   string
	fix   string
}

// plain makes suggestions of calls that need no words.
func plain(calls ...string) []suggestion {
	list := make([]suggestion, len(calls))
	for i, call := range calls {
		list[i].call = call
	}
	return list
}

func off(why string, calls ...string) []suggestion {
	list := plain(calls...)
	for i := range list {
		list[i].off = why
	}
	return list
}

const (
	ownChoice = "it starts a program of the caller's choice"
	ownUser   = "an agent works as its own user"
)

// lookingSection is in every policy: reading inside the project.
func lookingSection() section {
	return section{
		title: "Looking around. What may be read is decided by paths, below.",
		allow: append(plain("ls", "cat", "head", "tail", "wc", "file", "stat", "du", "find", "grep", "rg", "fd", "tree", "diff", "cmp", "sort", "uniq",
			"cut", "tr", "column", "jq", "basename", "dirname", "realpath", "readlink", "pwd", "cd", "date", "which", "echo", "printf", "test",
			"true", "false", "sleep", "seq", "nl", "md5sum", "sha256sum", "sha1sum", "cksum", "base64", "comm", "paste", "join", "fold",
			"rev", "tac", "od", "xxd", "strings", "zcat", "tar -t", "df", "ps", "id", "whoami", "uname", "nproc", "export", "local", "unset",
			"wait", "exit", "return", "shift", ":"),
			suggestion{call: "read"}, suggestion{call: "command -v"}, suggestion{call: "type"}, suggestion{call: "set -e"}, suggestion{call: "set -u"},
			suggestion{call: "set -o pipefail"},
			suggestion{call: "sed", note: "what its program runs and writes is looked at; -i writes the file"},
			suggestion{call: "awk", note: "what its program runs and writes is looked at"},
			suggestion{call: "xargs", note: "what it runs has to be covered itself"}),
		deny: []refusalEntry{
			{call: "rg", flags: []string{"--pre"}, why: ownChoice},
			{call: "fd", flags: []string{"--exec", "--exec-batch"}, why: ownChoice},
			{call: "sort", flags: []string{"--compress-program"}, why: ownChoice},
			{call: "find", flags: []string{"-delete"}, why: "it removes whatever matches, unseen; list the files first and remove them by name"},
		},
	}
}

func changingSection() section {
	return section{
		title: "Small changes to files. What they may touch is decided by paths, below; rules.yaml asks before rm -r.",
		allow: plain("mkdir", "touch", "cp", "mv", "rm", "ln", "chmod +x", "tee"),
	}
}

func gitSection(strict bool) section {
	s := section{
		title: "git, as far as it reads or adds. What throws work away is refused below.",
		allow: plain("git status", "git diff", "git log", "git show", "git blame", "git grep", "git ls-files", "git ls-tree", "git rev-parse",
			"git rev-list", "git merge-base", "git describe", "git shortlog", "git branch", "git stash list", "git stash show",
			"git cat-file", "git for-each-ref", "git show-ref", "git check-ignore", "git diff-tree", "git name-rev", "git reflog show",
			"git config --get", "git worktree list", "git tag --list", "git add", "git commit", "git switch", "git restore --staged",
			"git checkout -b", "git stash push", "git stash pop", "git stash apply", "git mv"),
		deny: []refusalEntry{
			{call: "git commit", flags: []string{"--no-verify"}, why: "the hooks of a project are part of its checks", fix: "git commit"},
			{call: "git add", flags: []string{"--force"}, why: "what .gitignore names stays out of history", fix: "git add"},
			{call: "git branch", flags: []string{"-D", "--force"}, why: "it drops commits that no other branch has", fix: "git branch -d"},
			{call: "git switch", flags: []string{"--force-create", "--discard-changes"}, why: "it throws away work that is in no commit"},
			{call: "git checkout", flags: []string{"--force", "-B"}, why: "it throws away work that is in no commit"},
			{call: "git restore", flags: []string{"--worktree"}, why: "it throws away work that is in no commit"},
			{call: "git grep", flags: []string{"--open-files-in-pager"}, why: ownChoice},
		},
	}
	for _, call := range []string{"git --version", "git config user.name", "git config user.email", "git remote -v", "git stash"} {
		s.allow = append(s.allow, suggestion{call: call, exact: true})
	}
	network := []suggestion{
		{call: "git fetch"},
		{call: "git pull", note: "merges what others pushed"},
		{call: "git push", note: "rules.yaml asks for the main branch, and wants the tests run before"},
	}
	if strict {
		for i := range network {
			network[i] = suggestion{call: network[i].call, off: "strict: it talks to another machine"}
		}
		s.allow = append(s.allow, network...)
		return s
	}
	s.allow = append(s.allow, network...)
	s.deny = append(s.deny,
		refusalEntry{call: "git push", flags: []string{"--force"}, why: "it can drop commits that somebody else has pushed", fix: "git push --force-with-lease"},
		refusalEntry{call: "git push", flags: []string{"--mirror", "--delete"}, why: "it removes branches and tags that others use"},
		refusalEntry{call: "git push", flags: []string{"--receive-pack"}, why: ownChoice},
		refusalEntry{call: "git fetch", flags: []string{"--upload-pack"}, why: ownChoice},
		refusalEntry{call: "git pull", flags: []string{"--upload-pack"}, why: ownChoice},
	)
	return s
}

// askingSection lets an agent ask the gate itself, as refusals tell it to.
func askingSection() section {
	return section{
		title: "The gate's own answers, which refusals point to.",
		allow: plain("gate check", "gate why", "gate policy", "gate flags"),
		deny: []refusalEntry{
			{call: "gate check", flags: []string{"--record"}, why: "only the hook says what ran"},
		},
	}
}

// otherUsersSection refuses to become somebody else. It is in every policy.
func otherUsersSection() section {
	return section{deny: []refusalEntry{
		{call: "sudo", why: ownUser}, {call: "su", why: ownUser}, {call: "doas", why: ownUser},
	}}
}

// hostSection is for agents that look after machines: it reads, and changes nothing.
func hostSection() section {
	return section{
		title: "Looking at the host. Nothing here changes anything.",
		allow: append(plain("systemctl status", "systemctl list-units", "systemctl is-active", "systemctl is-enabled", "systemctl cat",
			"systemctl list-timers", "systemctl show", "journalctl", "df", "free", "uptime", "uname", "hostname", "whoami", "id", "ps",
			"pgrep", "lsblk", "findmnt", "ss", "ip addr", "ip route", "dig", "host", "last", "lsof", "nproc", "vmstat", "dmesg"),
			plain("docker ps", "docker images", "docker logs", "docker stats --no-stream", "docker compose ps", "docker compose logs",
				"kubectl get", "kubectl describe", "kubectl logs", "kubectl top", "kubectl version", "kubectl explain",
				"helm list", "helm status", "helm history", "terraform fmt", "terraform validate", "terraform version")...),
		deny: []refusalEntry{
			{call: "journalctl", flags: []string{"--vacuum-size", "--vacuum-time", "--vacuum-files", "--rotate", "--flush"}, why: "it changes the journal"},
			{call: "dmesg", flags: []string{"--clear", "--read-clear"}, why: "it empties the kernel's log"},
			{call: "kubectl get secrets", why: "secrets are not for an agent's eyes"},
			{call: "kubectl get secret", why: "secrets are not for an agent's eyes"},
			{call: "kubectl describe secrets", why: "secrets are not for an agent's eyes"},
			{call: "kubectl describe secret", why: "secrets are not for an agent's eyes"},
		},
	}
}
