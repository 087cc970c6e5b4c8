package flags

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKindsOfLayout(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"signs in a cluster":       {"Usage: calc [-n?V] [-e EXPR] FILE\n", "-n:n -?:n -V:n -e:r"},
		"a cluster that begins so": {"usage: x [-?hv]\n", "-?:n -h:n -v:n"},
		"no cluster in a name":     {"usage: x [-q] -off-@files\n", "-q:n"},
		"a word for all options":   {"usage: xprog [-options ...] [--flags] FILE\n  -rv   reverse\n", "-rv:n"},
		"two names in one bracket": {"usage: x [-f FILE | --file FILE] [-v]\n", "-f,--file:r -v:n"},
		"operands behind a value":  {"usage: foo [-a] -o OUT FILE\n  or: foo --ref=RFILE FILE...\n  or: foo --set NAME VALUE\n", "-a:n -o:r? --ref:r --set:r2?"},
		"thor":                     {"Options:\n  -p, [--path=PATH]          # Where\n  -f, [--force], [--no-force]  # Over\n      [--skip-git]           # no git\n", "-p,--path:r -f,--force,--no-force:n --skip-git:n"},
		"a name in parentheses":    {"Options:\n  -v (--verbose)        more\n  -o (--output) FILE    write\n", "-v,--verbose:n -o,--output:r"},
		"click": {
			"Options:\n  --kind [red|green]      Colour.\n  --pos <FLOAT FLOAT>...  Position.\n  -n, --num INTEGER RANGE  A number\n  --maybe [X]   m\n",
			"--kind:r{red|green} --pos:r2 -n,--num:r --maybe:o",
		},
		"a choice after a sign":       {"  --x=[on|off]   x\n  --tabs=[N]   t\n", "--x:r{on|off} --tabs:r"},
		"values of several words":     {"  --arg name value     set\n  --rgb R G B          colour\n  --k some words here  and text\n  --a use it now   text\n", "--arg:r2 --rgb:r3 --k:r3 --a:n"},
		"values in a column":          {"  -o, --output    FILE        write to it\n  -v, --verbose               more\n  --raw  (HTTP)  Text.\n", "-o,--output:r -v,--verbose:n --raw:n"},
		"a number with its sign":      {" -days +int     days\n -noout          none\n", "-days:r -noout:n"},
		"types in parentheses":        {"OPTIONS\n       --debug (boolean)\n\n       On.\n\n       --region (string)\n\n       Where.\n", "--debug:n --region:r"},
		"an equals sign between":      {"  --a = A   text\n", "--a:r"},
		"glued in capitals":           {"  -fFILE   file\n  -nNUM    number\n  -fPIC    code\n", "-f:r -n:r -fPIC:n"},
		"dots for a value":            {"    -m, --[no-]message ...\n                          text\n    --name=NAME ...   names\n", "-m,--message,--no-message:r --name:r"},
		"many in one bracket":         {"  -n, --num <numbers...>  several\n  -u <uid,...>   list\n", "-n,--num:r -u:r"},
		"oclif":                       {"FLAGS\n  --level=<option>  the level\n                    <options: debug|info>\n", "--level:r{debug|info}"},
		"counters":                    {"Flags:\n  -v, --verbose count   more\n  -c, --count count     how many\n", "-v,--verbose:o -c,--count:r"},
		"a prefix in brackets":        {"  -h, --[section-]headers  text\n", "-h,--headers,--section-headers:n"},
		"a comma and no other name":   {"  -h, --help   text\n  -?,          text\n", "-h,--help:n -?:n"},
		"names below each other":      {"OPTIONS\n       -o <file>\n       --output <file>\n           Write.\n\n       -x\n           X.\n\n       --yes\n           Y.\n", "-o,--output:r -x:n --yes:n"},
		"no names of one flag":        {"options:\n  -f F\n  --foo FOO\n", "-f:r --foo:r"},
		"operators":                   {"Operators (by precedence): -not EXPR\n   EXPR1 -a EXPR2   EXPR1 -o EXPR2\n\nActions: -print -ok COMMAND ;\n", "-not:n -a:n -o:n -print:n -ok:r"},
		"one name short in the usage": {"Usage: ip [ OPTIONS ] OBJECT\n       ip [ -force ] -batch filename\nOPTIONS := { -b[atch] [filename] | -s[tatistics] }\n", "-force:n -b,-batch:r? -s,-statistics:n"},
		"values behind a colon, DOS":  {"Switches:\n  /A        Archive.\n  /B:size   Block size.\n  /?        Help.\n", "/A:n /B:r /?:n"},
		"typer": {
			"╭─ Options ─────────────────────────────────────╮\n│ *  --name    -n      TEXT           The name  │\n│                                     [required] │\n" +
				"│    --kind            [simple|conv]  Which      │\n│    --formal  --no-formal            Be formal  │\n╰────────────────────────────────────────────────╯\n",
			"--name,-n:r --kind:r{simple|conv} --formal,--no-formal:n",
		},
		"a table": {
			"Options:\n+--------+-------+-------+\n| Option | Value | Means |\n+--------+-------+-------+\n| -o, --output | FILE | write |\n| -v     |       | more  |\n+--------+-------+-------+\n",
			"-o,--output:r -v:n",
		},
		"markdown":                     {"| Flag | Type | Text |\n|---|---|---|\n| `-o`, `--output` | string | write |\n| `--port <n>` | | port |\n", "-o,--output:r --port:r"},
		"examples in several parts":    {"Options:\n  -q   quiet\n\nEXAMPLES\n     One:\n           tool -r\n     Or:\n           -z is none\n", "-q:n"},
		"notes":                        {"OPTIONS\n       -q     quiet\n\nNOTES\n       --frob was removed.\n", "-q:n"},
		"files are no flags":           {"total 8\n-rw-r--r-- 1 root root  12 Jan  1 00:00 a\n-rwxr-xr-x 1 root root  12 Jan  1 00:00 b\n", ""},
		"numbers are no flags":         {"  -1.5   3.2\n  -10    7\n", ""},
		"how it was built":             {"tool 1.2\nbuilt with: --enable-foo --disable-bar --prefix=/usr\nconfigure args: --with-x --without-y\n", ""},
		"an enumeration of long names": {"These are not supported:\n--exclude, --exclude-from, --exclude-dir, --include, --null,\n--null-data (-z), and --recursive (-r).\n", ""},
	} {
		if diff := cmp.Diff(test.want, show(Parse(test.text))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestSubcommandsInOtherPlaces(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"yargs":                 {"app <command>\n\nCommands:\n  app serve [port]  start\n  app build         build\n", "serve build"},
		"commander":             {"Commands:\n  serve [options] <dir>   serve it\n  test|t                  test it\n", "serve test t"},
		"gcloud":                {"COMMANDS\n    COMMAND is one of the following:\n\n     compute\n        Compute.\n\n     storage\n        Store.\n", "compute storage"},
		"a script's choice":     {"Usage: svc [-C DIR] {start|stop}\n", "start stop"},
		"without braces":        {"Usage: svc start|stop|status\n", "start stop status"},
		"operands are none":     {"Usage: mount device|mountpoint\n", ""},
		"a list of other words": {"  --format=FORMAT\n\n FORMAT is one of the following:\n    gnu   GNU\n    pax   POSIX\n", ""},
	} {
		if diff := cmp.Diff(test.want, strings.Join(Parse(test.text).Subcommands, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// What takes minutes without limits takes seconds on the slowest machine with them.
func TestTextsOfAnEnemyEndSoon(t *testing.T) {
	long := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	done := make(chan string)
	go func() {
		for _, text := range []string{
			"usage: x " + long("[-", 1<<20), long("usage: x [-a\n", 1<<20), "usage: x [\n" + long("  b\n", 1<<20), "  -a" + long(" (-a", 1<<20),
			"a: " + long(": -", 1<<20), long("  -a"+long(" [ -a", 3900)+"\n", 1<<18),
		} {
			Parse(text)
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a text of a megabyte takes more than a minute")
	}
}
