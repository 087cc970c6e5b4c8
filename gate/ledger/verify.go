package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Head is where the log ends. The zero Head is that of a log without entries.
type Head struct {
	Hash       string    // of the last entry
	Count      uint64    // entries that this log ever had
	At         time.Time // of the last decision that is kept; of the last entry if there is none
	PolicyTree string    // of that decision; empty where it was made without a policy
}

// end returns where the log ends.
func (l Log) end() (Head, error) {
	var h Head
	err := l.Newest(context.Background(), func(line Line) error {
		e := line.Entry
		if e == nil {
			return nil
		}
		if h.Hash == "" {
			h = Head{Hash: e.Hash, Count: e.Seq, At: e.Time}
		}
		if e.Kind == Decision {
			h.At, h.PolicyTree = e.Time, e.PolicyTree
			return ErrStop
		}
		return nil
	})
	return h, err
}

// Checkpoint returns where the log ends after everything up to there was flushed to the disk, so that no crash can take
// back what it names.
func (l Log) Checkpoint(ctx context.Context) (Head, error) {
	h, err := l.checkpoint(ctx)
	if err != nil {
		return Head{}, fmt.Errorf("find the end of the decision log: %w", err)
	}
	return h, nil
}

// checkpoint takes no lock: whoever publishes may not be able to write here. If the file is rotated meanwhile, it looks
// again, since what was renamed was flushed before.
func (l Log) checkpoint(ctx context.Context) (Head, error) {
	for {
		h, settled, err := l.flushed()
		if err != nil || settled {
			return h, err
		}
		if err := ctx.Err(); err != nil {
			return Head{}, err
		}
	}
}

func (l Log) flushed() (h Head, settled bool, err error) {
	f, err := open(l.path(current))
	if notThere(err) {
		h, err := l.end() // closed files are flushed before they are renamed
		_, statErr := os.Stat(l.path(current))
		return h, notThere(statErr), err
	}
	if err != nil {
		return Head{}, false, err
	}
	defer f.Close()
	if h, err = l.end(); err != nil {
		return Head{}, false, err
	}
	if err := l.flush(f); err != nil {
		return Head{}, false, err
	}
	dir, err := os.Open(l.Dir)
	if err != nil {
		return Head{}, false, err
	}
	defer dir.Close()
	if err := l.flush(dir); err != nil {
		return Head{}, false, err
	}
	flushed, err := f.Stat()
	if err != nil {
		return Head{}, false, err
	}
	named, err := os.Stat(l.path(current))
	return h, err == nil && os.SameFile(flushed, named), nil
}

// A Report is what Verify found.
type Report struct {
	Entries    uint64 // that are there
	First      uint64 // number of the oldest
	Head       Head
	Torn       []Place // where a crash left bytes that the log itself notes
	Unfinished int64   // bytes of a last line that nobody finished; the next decision will note them
	Break      *Break  // nil: the chain is whole
}

// A Place is a line of a file.
type Place struct {
	File string
	Line int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// A Break is the first line that does not follow from the one before.
type Break struct {
	Place
	Why string
}

// Verify follows the whole chain. What Break says is the answer; an error means that it could not be read.
func (l Log) Verify(ctx context.Context) (*Report, error) {
	r, err := l.verify(ctx)
	if err == nil && r.Break != nil { // retention may have taken a file from under us
		r, err = l.verify(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("verify the decision log: %w", err)
	}
	return r, nil
}

func (l Log) verify(ctx context.Context) (*Report, error) {
	v := verifier{report: new(Report), last: start()}
	err := l.Each(ctx, v.line)
	if err == nil && v.report.Break == nil {
		v.finish()
		v.report.Unfinished, err = l.unfinished()
	}
	return v.report, err
}

type verifier struct {
	report  *Report
	last    link
	begin   link  // what the oldest entry says was before it
	beginAt Place // and where it stands
	dropped *Dropped
	gap     []byte // lines since the last entry that are none
	gapAt   Place
	gapWhy  error
}

func (v *verifier) line(line Line) error {
	at := Place{line.File, line.Number}
	if line.Entry == nil {
		if v.gap == nil {
			v.gapAt, v.gapWhy = at, line.Err
		}
		v.gap = append(append(v.gap, line.Raw...), '\n')
		if len(v.gap) > maxLine {
			return v.broken(v.gapAt, "is no entry: "+v.gapWhy.Error())
		}
		return nil
	}
	e := line.Entry
	if v.gap != nil {
		if filepath.Base(v.gapAt.File) != filepath.Base(at.File) || !notes(e.Torn, v.gap) {
			return v.broken(v.gapAt, "is no entry: "+v.gapWhy.Error())
		}
		v.report.Torn = append(v.report.Torn, v.gapAt)
		v.gap = nil
	} else if e.Torn != nil {
		return v.broken(at, "notes bytes that are not there")
	}
	switch {
	case v.report.Entries == 0:
		v.begin, v.beginAt, v.report.First = link{e.Seq - 1, e.Prev}, at, e.Seq
	case e.Seq != v.last.seq+1:
		return v.broken(at, fmt.Sprintf("is entry %d after entry %d", e.Seq, v.last.seq))
	case e.Prev != v.last.hash:
		return v.broken(at, fmt.Sprintf("does not follow from entry %d as it stands there", v.last.seq))
	}
	if e.Dropped != nil {
		v.dropped = e.Dropped
	}
	v.last = link{e.Seq, e.Hash}
	v.report.Entries++
	h := &v.report.Head
	h.Hash, h.Count = e.Hash, e.Seq
	if e.Kind == Decision {
		h.PolicyTree = e.PolicyTree
	}
	if e.Kind == Decision || h.At.IsZero() {
		h.At = e.Time
	}
	return nil
}

// finish judges how the log begins: with its first entry, or where retention says that it does.
func (v *verifier) finish() {
	switch {
	case v.gap != nil:
		v.broken(v.gapAt, "is no entry: "+v.gapWhy.Error())
	case v.report.Entries == 0 || v.begin == start():
	case v.dropped == nil || v.begin.seq > v.dropped.Seq || v.begin.seq == v.dropped.Seq && v.begin.hash != v.dropped.Hash:
		v.broken(v.beginAt, fmt.Sprintf("is entry %d, and nothing in the log says that those before it were dropped", v.begin.seq+1))
	}
}

func (v *verifier) broken(at Place, why string) error {
	if v.report.Break == nil {
		v.report.Break = &Break{at, why}
	}
	return ErrStop
}

// notes reports whether t is about the bytes of a gap, and these are what a crash leaves: without an end.
func notes(t *Torn, gap []byte) bool {
	if t == nil || t.Bytes != int64(len(gap))-1 {
		return false
	}
	sum := sha256.Sum256(gap[:len(gap)-1])
	return hex.EncodeToString(sum[:]) == t.SHA256
}

// unfinished counts the bytes after the last newline.
func (l Log) unfinished() (int64, error) {
	f, err := open(l.path(current))
	if notThere(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	end, err := endOf(f)
	if err != nil || end.torn == nil || !end.open {
		return 0, err
	}
	return end.torn.Bytes, nil
}
