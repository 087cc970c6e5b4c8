package shell

// A Command is one simple command that a line can run.
type Command struct {
	// Words is the argument vector after expansion, the name first; it is never empty and the name is always Exact.
	//
	// Four names stand for what the shell does without a command of that name: "test" for [[ … ]] and for [ … ] (without
	// the closing bracket), "let" for (( … )), "time" for the reserved word, and "redirect" for redirections without a command.
	Words  []Word
	Source string // the text of the command in its line or script; of an unwrapped command, the words it was made of

	Operator    string // how it is joined to what stands before it: "" ";" "&&" "||" "|" "$()" "wrap"
	Pipeline    int    // number shared by the stages of one pipeline; 0: in none
	Depth       int    // 0 at the top; one more in each subshell, group, substitution, wrapper and script
	Conditional bool   // it may be skipped
	Repeated    bool   // it may run any number of times
	Background  bool   // the shell does not wait for it: what follows may run before it, or at the same time
	Wrapper     string // name of the nearest command that runs it, such as "sudo" or "python -m"
	Remote      bool   // it runs elsewhere: in a container, on another host; its paths are not ours
	XArgs       bool   // more operands arrive at run time
	Sourced     bool   // an activation script was sourced before: PATH, functions and aliases are what it made of them

	Redirects []Redirect // its own, then those of the constructs around it
	Env       []Assign   // assignments before the command, or made by a wrapper
	Dir       Dir        // the directory that it runs in
	Stdin     Stdin      // what arrives on its standard input, where that is known
}

// Name is the command's name as written, which may be a path.
func (c *Command) Name() string { return c.Words[0].Text }

// A Word is one word of a command, or several where it Splits.
type Word struct {
	// Text is the word's value where State is Exact; otherwise its source text, with quotes removed, and with the
	// known variables replaced.
	Text string
	// Values holds all values that a Several word can have, some of those of a Maybe word, and of a Pattern word one: the
	// pattern with a backslash before each character that is not special in it.
	Values []string
	State  State
	Splits bool // it may be no word at all, or any number of them
}

// A State says what is known of a word. The zero State is that nothing is.
type State uint8

// The states of a word, the least known first.
const (
	Unknown State = iota // any value
	Maybe                // one of Values, or any other
	Pattern              // a glob: the disk decides
	Several              // one of Values
	Exact                // Text
)

// An Assign is a variable that a command finds in its environment.
type Assign struct {
	Name   string
	Value  Word
	Append bool // NAME+=VALUE
	Unset  bool // the variable is taken away (env -u NAME; with the Name "*", all of them: env -i)
}

// A Redirect is a redirection that holds while a command runs.
type Redirect struct {
	Op     string // as written: > >> < >| <> &> &>> >& <& << <<- <<<
	Target Word   // of a here-document, its delimiter
	FD     int    // the number before the operator; -1: none was written
	FDName string // the variable of {NAME}>
	Body   Word   // the text of a here-document
	// Copy is set where the target is another descriptor (2>&1, >&-) and no file is opened.
	Copy      bool
	Inherited bool // made for something around the command: a group, a wrapper, exec
}

// A Dir says in which directory a command runs. The zero Dir is unknown.
type Dir struct {
	// Path is absolute and lexically clean: the directory if each cd before the command did what it says. "" is unknown.
	Path string
	// Others are further directories that it can be, since a cd may have failed or a branch may not have been taken.
	Others []string
	// Unsure is set if there may be yet others that nobody can name.
	Unsure bool
}

// Exact reports whether d is one known directory.
func (d Dir) Exact() bool { return d.Path != "" && len(d.Others) == 0 && !d.Unsure }

// Stdin is what a command finds on its standard input. The zero Stdin is unknown.
type Stdin struct {
	Known bool // Text is all that arrives
	Text  string
}

// Options say what is known of the shell that will run the line.
type Options struct {
	Strict bool                        // refuse if, case, and loops that cannot be unrolled
	Dir    string                      // the working directory, absolute; "": unknown
	Home   string                      // what ~ and cd without operand mean; "": unknown
	Env    func(string) (string, bool) // the value of a variable, and whether it is known; nil: none is
	Limits Limits
}

// Limits bound the work that one line can cause. A zero field takes the default.
type Limits struct {
	Input    int // bytes of the line and of the scripts in it: 1 MiB
	Commands int // commands in the result: 10 000
	Words    int // words in the result: 100 000
	Text     int // bytes that expansions make: 4 MiB
	Depth    int // nesting of constructs, scripts and function calls: 100
	Loop     int // passes of one unrolled loop: 64
	Passes   int // passes of all unrolled loops: 1 024
}
