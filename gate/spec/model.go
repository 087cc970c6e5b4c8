package spec

// This file is the model that the YAML of a pack is read into (read.go), checked (check.go) and compiled (compile.go).

// A command is the spec of one executable or subcommand.
type command struct {
	line int
	name string // executable, or the word that selects the subcommand

	tool     string // overrides the call's name
	summary  string
	aliases  []alias
	options  []option
	operands []operand
	subs     []*command

	posix     bool     // options end at the first operand
	dashdash  *operand // receives the words after --
	keyValue  bool     // operands are KEY=VALUE; options without dashes are the keys
	like      string   // words of the spec whose options, operands and subcommands it shares
	beyond    bool
	syntax    syntax
	numeric   string // dest that -NUMBER sets
	plus      bool   // +NUMBER too
	oldBundle bool   // the first word may be a bundle without a dash
	signals   bool   // -TERM sets numeric
	effects   mask
	derive    []derived
	extend    bool // adds to the spec that is there
}

// An alias is another name of a command.
type alias struct {
	name    string
	tool    string // overrides the call's name
	implied []implied
}

// An implied argument is set by the name under which a command was called.
type implied struct {
	dest, value string
}

// An option is one option with all its spellings.
type option struct {
	line    int
	flags   []string
	kind    kind
	dest    string
	help    string
	choices []string
	global  bool
	values  int  // words that it takes; 1 unless kind says none
	negate  bool // --no-x takes it back
	beyond  bool
	bare    string // its value where none is glued on; then the next word is never taken
	last    bool   // what stands behind it are operands, dashes or not
	number  bool   // the next word is its value if it is a number
	repeat  bool   // every occurrence counts, not the last one
	place
}

// An operand is a positional argument.
type operand struct {
	line    int
	name    string
	nargs   byte // 0 exactly one, '?', '*', '+'
	help    string
	choices []string
	unless  []string // it does not exist beside these options
	absent  string   // what the command works on where there is no such word
	ifGiven []string // … only beside one of these options
	place
}

// A place says what a value means for the world outside.
type place struct {
	effects  mask
	path     bool // the value is a path, shown absolute
	pathSaid bool // … and the file says so itself
	form     form
	tree     bool     // everything below is touched
	treeIf   []string // … where one of these options is given
	when     []when   // other effects beside an option
	maybe    bool     // it may be a path, or something else
	fromCwd  bool     // relative to where the command starts, whatever its chdir options say
	in       string   // relative to the directory that this option names
}

// A when replaces the effects of a place where an option is given; of several, the first that is given counts.
type when struct {
	dest    string
	effects mask
}

// A kind is the type of an option.
type kind uint8

const (
	kindStr kind = iota
	kindBool
	kindCount
	kindList
	kindInt
	kindAttached // a bool whose value can only be glued on; beside DEST there is DEST_suffix
	kindOptional // a bool whose value can only be glued on or stand after "="; beside DEST there is DEST_value
)

func kindOf(s string) (kind, bool) {
	return find[kind](s, "str", "bool", "count", "list", "int", "attached", "optional")
}

// takesWord reports whether an option takes the next word where no value is glued on.
func (o *option) takesWord() bool { return o.kind.takesWord() && o.bare == "" }

// takesWord reports whether an option of this kind takes the next word where no value is glued on.
func (k kind) takesWord() bool { return k == kindStr || k == kindList || k == kindInt }

// A syntax is how a command reads its words.
type syntax uint8

const (
	getopt   syntax = iota
	pflag           // cobra: --bool=false, -o=VALUE without the "="
	goflag          // one or two dashes, no bundles
	longOnly        // words behind one dash
	ffmpeg          // longonly, and a stream may be named behind the word: -c:a:0
	findExpr        // find
	noOptions
	echoLike // words that are no known options are operands
)

func syntaxOf(s string) (syntax, bool) {
	return find[syntax](s, "getopt", "pflag", "goflag", "longonly", "ffmpeg", "find", "none", "echo")
}

// A form says how a path stands in a value.
type form uint8

const (
	formPlain        form = iota
	formAt                // @PATH is a file, anything else text
	formKVAt              // NAME=@PATH or NAME=<PATH
	formKV                // NAME=PATH, or PATH
	formRemote            // HOST:PATH and SCHEME:// are not on this machine
	formVolume            // SOURCE:TARGET[:…]; a SOURCE without a slash is no path
	formMount             // type=bind,source=PATH,target=…
	formRevPath           // REV:PATH
	formComma             // PATH,PATH
	formColon             // PATH:PATH
	formSocket            // unix:PATH, unix:///PATH; anything else is an address
	formNode              // PATH::NAME::NAME, a test in a file
	formFields            // KEY=VALUE,KEY=VALUE, of which src, source, dest, destination, path or file is one
	formPathOrFields      // … or PATH
	formSetting           // KEY=PROGRAM, where some keys (core.sshCommand, ProxyCommand) name a program
	formNames             // PATH, and in that file stand the paths that are meant
	formNameAt            // NAME@PATH, @PATH; NAME=TEXT is none
	formLinePath          // FROM,TO:PATH, :NAME:PATH
	formWriteOut          // @PATH, or a text with %output{PATH} in it
)

func formOf(s string) (form, bool) {
	return find[form](s, "plain", "at", "kv-at", "kv", "remote", "volume", "mount", "rev-path", "comma", "colon", "socket",
		"node", "fields", "path-or-fields", "setting", "names", "name-at", "line-path", "write-out")
}

// A derivation is a rule about effects that no table can say; derive.go has them.
type derivation uint8

const (
	deriveURLBasename derivation = iota + 1
	deriveCloneDir
	deriveArchive
	derivePatch
	deriveIntoDirectory
	deriveScript
	deriveReplace
	deriveOrderedChdir
	deriveCwdTree
	deriveVimCommand
	deriveInOut
	derivePiped
	deriveSetting
)

// A derived says that a rule holds for a command: where one of the options given was given, if it names any, and none of
// unless.
type derived struct {
	rule          derivation
	given, unless []string
}

func derivationOf(s string) (derivation, bool) {
	d, ok := find[derivation](s, "", "url-basename", "clone-dir", "archive", "patch", "into-directory", "script", "replace",
		"ordered-chdir", "cwd-tree", "vim-command", "in-out", "piped", "setting")
	return d, ok && d != 0
}

func find[T ~uint8](s string, names ...string) (T, bool) {
	for i, name := range names {
		if s == name {
			return T(i), true
		}
	}
	return 0, false
}
