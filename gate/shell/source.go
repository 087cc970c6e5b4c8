package shell

import (
	"errors"
	"io"
	"runtime"
)

// errDeep says that constructs are nested too deeply for the parser.
var errDeep = errors.New("nested too deeply")

// maxFrames bounds the parser's recursion. It takes four to eight calls for a level, and without a bound a line of one
// megabyte would take it minutes, or end the process.
const maxFrames = 1200

// A source gives text to the parser, which asks for it piece by piece while it is inside of constructs: a look at the
// stack then shows how deep it is.
type source struct {
	text   string
	begun  bool
	frames [maxFrames]uintptr
}

func (s *source) reset(text string) { s.text, s.begun = text, false }

func (s *source) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF // not before: the parser's positions are wrong if the end is said with the last piece
	}
	if s.begun && runtime.Callers(0, s.frames[:]) == maxFrames {
		return 0, errDeep
	}
	s.begun = true
	n := copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}
