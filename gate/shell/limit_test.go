package shell

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWorkIsBounded gives Parse lines whose cost could grow out of hand. Whether they are refused does not matter here.
func TestWorkIsBounded(t *testing.T) {
	var variables, branches, functions strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&variables, "a%d=$zz;", i)
		fmt.Fprintf(&branches, "x && a%d=%d;", i%3000, i)
		fmt.Fprintf(&functions, "f%d() { :; }; x && f%d() { :; };", i, i%7)
	}
	doubling := "f0() { :; }; "
	for i := 1; i < 60; i++ {
		doubling += fmt.Sprintf("f%d() { f%d; f%d; }; ", i, i-1, i-1)
	}
	lines := map[string]string{
		"variables":  variables.String(),
		"branches":   branches.String(),
		"functions":  functions.String(),
		"doubling":   doubling + "f59",
		"while":      strings.Repeat("while a; do x=$y; ", 40) + "b" + strings.Repeat("; done", 40),
		"for":        strings.Repeat("for i in a b c d e f g h; do ", 30) + ":" + strings.Repeat("; done", 30),
		"braces":     "echo " + strings.Repeat("{a,b,c,d,e,f,g,h}", 40),
		"sequence":   "echo {1..9223372036854775807}",
		"nested":     "echo " + strings.Repeat("{a,", 4000) + strings.Repeat("}", 4000),
		"substitute": strings.Repeat("echo $(", 90) + strings.Repeat(")", 90),
		"replace":    "x=" + strings.Repeat("a", 100_000) + "; echo ${x//a*b/c} ${x%%*b*a*b*a*b*}",
		"pattern":    "x=" + strings.Repeat("a", 900) + "; echo ${x%%" + strings.Repeat("*a", 100) + "b}",
		"doubled":    "x=aaaaaaaa; " + strings.Repeat("x=$x$x; ", 60),
		"doubts":     strings.Repeat("if a; then x=1$x; else x=2$x; fi; ", 300) + "echo $x$x$x$x",
		"places":     strings.Repeat("cd a || cd b; ", 3000),
		"eval":       strings.Repeat("eval ", 3000) + "x",
		"arithmetic": "echo $((" + strings.Repeat("(", 3000) + "1" + strings.Repeat(")", 3000) + "))",
		"ternary":    "echo $((" + strings.Repeat("x?1:", 3000) + "1))",
		"elif":       "if a; then b; " + strings.Repeat("elif a; then b; ", 3000) + "fi",
		"andor":      strings.Repeat("a && ", 5000) + "a",
		"pipes":      strings.Repeat("a | ", 5000) + "a",
		"wrappers":   strings.Repeat("nice ", 3000) + "x",
		"xargs":      strings.Repeat("xargs ", 3000) + "x",
		"docker":     strings.Repeat("docker exec c ", 60) + "x",
		"long":       strings.Repeat("nice ", 90) + "x " + strings.Repeat("y", 900_000),
		"words":      "sudo" + strings.Repeat(" x", 500_000),
		"env -S":     "env" + strings.Repeat(" -S -i", 45_000) + " x",
		"env -i":     "env -" + strings.Repeat("i", 1_000_000) + " x",
		"read":       "read -" + strings.Repeat("x", 1_000_000),
		"export":     "export" + strings.Repeat(" -"+strings.Repeat("x", 20), 40_000),
		"parallel":   "parallel -q" + strings.Repeat(" x", 90_000),
		"values":     "parallel " + strings.Repeat("x", 200_000) + " :::" + strings.Repeat(" x", 90_000),
		"keys":       "tmux send-keys" + strings.Repeat(" xxxxx", 90_000),
		"aliases":    "git" + strings.Repeat(" -c alias.s=status", 20_000) + " s" + strings.Repeat(" x", 40_000),
		"brackets":   "sed 's/" + strings.Repeat("[", 900_000) + "'",
		"classes":    "sed 's/" + strings.Repeat("[[:", 300_000) + "'",
		"programs":   "sed" + strings.Repeat(" -e p", 45_000),
		"awk":        "awk '" + strings.Repeat(`"x" | `, 150_000) + "'",
		"commas":     "echo " + strings.Repeat("{", 90) + strings.Repeat(",a", 400_000) + strings.Repeat("}", 90),
		"dots":       "echo " + strings.Repeat("{..", 300_000),
		"stdin":      strings.Repeat("echo x | ", 3000) + "bash",
		"heredocs":   strings.Repeat("cat <<A;", 3000) + "\n" + strings.Repeat("A\n", 3000),
		"traps":      strings.Repeat("a && trap 'x' EXIT; ", 3000),
		"backquotes": "echo " + strings.Repeat("`", 1001),
		"open":       strings.Repeat("$(", 100_000),
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			begun := processorTime(t)
			_, err := Parse(line, testOptions)
			if took := processorTime(t) - begun; took > 5*time.Second {
				t.Errorf("took %v: %v", took, err)
			} else {
				t.Logf("%v %.120v", took, err)
			}
		})
	}
}

// processorTime is what this process has used so far, which does not depend on what else the machine does.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
