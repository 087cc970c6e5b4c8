package call

// A Form is how the spec of a command takes its words apart: what each word is, whatever its place and spelling. It is
// what entries of a policy are compared with.
type Form struct {
	// Path is the executable and its subcommands by the names that their specs have: git remote add. A subcommand that
	// no spec knows, and a command without a spec, stand as written, without the directory.
	Path  []string
	Parts []Part // in the order of the words; of -abc, in the order of the letters
	// Lost is set where the last of Path is a subcommand that no spec knows.
	Lost bool
	// More is set where operands or options arrive at run time that the words do not show: xargs brings them.
	More bool
}

// A Part is one thing that the words say. A value that stands in a word of its own belongs to the part of its option.
type Part struct {
	Word int // index in Argv
	Role Role
	// Flag is the option's canonical name: its first long spelling, else its first. A Stranger stands as written,
	// without a value behind "=".
	Flag  string
	Names []string // all spellings of the option, shared and not to be changed; nil for a Stranger
	// Value is the value of an option, the text of an operand, the canonical name of a subcommand.
	Value    string
	HasValue bool // of an option: a value was given
	Dynamic  bool // the value is known only at run time
	// Open is set where the word can turn out to be an option, or any number of words. Glob says that it is for files
	// whose names begin with a dash.
	Open, Glob bool
	Path       bool // of an operand: the spec says that it is the name of a file
	Off        bool // taken back: --no-x, --x=false
	Cut        bool // a long option that is not spelt out
	Level      int  // which command of Path has the option; of a subcommand, its place in Path
}

// A Role says what a part is. The zero Role is that nobody knows.
type Role uint8

// The roles.
const (
	Stranger   Role = iota // an option that the spec does not know
	Subcommand             // one of Path, but for the executable
	Flag                   // an option
	Operand
	Dashes // the -- behind which there are no options
)
