package shell

import (
	"strings"

	"pgregory.net/rapid"
)

// A generator writes lines of all that bash's grammar has and Parse follows. Whatever it writes ends by itself.
type generator struct {
	t       *rapid.T
	budget  int      // commands that may still be written
	pending []string // here-documents that have been announced and not written
	loops   int      // loops around
	funcs   int      // functions around
	quoted  int      // texts in single quotes around
	inner   int      // substitutions around
}

// generated draws a line.
func generated(t *rapid.T) string {
	g := &generator{t: t, budget: rapid.IntRange(1, 7).Draw(t, "commands")}
	return g.list() + g.bodies()
}

func (g *generator) pick(from ...string) string {
	return from[rapid.IntRange(0, len(from)-1).Draw(g.t, "pick")]
}

// chance reports true once in n times.
func (g *generator) chance(n int) bool { return rapid.IntRange(0, n-1).Draw(g.t, "chance") == n-1 }

// list is one command or several, with what may stand between them.
func (g *generator) list() string {
	var out strings.Builder
	for {
		out.WriteString(g.andOr())
		if g.budget <= 0 || g.chance(3) {
			return out.String()
		}
		switch {
		case g.chance(4):
			out.WriteString(g.newline())
		case g.chance(12):
			out.WriteString(" & ")
		default:
			out.WriteString("; ")
		}
	}
}

// newline ends a line of source, after which the bodies of here-documents stand.
func (g *generator) newline() string { return "\n" + strings.TrimPrefix(g.bodies(), "\n") }

func (g *generator) bodies() string {
	out := ""
	for _, body := range g.pending {
		out += body
	}
	g.pending = nil
	if out == "" {
		return ""
	}
	return "\n" + out
}

func (g *generator) andOr() string {
	out := g.pipeline()
	for g.budget > 0 && g.chance(4) {
		out += g.pick(" && ", " || ", " && ", " ||\n")
		if strings.HasSuffix(out, "\n") && len(g.pending) > 0 {
			out = strings.TrimSuffix(out, "\n") + g.newline()
		}
		out += g.pipeline()
	}
	return out
}

func (g *generator) pipeline() string {
	out := ""
	if g.chance(12) {
		out = g.pick("! ", "time ", "time -p ", "! ! ")
	}
	out += g.command()
	for g.budget > 0 && g.chance(6) {
		out += g.pick(" | ", " |& ") + g.command()
	}
	return out
}

func (g *generator) command() string {
	g.budget--
	if g.budget <= 0 || g.chance(3) {
		return g.simple()
	}
	switch rapid.IntRange(0, 12).Draw(g.t, "construct") {
	case 0:
		return "{ " + g.list() + "; }" + g.redirects()
	case 1:
		return "(" + g.list() + ")" + g.redirects()
	case 2:
		return g.branch()
	case 3, 4:
		return g.loop()
	case 5:
		return g.cases()
	case 6:
		return g.function()
	case 7:
		return g.script()
	case 8:
		return g.wrapped()
	case 9, 10:
		return g.builtin()
	}
	return g.simple()
}

func (g *generator) branch() string {
	out := "if " + g.list() + "; then " + g.list() + "; "
	if g.chance(4) {
		out += "elif " + g.list() + "; then " + g.list() + "; "
	}
	if g.chance(2) {
		out += "else " + g.list() + "; "
	}
	return out + "fi" + g.redirects()
}

func (g *generator) loop() string {
	head := ""
	switch rapid.IntRange(0, 5).Draw(g.t, "loop") {
	case 0:
		head = "while " + g.pick("q", "false", "! r", "[ a = b ]")
	case 1:
		head = "until " + g.pick("r", "true", "! q")
	case 2:
		head = "for ((i=0; i<" + g.pick("0", "1", "3") + "; i++))"
	case 3:
		head = "for " + g.variable()
	default:
		head = "for " + g.variable() + " in " + g.words(3)
	}
	g.loops++
	body := g.list()
	if g.chance(5) {
		body += "; " + g.pick("break", "continue", g.pick("q", "r")+" && break", "[ $i = 1 ] && continue", "break 2", "continue 2")
	}
	g.loops--
	return head + "; do " + body + "; done" + g.redirects()
}

func (g *generator) cases() string {
	out := "case " + g.word() + " in "
	for range rapid.IntRange(1, 3).Draw(g.t, "items") {
		out += g.pick("", "(") + g.pick("a", "b|a", "*", `"$x"`, "[a-c]", "$y", "?", "a*") + ") " + g.list() + g.pick(";; ", ";; ", ";& ", ";;& ")
	}
	return out + "esac" + g.redirects()
}

func (g *generator) function() string {
	name := g.pick("f", "g", "f", "h", "q")
	g.funcs++
	loops := g.loops
	g.loops = 0
	body := g.list()
	if g.chance(4) {
		body += "; " + g.pick("return", "return 1", "q || return; r z", "local x=l; r $x; "+g.pick("r $x", "g"))
	}
	g.funcs--
	g.loops = loops
	out := g.pick(name+"() { "+body+"; }", "function "+name+" { "+body+"; }", name+"() ("+body+")")
	if len(g.pending) > 0 {
		return out
	}
	return out + "; " + name + " " + g.words(2)
}

// script is text that is run as a script.
func (g *generator) script() string {
	pending := g.pending
	g.pending = nil
	g.quoted++
	text := g.list() + g.bodies()
	g.quoted--
	g.pending = pending
	quoted := singleQuoted(text)
	switch rapid.IntRange(0, 8).Draw(g.t, "script") {
	case 0:
		return "eval " + quoted
	case 1:
		return "bash -c " + quoted + " " + g.words(2)
	case 2:
		return "trap " + quoted + " EXIT"
	case 3:
		return "bash <<< " + quoted
	case 4:
		return "echo " + quoted + " | bash"
	case 5:
		return "s=" + quoted + "; eval \"$s\""
	case 6:
		return "bash -s " + g.words(2) + " <<< " + quoted
	case 7:
		if strings.Contains(text, "END") {
			return "eval " + quoted
		}
		g.pending = append(g.pending, text+"\nEND\n")
		return "bash <<'END'"
	}
	return "env " + g.pick("", "x=e ", "-u x ") + "bash -c " + quoted
}

func (g *generator) wrapped() string {
	before := g.pick("env ", "env x=v ", "env -u x ", "timeout 5 ", "timeout -k 1 5 ", "nice ", "nice -n 3 ", "nice -5 ", "nohup ", "setsid -w ", "stdbuf -oL ",
		"command ", "exec ", "xargs ", "xargs -n1 ", "xargs -I{} ", "flock o9 ", "ionice -c3 ", "taskset 1 ", "env -S ", "env - PATH=/stub ", "busybox env ",
		"find . -maxdepth 1 -name 'a*' -exec ", "find d -execdir ", "env -C d ", "chronic ", "command -p ", "env --chdir=d ", "prlimit --nofile=100 ",
		"setarch linux64 ", "chrt -b 0 ", "env -- ", "time ", "env timeout 5 nice ")
	call := g.pick("r", "q", "p", "bash -c 'r \"$@\"' _") + " " + g.words(2)
	switch {
	case strings.HasPrefix(before, "xargs"):
		return g.pick("printf 'a\\nb\\n' | ", "echo z | ", "p y | ") + before + call + g.pick("", " {}", " x{}y")
	case strings.HasPrefix(before, "find"):
		return before + call + g.pick(" {} \\;", " {} +", " x{} ';'", " \\;")
	}
	return before + call + g.redirects()
}

func (g *generator) builtin() string {
	switch rapid.IntRange(0, 16).Draw(g.t, "builtin") {
	case 0, 1, 2:
		return g.pick("cd d", "cd ..", "cd x", "cd d/e", "cd -", "cd", "cd nope", "cd /w/t", "cd ./d", "cd -P d", `cd "$x"`, "pushd d >/dev/null", "popd >/dev/null",
			"cd $y", "cd ~", "command cd d", "builtin cd ..")
	case 3:
		return "export " + g.variable() + "=" + g.word()
	case 4:
		return "set -- " + g.words(3)
	case 5:
		return g.pick("shift", "shift 2", "set -e", "set +e", "set --", "set -f", "set -u")
	case 6:
		return "unset " + g.pick("", "-v ", "-f ") + g.pick("x", "y", "f", "a")
	case 7:
		return "read " + g.pick("", "-r ") + g.pick("x", "x y", "-a a") + " <<< " + g.word()
	case 8:
		return "[ " + g.word1() + " " + g.pick("=", "!=") + " " + g.word1() + " ]"
	case 9:
		return "[[ " + g.word1() + " " + g.pick("==", "!=", "=~", "<") + " " + g.word1() + " ]]"
	case 10:
		return "(( " + g.pick("x = 3", "x++", "i += 2", "1 > 2", "y = i ? 1 : 2") + " ))"
	case 11:
		return g.pick("declare ", "readonly ", "typeset ", "declare -x ", "declare -i ", "declare -u ", "local ") + g.variable() + "=" + g.word()
	case 12:
		return "a=(" + g.words(3) + ")"
	case 13:
		return g.pick("f", "g", "h") + " " + g.words(2)
	case 14:
		return "printf -v " + g.variable() + " " + g.pick("%s ", "x%s ", "'%s-%s' ") + g.word()
	case 15:
		return g.pick("wait", ":", "true", "false", "IFS=:", "IFS=", "unset IFS", "mapfile -t a <<< "+g.word(), "trap - EXIT", "trap 'r t' EXIT", "exit", "exec >o1",
			"exec 2>&1", "let x=2+1", "getopts a: o -a v", "alias r=q", "shopt -s nullglob", "shopt -s extglob", "hash -r", "umask 022", ">o2", "a[1]="+g.word(), "x=1 y=$x")
	}
	return g.assignment()
}

func (g *generator) variable() string { return g.pick("x", "y", "z", "i") }

func (g *generator) assignment() string {
	return g.variable() + g.pick("=", "=", "=", "+=") + g.word()
}

func (g *generator) simple() string {
	if g.chance(6) {
		return g.assignment()
	}
	out := ""
	if g.chance(10) {
		out = g.assignment() + " "
	}
	if g.chance(20) {
		out += g.redirect() + " "
	}
	out += g.pick("r", "r", "q", "p", "r2", "echo", "f", "g", "printf %s", "cat", `"r"`, `\r`, "r''", "$c") + " " + g.words(4)
	return strings.ReplaceAll(out, "$c ", g.pick("r ", "r ", "${x:-r} ", "`echo r` ")) + g.redirects()
}

func (g *generator) redirects() string {
	out := ""
	for g.chance(8) {
		out += " " + g.redirect()
	}
	return out
}

func (g *generator) redirect() string {
	switch rapid.IntRange(0, 9).Draw(g.t, "redirect") {
	case 0:
		return g.heredoc()
	case 1:
		return "<<< " + g.word1()
	case 2:
		return "< <(" + g.inside() + ")"
	case 3:
		return "> >(" + g.inside() + ")"
	}
	return g.pick(">o1", "> o2", ">>o1", "2>&1", "2>/dev/null", ">/dev/null", "<a.txt", "</dev/null", "&>o3", ">&2", "3<b.txt", "< nope", ">|o1", "<>o4", "{fd}>o5", "2>&-")
}

// heredoc announces a here-document, whose body comes with the next newline.
func (g *generator) heredoc() string {
	name := g.pick("A", "B", "E_F")
	op := g.pick("<<", "<<-")
	quoted := g.pick(name, "'"+name+"'", `\`+name, `"`+name+`"`)
	tab := ""
	if op == "<<-" && g.chance(2) {
		tab = "\t"
	}
	body := tab + g.pick("text", "r no", "$(r h)", "`r h`", "$x ${y:-$(r d)}", "it's", "", "\\$(r no)", "$((1+$(p 1)))", `"$(r q)"`, "a\\", "'$(r s)'", "(", "$(p 'a b'", ")") + "\n"
	g.pending = append(g.pending, body+tab+name+"\n")
	return op + quoted
}

func (g *generator) words(most int) string {
	var out []string
	for range rapid.IntRange(0, most).Draw(g.t, "words") {
		out = append(out, g.word())
	}
	return strings.Join(out, " ")
}

// word1 is a word that does not need quotes to stay one.
func (g *generator) word1() string {
	return g.pick("a", `"$x"`, "b", `"$y"`, "''", `"${z:-a}"`, `"a b"`, "$((1))")
}

func (g *generator) word() string {
	out := g.part()
	for g.chance(6) {
		out += g.part()
	}
	return out
}

func (g *generator) part() string {
	switch rapid.IntRange(0, 13).Draw(g.t, "part") {
	case 0:
		return g.pick("$x", "$y", "${z}", "$1", "$@", "$*", "$i", "${a[0]}", "${a[@]}", "$#", "$?", "$a")
	case 1:
		return g.pick(`"$x"`, `"$y$z"`, `"$@"`, `"$*"`, `"${a[@]}"`, `"$1"`, `"x $x"`, `"${x}b"`)
	case 2:
		return g.pick("${x:-b}", "${x:=c}", `"${x-d e}"`, "${x:+e}", "${x%b}", "${x#a}", "${#x}", "${x/a/b}", "${x^^}", "${x:1}", "${!x}", "${x%%[a-b]*}", "${x//a}", "${x:0:1}",
			`"${x:-"a b"}"`, "${x:-'a b'}", "${x:-$y}", "${x:-a b}", "${@:1}", "${#a[@]}", `"${*}"`, "${x,}", "${x@Q}", "${1:-n}", "${x##*b}", `${x/"a"/'b c'}`, `"${x/a/b c}"`)
	case 3:
		if g.budget > 0 {
			return g.substitution()
		}
	case 4:
		return g.pick("*.txt", "[ab].txt", "d/*", "?.txt", "nope*", "*", ".*", "x[", "a.{txt,x}", "[!a]*")
	case 5:
		return g.pick("a{b,c}", "{1..3}", "{a,'b c'}", "{a}", "{x,$y}", "{}", "x{,y}z", "{a,{b,c}}", "{3..1}", "{a..c}", "{01..02}")
	case 6:
		return g.pick("'a b'", `"a b"`, `a\ b`, "$'a\\tb'", "''", `""`, `"\$x"`, `\$x`, `'$x'`, `"a'b"`, `'a"b'`, `\\`, `"\\"`, "$'\\''", `$"l"`, `"\a"`, "a\\\nb", "#", "a#b", `\#`)
	case 7:
		return g.pick("$((1+1))", "$((x))", "$((i+1))", "$((x=2))", "$((2>1))", "$[1+2]", "$(( $# ))")
	case 8:
		return g.pick("~", "~/x", "x=~", "~+", "a:~", "~nobodyhere", "~/", "x=a:~/b")
	}
	return g.pick("a", "b", "c", "-x", "--", "-", "a=b", "1", "a:b", "d", "x", "if", "done", "{", "}", "!", "in", "n")
}

// inside is a list within parentheses, for which a here-document must be done at their end.
func (g *generator) inside() string {
	pending := g.pending
	g.pending = nil
	g.inner++
	out := g.list()
	g.inner--
	if len(g.pending) > 0 {
		out += g.newline()
	}
	g.pending = pending
	return out
}

func (g *generator) substitution() string {
	g.budget--
	if g.chance(4) {
		return g.pick("`p x`", "\"`p 'y z'`\"", "`echo a b`", "$(<a.txt)", "`r \\`p 1\\``", "\"`echo \\\"a b\\\"`\"", "`echo \\$x`")
	}
	open := g.pick("$(", "\"$(", "$(", "<(")
	out := open + g.inside() + ")"
	if open[0] == '"' {
		out += `"`
	}
	return out
}
