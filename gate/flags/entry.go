package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An Entry is what was harvested of one binary and one of its subcommands (none for the program as a whole).
type Entry struct {
	File    Identity
	Sub     []string
	Sources []string // how it was learnt: "git commit -h", "man git-commit"
	Help
}

const header = "gatehouse flags 1"

// encode writes an entry as lines of fields, which a check reads faster than JSON.
func (e *Entry) encode() []byte {
	var b strings.Builder
	line := func(fields ...string) { b.WriteString(strings.Join(fields, "\t") + "\n") }
	line(header)
	id := e.File
	line("file", id.Machine, strconv.Quote(id.Path), decimal(id.Dev), decimal(id.Ino), decimal(id.Size), decimal(id.Mtime),
		decimal(id.Ctime), id.SHA256)
	line(append([]string{"sub"}, quoted(e.Sub)...)...)
	for _, source := range e.Sources {
		line("from", strconv.Quote(source))
	}
	for _, name := range e.Subcommands {
		line("command", strconv.Quote(name))
	}
	for _, f := range e.Flags {
		fields := []string{"flag", f.Value.String(), marksOf(f), decimal(f.Arity), strings.Join(f.Names, " ")}
		line(append(fields, quoted(f.Choices)...)...)
	}
	line("end")
	return []byte(b.String())
}

func decimal[N int | int64 | uint64](n N) string { return fmt.Sprint(n) }

func quoted(words []string) (out []string) {
	for _, word := range words {
		out = append(out, strconv.Quote(word))
	}
	return out
}

// marksOf returns the yes-or-no facts about a flag as letters.
func marksOf(f Flag) string {
	out := "."
	for _, m := range markLetters {
		if *m.of(&f) {
			out += m.letter
		}
	}
	if f.Choices != nil {
		out += "c"
	}
	return out
}

var markLetters = [...]struct {
	letter string
	of     func(*Flag) *bool
}{
	{"n", func(f *Flag) *bool { return &f.Next }},
	{"r", func(f *Flag) *bool { return &f.Repeat }},
	{"v", func(f *Flag) *bool { return &f.Variadic }},
	{"e", func(f *Flag) *bool { return &f.EndsOptions }},
	{"u", func(f *Flag) *bool { return &f.Uncertain }},
	{"d", func(f *Flag) *bool { return &f.Digits }},
}

var errMalformed = errors.New("not a whole entry of this version")

// decode reads what encode wrote. Anything else, a part of it included, is an error.
func decode(data string) (*Entry, error) {
	e := &Entry{}
	rest, ok := strings.CutPrefix(data, header+"\n")
	if !ok || !strings.HasSuffix(rest, "\nend\n") {
		return nil, errMalformed
	}
	rest = strings.TrimSuffix(rest, "end\n")
	e.Flags = make([]Flag, 0, strings.Count(rest, "\nflag\t"))
	for line := range strings.Lines(rest) {
		kind, fields, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if err := e.decodeLine(kind, fields); err != nil {
			return nil, err
		}
	}
	if e.File.Path == "" {
		return nil, errMalformed
	}
	return e, nil
}

func (e *Entry) decodeLine(kind, rest string) error {
	switch kind {
	case "file":
		return e.File.decode(strings.Split(rest, "\t"))
	case "sub":
		return unquoted(&e.Sub, rest)
	case "from":
		return unquoted(&e.Sources, rest)
	case "command":
		return unquoted(&e.Subcommands, rest)
	case "flag":
		return e.decodeFlag(rest)
	}
	return errMalformed
}

func (e *Entry) decodeFlag(line string) error {
	fields := strings.SplitN(line, "\t", 5)
	if len(fields) < 4 {
		return errMalformed
	}
	f := Flag{Names: strings.Fields(fields[3])}
	value := slices.Index(valueNames[:], fields[0])
	arity, err := strconv.Atoi(fields[2])
	if value < 0 || value > int(Optional) || err != nil || len(f.Names) == 0 {
		return errMalformed
	}
	f.Value, f.Arity = Value(value), arity
	for _, m := range markLetters {
		*m.of(&f) = strings.Contains(fields[1], m.letter)
	}
	if strings.Contains(fields[1], "c") {
		f.Choices = []string{}
	}
	if len(fields) == 5 {
		if err := unquoted(&f.Choices, fields[4]); err != nil {
			return err
		}
	}
	e.Flags = append(e.Flags, f)
	return nil
}

func (id *Identity) decode(fields []string) error {
	if len(fields) != 8 {
		return errMalformed
	}
	path, err := strconv.Unquote(fields[1])
	dev, err1 := strconv.ParseUint(fields[2], 10, 64)
	ino, err2 := strconv.ParseUint(fields[3], 10, 64)
	var numbers [3]int64
	var errs [3]error
	for i := range numbers {
		numbers[i], errs[i] = strconv.ParseInt(fields[4+i], 10, 64)
	}
	if errors.Join(err, err1, err2, errs[0], errs[1], errs[2]) != nil || len(fields[7]) != 64 {
		return errMalformed
	}
	*id = Identity{fields[0], path, dev, ino, numbers[0], numbers[1], numbers[2], fields[7]}
	return nil
}

func unquoted(words *[]string, line string) error {
	if line == "" {
		return nil
	}
	for field := range strings.SplitSeq(line, "\t") {
		word, err := strconv.Unquote(field)
		if err != nil {
			return errMalformed
		}
		*words = append(*words, word)
	}
	return nil
}
