package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// A Line is one line of the log.
type Line struct {
	File   string
	Number int // in the file, from 1
	Raw    []byte
	Entry  *Entry // nil where Err is set
	Err    error  // why it is no entry
}

// Each calls do for every line, oldest first, until it returns an error; ErrStop ends it without one. An unfinished last
// line is left out. A log that is not there has no lines.
func (l Log) Each(ctx context.Context, do func(Line) error) error { return l.each(ctx, false, do) }

// Newest is Each from the newest line to the oldest.
func (l Log) Newest(ctx context.Context, do func(Line) error) error { return l.each(ctx, true, do) }

// ErrStop ends Each, Newest and Follow.
var ErrStop = errors.New("enough")

func (l Log) each(ctx context.Context, newest bool, do func(Line) error) error {
	err := l.eachFile(newest, func(f *os.File) error {
		lines, err := linesOf(f, newest)
		if err != nil {
			return err
		}
		for n, raw := range lines {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(parsed(f.Name(), n, raw)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

func parsed(file string, number int, raw []byte) Line {
	e, err := Parse(raw)
	return Line{File: file, Number: number, Raw: raw, Entry: e, Err: err}
}

// eachFile opens the files. The current one is opened before the closed ones are listed, and left out of these: so none
// is missed that is renamed meanwhile.
func (l Log) eachFile(newest bool, do func(*os.File) error) error {
	now, err := open(l.path(current))
	if err != nil && !notThere(err) {
		return err
	}
	var written os.FileInfo
	if err == nil {
		defer now.Close()
		if written, err = now.Stat(); err != nil {
			return err
		}
	}
	names, err := l.closed()
	if err != nil {
		return err
	}
	each := func(name string) error {
		f, err := open(l.path(name))
		if notThere(err) {
			return nil // retention took it
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || written != nil && os.SameFile(info, written) {
			return err
		}
		return do(f)
	}
	if newest {
		slices.Reverse(names)
		if written != nil {
			if err := do(now); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if err := each(name); err != nil {
			return err
		}
	}
	if !newest && written != nil {
		return do(now)
	}
	return nil
}

// ErrUnknown means that no decision has the id.
var ErrUnknown = errors.New("no decision in the log has this id")

// History returns the decision whose id begins with prefix, with or without its c-, and what else the log says about it,
// oldest first.
func (l Log) History(ctx context.Context, prefix string) ([]*Entry, error) {
	digits := strings.ToLower(strings.TrimPrefix(prefix, "c-"))
	if len(digits) < 4 || len(digits) > 12 || strings.Trim(digits, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%q is no decision id: c- and 4 to 12 hex digits", prefix)
	}
	var found []*Entry
	needle := []byte(`"id":"c-` + digits)
	err := l.eachFile(false, func(f *os.File) error {
		lines, err := linesOf(f, false)
		if err != nil {
			return err
		}
		for _, raw := range lines {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !bytes.Contains(raw, needle) {
				continue
			}
			if e, err := Parse(raw); err == nil && strings.HasPrefix(e.ID, "c-"+digits) {
				found = append(found, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range found {
		if e.Kind == Decision && !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	switch len(ids) {
	case 0:
		return nil, fmt.Errorf("%s: %w", prefix, ErrUnknown)
	case 1:
	default:
		return nil, fmt.Errorf("%s begins the ids of %d decisions: %s", prefix, len(ids), strings.Join(ids[:min(len(ids), 5)], ", "))
	}
	found = slices.DeleteFunc(found, func(e *Entry) bool { return e.ID != ids[0] })
	slices.SortStableFunc(found, func(a, b *Entry) int {
		return len(b.Kind) - len(a.Kind) // the decision, should a report have overtaken it
	})
	return found, nil
}

// A Filter chooses entries. The zero Filter takes all.
type Filter struct {
	Session string // a whole session, or the beginning of one
	Client  string
	Verdict Verdict
	Rule    string // a part of a rule's id or of an entry's text that stands in a reason
	Grep    string // a text that stands in what was judged, or in a reason
	Since   time.Time
}

// Match reports whether f takes e.
func (f Filter) Match(e *Entry) bool {
	return strings.HasPrefix(e.Session, f.Session) && (f.Client == "" || f.Client == e.Client) &&
		(f.Verdict == "" || f.Verdict == e.Verdict) && !e.Time.Before(f.Since) &&
		(f.Rule == "" || slices.ContainsFunc(e.Reasons, func(r Reason) bool { return strings.Contains(r.Rule, f.Rule) })) &&
		(f.Grep == "" || e.says(f.Grep))
}

func (e *Entry) says(text string) bool {
	return strings.Contains(e.Judged(), text) || strings.Contains(e.Text, text) || slices.ContainsFunc(e.Reasons, func(r Reason) bool {
		return strings.Contains(r.Text, text) || strings.Contains(r.Rule, text) || strings.Contains(r.Why, text) || strings.Contains(r.Source, text)
	})
}

// Judged is what was judged, as one text.
func (e *Entry) Judged() string {
	switch {
	case e.Tool != nil:
		return e.Tool.Name + " " + string(value(nil, e.Tool.Args))
	case len(e.Argv) > 0:
		return strings.Join(e.Argv, " ")
	default:
		return e.Line
	}
}

// Follow calls do for every line that comes after the entry number after, now and as they are written, until ctx ends
// or do returns an error; ErrStop ends it without one.
func (l Log) Follow(ctx context.Context, after uint64, do func(Line) error) error {
	w := follower{log: l, last: after, do: do}
	defer w.close()
	for {
		again, err := w.read()
		if errors.Is(err, ErrStop) {
			return nil
		}
		if err != nil {
			return err
		}
		if again {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// A follower reads on where it stopped. What it holds open stays readable after it was renamed.
type follower struct {
	log    Log
	last   uint64
	do     func(Line) error
	f      *os.File
	offset int64
	number int
}

func (w *follower) close() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
	}
}

// read gives what is new. It reports whether there is another file to read at once.
func (w *follower) read() (again bool, err error) {
	if w.f == nil {
		f, err := open(w.log.path(current))
		if notThere(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		w.f, w.offset, w.number = f, 0, 0
		if err := w.missed(); err != nil {
			return false, err
		}
	}
	// Asked before it is read: whoever renames it has written all that will ever be in it.
	held, err := w.f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(w.log.path(current))
	moved := notThere(err) || err == nil && !os.SameFile(held, named) || held.Size() < w.offset
	data, err := io.ReadAll(io.NewSectionReader(w.f, w.offset, maxFile))
	if err != nil {
		return false, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	w.offset += int64(len(data))
	for line := range bytes.Lines(data) {
		w.number++
		if err := w.give(parsed(w.f.Name(), w.number, bytes.TrimSuffix(line, []byte{'\n'}))); err != nil {
			return false, err
		}
	}
	if moved {
		w.close()
	}
	return moved && !notThere(err), nil
}

// missed gives what stands in closed files that came and went between two looks.
func (w *follower) missed() error {
	names, err := w.log.closed()
	if err != nil {
		return err
	}
	for i, name := range names {
		if i+1 < len(names) && firstSeq(names[i+1]) <= w.last+1 {
			continue
		}
		f, err := open(w.log.path(name))
		if notThere(err) {
			continue
		}
		if err != nil {
			return err
		}
		lines, err := linesOf(f, false)
		f.Close()
		if err != nil {
			return err
		}
		for n, raw := range lines {
			if seq, _, ok := beginning(raw); ok && seq <= w.last {
				continue
			}
			if err := w.give(parsed(f.Name(), n, raw)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *follower) give(line Line) error {
	if line.Entry != nil {
		if line.Entry.Seq <= w.last {
			return nil
		}
		w.last = line.Entry.Seq
	}
	return w.do(line)
}
