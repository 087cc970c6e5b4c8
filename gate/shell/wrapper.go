package shell

import (
	"strconv"
	"strings"
)

// unwrap says what the command argv runs besides itself: the command after sudo, the script after bash -c. Each program
// has the option table of its own manual in one of the wrapper files; an option that a table does not have makes what
// runs uncertain, and is refused, like a word that is known only at run time and stands where an option would be.
//
// argv[0] is Exact. argv is neither changed nor kept. A command that is no wrapper gives nil without allocating.
//
// stdin is what arrives on the command's standard input; programs that read file names or templates from it need it to
// say more, never to say less.
func unwrap(argv []Word, stdin Stdin) ([]inner, *Error) {
	return open(invocation{argv: argv, stdin: stdin})
}

func open(in invocation) ([]inner, *Error) {
	in.name = baseName(in.argv[0].Text)
	read := opener(in.name)
	if read == nil {
		return nil, nil
	}
	inners, err := read(in)
	if err != nil {
		return nil, err
	}
	for i := range inners {
		if inners[i].Wrapper == "" {
			inners[i].Wrapper = in.name
		}
		inners[i].tail()
	}
	return inners, nil
}

// An unwrapper says what one wrapper runs.
type unwrapper func(invocation) ([]inner, *Error)

// opener gives the unwrapper of the program called name; nil if it runs nothing but itself.
func opener(name string) unwrapper {
	if r := plainRunner(name); r != nil {
		return r.open
	}
	if f := shellOpener(name); f != nil {
		return f
	}
	if f := runnerOpener(name); f != nil {
		return f
	}
	if f := packageOpener(name); f != nil {
		return f
	}
	if f := remoteOpener(name); f != nil {
		return f
	}
	return optionOpener(name)
}

// An invocation is a command that may be a wrapper.
type invocation struct {
	name   string // base name of argv[0]
	argv   []Word
	stdin  Stdin
	nested bool // somebody else looks at what it runs in its turn
}

// command is the result for a wrapper that runs the words rest, or nothing if there are none.
func (in invocation) command(rest []Word, as inner) ([]inner, *Error) {
	if len(rest) == 0 {
		return nil, nil
	}
	as.Argv = rest
	return []inner{as}, nil
}

// script is the result for a wrapper that gives text to a shell.
func (in invocation) script(text Word, as inner) ([]inner, *Error) {
	as.Script = &text
	return []inner{as}, nil
}

// operand takes the first of rest, which stands before the command that in runs.
func (in invocation) operand(rest []Word) (Word, []Word, *Error) {
	if len(rest) == 0 {
		return Word{State: Exact}, nil, nil
	}
	if manyWords(rest[0]) {
		return Word{}, nil, in.dynamic(rest[0], severalWords(rest[0]))
	}
	return rest[0], rest[1:], nil
}

// tail gives an inner command that is a wrapper itself one word more, for those that arrive at run time, so that they
// reach what it runs in its turn: in xargs sudo and xargs sh -c, they decide what that is.
func (i *inner) tail() {
	if i.XArgs && len(i.Argv) > 0 && i.Argv[0].State == Exact && opener(baseName(i.Argv[0].Text)) != nil {
		i.Argv = append(i.Argv[:len(i.Argv):len(i.Argv)], Word{Text: "$operands", Splits: true})
	}
}

// maxMade bounds the bytes, and maxInners the commands, that one wrapper makes of its words by repeating some of them.
const (
	maxMade   = 1 << 20
	maxInners = 30
)

func (in invocation) tooMuch() *Error {
	return &Error{Kind: Limit, Message: in.name + " is told to run too much; split the line, or put it into a script file",
		Source: excerpt(joinTexts(in.argv[:min(len(in.argv), 8)]), 0)}
}

func (in invocation) refuse(message string) *Error {
	return &Error{Kind: Unsupported, Message: message, Source: joinTexts(in.argv)}
}

func (in invocation) unknown(shown string) *Error {
	return in.refuse("the option " + strconv.Quote(shown) + " of " + in.name +
		" is not known, so what it runs cannot be told; leave it out, or run the command without " + in.name)
}

func (in invocation) dynamic(w Word, why string) *Error {
	return &Error{
		Kind:    DynamicName,
		Message: "what " + in.name + " runs depends on " + strconv.Quote(w.Text) + ", known only at run time: " + why,
		Source:  joinTexts(in.argv),
	}
}

func (in invocation) dynamicScript(why string) *Error {
	return &Error{Kind: DynamicScript, Message: "the text that " + in.name + " runs is known only at run time: " + why,
		Source: joinTexts(in.argv)}
}

// exact takes the text of a word that decides what runs.
func (in invocation) exact(w Word, what string) (string, *Error) {
	if w.State != Exact || w.Splits {
		return "", in.dynamic(w, "write the "+what+" out")
	}
	return w.Text, nil
}

// joined is the text that a program makes of its operands by putting spaces between them. It is Exact if all are.
func joined(words []Word) Word {
	if len(words) == 1 {
		return words[0]
	}
	var text strings.Builder
	all := Word{State: Exact}
	for i, w := range words {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(w.Text)
		if w.State != Exact || w.Splits {
			all.State = Unknown
		}
	}
	all.Text = text.String()
	return all
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// assign adds a word NAME=VALUE to the environment. Its name must be known; assign reports false if w is no assignment.
func (i *inner) assign(w Word) bool {
	name, _, ok := strings.Cut(knownPrefix(w), "=")
	if !ok || name == "" || manyWords(w) {
		return false
	}
	value := Word{Text: w.Text[len(name)+1:]}
	if w.State == Exact {
		value.State = Exact
	}
	i.Env = append(i.Env, Assign{Name: name, Value: value})
	return true
}
