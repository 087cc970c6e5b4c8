package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gatehouse/manifest"
)

// A FileDiff shows one change. Lines is a unified diff of a text, or says in words what changed. They hold what an
// agent wrote: whoever prints them makes them harmless first.
type FileDiff struct {
	Change manifest.Change `json:"change"`
	Lines  []string        `json:"lines"`
}

const (
	maxDiffBytes = 1 << 20 // of one side; larger files are named, not shown
	maxDiffLines = 20000
)

// Diff shows the changes of a report: accepted to staged for a drift, accepted to HEAD for what awaits a deploy,
// accepted to what was replaced for what awaits a restore.
func (w *Warden) Diff(g Gate, r *Report) ([]FileDiff, error) {
	switch {
	case r.Fingerprint != "":
		return w.diff(g, r.Changes, func(c *manifest.Change) (io.ReadCloser, error) {
			staged, err := os.Open(filepath.Join(w.stagedDir(r.Fingerprint), c.New.SHA256))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, errors.New("it is not staged")
			}
			return staged, err
		})
	case r.Restorable:
		replaced, err := manifest.OpenGeneration(filepath.Join(w.State, "accepted", generationName(g.Name, r.Tree)), g.Source.Limits)
		if err != nil {
			return nil, err
		}
		defer replaced.Close()
		return w.diff(g, r.Changes, func(c *manifest.Change) (io.ReadCloser, error) { return replaced.Open(c.Path) })
	default:
		return w.diffHead(g, r.Changes)
	}
}

// DiffHead shows what a deploy would change where live, accepted and HEAD all differ.
func (w *Warden) DiffHead(g Gate, r *Report) ([]FileDiff, error) { return w.diffHead(g, r.HeadChanges) }

func (w *Warden) diffHead(g Gate, changes []manifest.Change) ([]FileDiff, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	at, err := w.Repository.Head()
	if err != nil {
		return nil, err
	}
	vendored, err := w.Repository.Read(context.Background(), at.Commit, g.Name, g.Source.Limits)
	if err != nil {
		return nil, err
	}
	return w.diff(g, changes, func(c *manifest.Change) (io.ReadCloser, error) { return vendored.Open(c.Path) })
}

// diff shows changes from the accepted copy to what newer opens.
func (w *Warden) diff(g Gate, changes []manifest.Change, newer func(*manifest.Change) (io.ReadCloser, error)) ([]FileDiff, error) {
	old, err := w.accepted(g)
	if err != nil {
		return nil, err
	}
	if old != nil {
		defer old.Close()
	}
	diffs := make([]FileDiff, len(changes))
	for i, c := range changes {
		diffs[i] = FileDiff{Change: c, Lines: diffLines(&c, func() ([]byte, error) {
			if old == nil {
				return nil, fmt.Errorf("nothing is accepted")
			}
			return readSide(old.Open(c.Path))
		}, func() ([]byte, error) { return readSide(newer(&c)) })}
	}
	return diffs, nil
}

func readSide(r io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxDiffBytes+1))
}

func diffLines(c *manifest.Change, old, newer func() ([]byte, error)) []string {
	head := []string{ChangeText(c)}
	was, is := fileSide(c.Old), fileSide(c.New)
	if !was && !is || c.Kind == manifest.ModeBit || c.RenamedFrom != "" {
		return head
	}
	var a, b []byte
	var err error
	if was {
		if a, err = old(); err != nil {
			return append(head, fmt.Sprintf("(cannot show what was accepted: %v)", err))
		}
	}
	if is {
		if b, err = newer(); err != nil {
			return append(head, fmt.Sprintf("(cannot show the new side: %v)", err))
		}
	}
	switch {
	case len(a) > maxDiffBytes || len(b) > maxDiffBytes || lines(a) > maxDiffLines || lines(b) > maxDiffLines:
		return append(head, "(too large to show)")
	case was && !isText(a), !was && !isText(b): // what was a text is shown as one, whatever was put into it
		return append(head, "(not a text)")
	}
	name := func(prefix string, side bool) string {
		if !side {
			return "/dev/null"
		}
		return fmt.Sprintf("%s/%s", prefix, c.Path)
	}
	lines := unified(splitLines(a), splitLines(b))
	if text := beyondASCII(lines); text != "" {
		head = append(head, text)
	}
	head = append(head, "--- "+name("accepted", was), "+++ "+name("new", is))
	for _, line := range lines {
		if text, ok := strings.CutSuffix(line, noNewline); ok {
			head = append(head, text, noNewline[1:])
		} else {
			head = append(head, line)
		}
	}
	return head
}

// beyondASCII names the characters of new lines that may pass for others, or for none; empty where there are none.
func beyondASCII(lines []string) string {
	found := make(map[rune]bool)
	for _, line := range lines {
		for _, r := range line {
			if line[0] == '+' && r >= utf8.RuneSelf {
				found[r] = true
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	const most = 12
	var names []string
	for _, r := range slices.Sorted(maps.Keys(found)) {
		if len(names) == most {
			names = append(names, fmt.Sprintf("and %d more", len(found)-most))
			break
		}
		names = append(names, fmt.Sprintf("%#U", r))
	}
	return "(beyond ASCII in the new lines: " + strings.Join(names, ", ") + ")"
}

func fileSide(s *manifest.Side) bool { return s != nil && s.Type == manifest.File }

func lines(text []byte) int { return bytes.Count(text, []byte{'\n'}) }

func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// noNewline marks a last line that does not end, as diff does. No line can hold it of its own.
const noNewline = "\n\\ No newline at end of file"

func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	list := strings.Split(string(text), "\n")
	if last := len(list) - 1; list[last] == "" {
		list = list[:last]
	} else {
		list[last] += noNewline
	}
	return list
}
