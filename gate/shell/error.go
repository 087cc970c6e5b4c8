package shell

// An Error says why a line is refused. Nothing of a refused line may run.
type Error struct {
	Kind    ErrorKind
	Message string // one sentence, with the way to rewrite the line
	Source  string // the part of the line that it is about
}

// An ErrorKind is a reason to refuse a line; it is stable and stands in logs.
type ErrorKind string

// The reasons to refuse a line.
const (
	Syntax        ErrorKind = "syntax"         // bash would not read it
	DynamicName   ErrorKind = "dynamic-name"   // which command runs is known only at run time
	DynamicScript ErrorKind = "dynamic-script" // the text of a script is known only at run time
	StdinScript   ErrorKind = "stdin-script"   // a shell reads its script from a standard input that is not known
	Eval          ErrorKind = "eval"           // eval of text that is known only at run time
	Source        ErrorKind = "source"         // commands are read from a file
	Limit         ErrorKind = "limit"          // too long, too deep or too many
	Unsupported   ErrorKind = "unsupported"    // a construct that is not followed
	StrictIf      ErrorKind = "strict-if"      // not in strict mode
	StrictCase    ErrorKind = "strict-case"
	StrictLoop    ErrorKind = "strict-loop"
)

// Error gives the kind, the sentence and the source, quoted.
func (e *Error) Error() string {
	text := string(e.Kind) + ": " + e.Message
	if e.Source != "" {
		text += ": " + quoteSource(e.Source)
	}
	return text
}
