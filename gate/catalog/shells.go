package catalog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shells are programs that run what they are told as text.
var shells = []string{
	"sh", "bash", "rbash", "dash", "ash", "hush", "zsh", "ksh", "ksh93", "rksh", "mksh", "lksh", "oksh", "loksh", "pdksh", "posh", "yash", "fish",
	"csh", "tcsh", "bsd-csh", "rc", "es", "sash", "static-sh", "nu", "elvish", "xonsh", "osh", "oil", "ysh", "ion", "murex", "pwsh", "powershell",
	"busybox", "toybox", "busybox.static", "scsh", "git-shell", "bash-static", "zsh-static", "zsh5",
}

// launchers are programs that run the program which their arguments name, so that argv[0] would say nothing.
var launchers = []string{
	"env", "nice", "nohup", "timeout", "stdbuf", "setsid", "sudo", "sudoedit", "doas", "su", "runuser", "setpriv", "pkexec", "run0", "gosu",
	"su-exec", "xargs", "parallel", "chroot", "unshare", "nsenter", "watch", "script", "ssh", "time", "taskset", "ionice", "chrt", "flock",
	"strace", "ltrace", "gdb", "valgrind", "systemd-run", "start-stop-daemon", "prlimit", "expect", "unbuffer", "tmux", "screen", "bwrap",
	"firejail", "fakeroot", "faketime", "setarch", "linux32", "linux64", "choom", "numactl", "cgexec", "capsh", "dbus-run-session",
	"catchsegv", "run-parts", "entr", "dumb-init", "tini", "daemonize", "at", "batch", "crontab", "proot", "torsocks", "ld.so",
}

// runsOthers says why a program, by its name or that of what its links lead to, may not be argv[0]; "" if it may.
func runsOthers(path string) string {
	names := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		names = append(names, real)
	}
	for _, p := range names {
		name := strings.ToLower(filepath.Base(p))
		via := ""
		if p != path {
			via = ", which " + path + " leads to,"
		}
		switch {
		case slices.Contains(shells, name):
			return p + via + " is a shell; a tool names the program itself"
		case slices.Contains(launchers, name):
			return p + via + " runs the program that its arguments name; a tool names that program itself"
		case strings.HasPrefix(name, "ld-linux"), strings.HasPrefix(name, "ld-musl"), strings.HasPrefix(name, "ld64."), strings.HasPrefix(name, "ld-2."):
			return p + via + " loads the program that its arguments name; a tool names that program itself"
		}
	}
	if shell := sameAsShell(path); shell != "" {
		return path + " is " + shell + " by another name; a tool names the program itself"
	}
	return ""
}

// knownShells are where shells lie, for comparing files with them.
var knownShells = []string{
	"/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/bin/ksh", "/bin/mksh", "/usr/bin/fish", "/bin/csh", "/bin/tcsh", "/bin/busybox",
	"/usr/local/bin/bash", "/usr/local/bin/busybox", "/usr/bin/toybox", "/usr/bin/yash", "/usr/bin/pwsh", "/usr/bin/env",
}

// sameAsShell finds the shell that a program is a hard link to.
func sameAsShell(path string) string {
	file, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for _, shell := range knownShells {
		if other, err := os.Stat(shell); err == nil && os.SameFile(file, other) {
			return shell
		}
	}
	return ""
}

// evaluates reports whether the word after this option of an interpreter is a program text.
func evaluates(program, option string) bool {
	name := strings.ToLower(filepath.Base(program))
	interpreter := slices.ContainsFunc([]string{"python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh",
		"Rscript", "r", "julia", "osascript", "awk", "gawk", "mawk", "sed", "jq", "emacs", "vim", "vi", "ghc", "guile", "racket", "elixir", "erl"},
		func(i string) bool { return strings.TrimRight(name, "0123456789.-") == strings.ToLower(i) })
	if !interpreter {
		return false
	}
	return slices.Contains([]string{"-c", "-e", "-E", "-r", "-p", "--eval", "--exec", "--execute", "--expression", "--print", "-pe", "-ne", "-le", "-i", "-x",
		"eval", "-eval", "--command", "-B", "-R", "--run"}, option)
}
