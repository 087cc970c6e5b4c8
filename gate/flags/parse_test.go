package flags

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show writes a help text's flags in one line: names, then the value as n, r, o with ? where it is uncertain.
func show(help Help) string {
	var out []string
	for _, f := range help.Flags {
		s := strings.Join(f.Names, ",") + ":" + f.Value.String()[:1]
		if f.Arity > 1 {
			s += fmt.Sprint(f.Arity)
		}
		if f.Choices != nil {
			s += "{" + strings.Join(f.Choices, "|") + "}"
		}
		if f.Uncertain {
			s += "?"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestLayoutsOfRealPrograms(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"the rows of another table": {
			"  -n   ignored\n\nEach range is one of:\n\n  N     N'th byte\n  N-M   from N'th to M'th byte\n  -M    from first to M'th byte\n", "-n:n",
		},
		"operands before the options": {
			"  CONTEXT          the context\n  -c, --compute    compute it\n  -###             like -v\n  -E               preprocess\n", "-c,--compute:n -###:n -E:n",
		},
		"ways to write a number": {"TESTS\n       +n     for greater than n,\n\n       -n     for less than n,\n\n       -amin n\n              Minutes.\n", "-amin:r"},
		"a value that looks like a flag": {
			"       -perm mode\n              Exactly.\n\n       -perm -mode\n              All of them.\n", "-perm:r",
		},
		"what is given anyway":            {"  -b, --blocks=N   blocks\n\n*This* tar defaults to:\n--format=gnu -f- -b20\n--rsh=/x\n", "-b,--blocks:r"},
		"other names in the text":         {"-h     : print this help (also -? or --help)\n-V     : print the version\n         (also --version)\n", "-h,-?,--help:n -V,--version:n"},
		"a name with and without a value": {"  -c, --check, --check=diagnose-first  check\n  -C, --check=quiet, --check=silent  like -c\n", "-c,--check:o? -C:n?"},
		"a patch as an example": {
			"OPTIONS\n       -p     Patch.\n\n           @@@ -98,20 -98,12 +98,20 @@@\n                   x\n            -static void describe(char *arg)\n           ++static\n", "-p:n",
		},
		"a value glued to a capital": {"       -Olevel\n              Optimise.\n       -Wall  Warn.\n", "-O:r -Wall:n"},
		"names that are signs":       {"  -<, --less-than=NUMBER   fewer\n  ->, --more-than=NUMBER   more\n", "-<,--less-than:r ->,--more-than:r"},
		"a long name in a second column": {
			"POSIX options:\t\tGNU long options:\n\t-f progfile\t\t--file=progfile\n\t-F fs\t\t\t--field-separator=fs\n",
			"-f,--file:r -F,--field-separator:r",
		},
		"long before short, two blanks": {
			"  --append  -A chain            Append to chain\n  --flush   -F [chain]          Delete all\n[!] --proto     -p proto       by number\n",
			"--append,-A:r --flush,-F:o --proto,-p:r",
		},
		"two entries side by side": {
			"  -f   freshen: only changed  -u   update: only new\n  -d   delete entries          -m   move into\n" +
				"  -r   recurse               -j   junk names\n  -q   be quiet              -v   say more\n",
			"-f:n -d:n -r:n -j:n -q:n -v:n",
		},
		"a range of digits": {"  -0 ... -3           preset\n  -e, --extreme       slower\n", "-0,-1,-2,-3:n -e,--extreme:n"},
		"pflag's optional values": {
			"Flags:\n      --color string[=\"auto\"]   colour\n      --v int   level (default 1)\n  -h, --help   help for x\n",
			"--color:o --v:r -h,--help:n",
		},
		"kubectl": {"Options:\n    --all=false:\n\tSelect all.\n\n    -f, --filename=[]:\n\tFiles to use.\n", "--all:o -f,--filename:r"},
		"npm": {
			"Usage:\nnpm install [<package-spec> ...]\n\nOptions:\n[-S|--save|--no-save]\n[--omit <dev|optional|peer> [--omit <dev|optional|peer> ...]]\n\nRun \"npm help\"\n",
			"-S,--save:n --no-save:n --omit:r{dev|optional|peer}",
		},
		"placeholders are no choices": {"  --from <FILE|URL>   source\n  --mode <fast|slow>  speed\n  --x {a|b}   y\n", "--from:r --mode:r{fast|slow} --x:r{a|b}"},
		"a choice in capitals":        {"  --x <A|B>   which\n", "--x:r{A|B}"},
		"clusters":                    {"usage: x [-46AaCf] [-B iface] [-help] file\n", "-4:n -6:n -A:n -a:n -C:n -f:n -B:r -help:n"},
		"clap":                        {"Options:\n  -j, --jobs <N>\n          Number [env: JOBS=]\n\n      --fix[=<HOW>]  mend\n", "-j,--jobs:r --fix:o"},
		"argparse": {
			"usage: x [-h] [--n N [N ...]] [--opt [O]] {init,run} ...\n\noptions:\n  -h, --help     show\n  --n N [N ...]  many\n  --opt [O]      one\n",
			"-h,--help:n --n:r --opt:o",
		},
		"a URL as placeholder": {" -x, --proxy [protocol://]host[:port] Use this proxy\n -S, --ssl     Use SSL\n", "-x,--proxy:r -S,--ssl:n"},
		"a short name for one value of a long option": {
			"      --style=WORD   a style\n  -p, --style=slash  append /\n", "--style:r -p:n?",
		},
		"prose that begins with a flag": {
			"The tool is told by\n--verbose to say more about what\nit does.\n\nOptions:\n  -q  quiet, the opposite of\n      -v which is not there\n", "-q:n",
		},
		"examples": {"Examples:\n  -x is not an option\n\nOptions:\n  -y   yes\n", "-y:n"},
		"rows of another table": {
			"  -b, --bytes=LIST   bytes\n\nEach range is one of:\n\n  N     the N'th\n  -M    up to the M'th\n", "-b,--bytes:r",
		},
		"two values of one letter":           {"  --arg a v        set a to v\n  -a a thing  two\n", "--arg:r2 -a:n"},
		"a name without a dash among others": {" -p, p, --pid <PID>  process id\n  a   all\n", "-p,--pid:r"},
		"a heading over the columns":         {" Option         Long option             Meaning\n -A             --smarthome             Home key\n", "-A,--smarthome:n"},
		"an enumeration":                     {"The flags\n\t-run, -short, -skip\nare known.\n\nFlags:\n\t-c   count\n", "-c:n"},
		"a remark in usage":                  {"Usage:\n\nx install        install all\nx <command> -h   quick help\n", "-h:n"},
		"a table is no help":                 {"Filesystem  Size\n/dev/vda    10G\n-           1G\n", ""},
		"no text":                            {"", ""},
		"nothing but brackets":               {"[[[[(((({{{{<<<<-", ""},
	} {
		if diff := cmp.Diff(test.want, show(Parse(test.text))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestSubcommands(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"cobra":   {"Available Commands:\n  create      Create it\n  get         Show it\n\nFlags:\n  -h, --help   help\n", "create get"},
		"clap":    {"Commands:\n    build, b    Compile\n    check       Look\nOptions:\n  -q  quiet\n", "build b check"},
		"npm":     {"All commands:\n\n    access, adduser, audit,\n    bugs, cache, ci\n", "access adduser audit bugs cache ci"},
		"systemd": {"Unit Commands:\n  list-units [PATTERN...]      List units\n  start UNIT...                Start\n", "list-units start"},
		"git":     {"These are common Git commands:\n\nstart a working area\n   clone     Clone a repository\n   init      Make one\n", "clone init"},
		"go":      {"The commands are:\n\n\tbug         report\n\tbuild       compile\n\nUse \"go help <command>\" for more.\n", "bug build"},
		"gh":      {"CORE COMMANDS\n  auth:        Log in\n  pr:          Pull requests\n\nFLAGS\n  --help   Show\n", "auth pr"},
		"none":    {"Usage: ls [OPTION]... [FILE]...\n  -a  all\n", ""},
	} {
		if diff := cmp.Diff(test.want, strings.Join(Parse(test.text).Subcommands, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// FuzzParse holds Parse to its promise: no crash, and no flag whose letters the text does not have.
func FuzzParse(f *testing.F) {
	f.Add("Usage: x [-abc] [-f FILE]\n  -a, --[no-]all[=X]  text\n")
	f.Add("  -0 ... -9  x\n[-a|--b <c|d>]\n-x\b\b[ --y ] arg (=1)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, flag := range Parse(text).Flags {
			if len(flag.Names) == 0 {
				t.Fatal("a flag without a name")
			}
			for _, name := range flag.Names {
				if strings.ContainsAny(name, " \t\n") || len(name) < 2 {
					t.Fatalf("%q is no name", name)
				}
			}
		}
	})
}
