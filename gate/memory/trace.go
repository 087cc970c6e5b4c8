package memory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"gatehouse/internal/wire"
)

// A trace is what a state knows of its records: where the older ones are, and the youngest themselves.
type trace struct {
	version  uint64 // how often the memory was changed; no two of its states have the same
	segments []segment
	youngest lines
}

// A segment is a file with records. Its name is the number of the first one.
type segment struct {
	first, count, size uint64
}

// lines are records in their JSON form, a line each.
type lines struct {
	count uint64
	text  []byte
}

const (
	// segmentSize is how much the state file holds of the trace before it becomes a segment.
	segmentSize = 16 << 10
	// traceSize is how much is kept of a trace altogether.
	traceSize = 4 << 20
)

// keep adds records to the trace of state. When the state file has enough of them, they become a segment: a file that
// no state names yet, and that does not matter if this change never counts.
func (s Store) keep(id ID, state *State, records [][]byte) error {
	if len(records) == 0 {
		return nil
	}
	young := &state.kept.youngest
	for _, r := range records {
		state.Calls++
		young.text = fmt.Appendf(young.text, `{"seq":%d,%s`+"\n", state.Calls, r)
		young.count++
	}
	if len(young.text) < segmentSize {
		return nil
	}
	s.sweep(id, state.kept.segments)
	g := segment{state.Calls + 1 - young.count, young.count, uint64(len(young.text))}
	if err := s.replace(s.segmentFile(id, g), young.text); err != nil {
		return err
	}
	state.kept.youngest = lines{}
	state.kept.segments = append(state.kept.segments, g)
	for total := state.kept.size(); total > traceSize && len(state.kept.segments) > 1; {
		total -= state.kept.segments[0].size
		state.kept.segments = state.kept.segments[1:]
	}
	return nil
}

// sweep removes what is in the directory of id and belongs to nothing: segments that were dropped, or that are of a
// change that never counted. What cannot be removed stays until the next time.
func (s Store) sweep(id ID, named []segment) {
	keep := map[string]bool{s.file(id): true}
	for _, g := range named {
		keep[s.segmentFile(id, g)] = true
	}
	entries, _ := os.ReadDir(s.dir(id))
	for _, e := range entries {
		if name := filepath.Join(s.dir(id), e.Name()); !keep[name] {
			s.Disk.Remove(name)
		}
	}
}

// Records gives the records of the trace of id that are kept, the oldest first. What is written meanwhile is not among
// them.
func (s Store) Records(id ID) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		state, err := s.Load(id)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, g := range state.kept.segments {
			text, err := s.segmentText(id, g)
			if err == nil && text == nil {
				continue
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !each(s.segmentFile(id, g), lines{g.count, text}, g.first, yield) {
				return
			}
		}
		each(s.file(id), state.kept.youngest, state.Calls+1-state.kept.youngest.count, yield)
	}
}

// segmentText reads a segment; nil means that another process has dropped it meanwhile.
func (s Store) segmentText(id ID, g segment) ([]byte, error) {
	name := s.segmentFile(id, g)
	text, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		if now, err := s.Load(id); err == nil && now.firstSeq() > g.first {
			return nil, nil
		}
		err = fmt.Errorf("%w: it is gone", ErrCorrupt)
	}
	if err == nil && uint64(len(text)) != g.size {
		err = fmt.Errorf("%w: %d bytes where %d were written", ErrCorrupt, len(text), g.size)
	}
	if err != nil {
		return nil, fmt.Errorf("read the trace of %v: %s: %w", id, name, err)
	}
	return text, nil
}

// each yields the records of l, the first of which has the number seq, and reports whether to go on.
func each(file string, l lines, seq uint64, yield func(Record, error) bool) bool {
	var last Record
	for text := range bytes.Lines(l.text) {
		r, err := decodeRecord(text, last)
		if err == nil && r.Seq != seq {
			err = fmt.Errorf("%w: call %d stands where %d should", ErrCorrupt, r.Seq, seq)
		}
		if err != nil {
			yield(Record{}, fmt.Errorf("read the trace: %s: %w", file, err))
			return false
		}
		if !yield(r, nil) {
			return false
		}
		last = r
		seq++
	}
	return true
}

func (s Store) segmentFile(id ID, g segment) string {
	return filepath.Join(s.dir(id), fmt.Sprintf("%012d", g.first))
}

// firstSeq is the number of the oldest record that is kept.
func (st *State) firstSeq() uint64 {
	if len(st.kept.segments) > 0 {
		return st.kept.segments[0].first
	}
	return st.Calls + 1 - st.kept.youngest.count
}

// whole reports whether the records of t follow each other without a gap, up to the number calls.
func (t *trace) whole(calls uint64) bool {
	if t.youngest.count > calls {
		return false
	}
	for i, g := range t.segments {
		next := calls + 1 - t.youngest.count
		if i+1 < len(t.segments) {
			next = t.segments[i+1].first
		}
		if g.first+g.count != next {
			return false
		}
	}
	return true
}

func (t *trace) size() uint64 {
	var n uint64
	for _, g := range t.segments {
		n += g.size
	}
	return n
}

func (t *trace) encode(w *wire.Writer) {
	w.Uint(uint64(len(t.segments)))
	for _, g := range t.segments {
		w.Uint(g.first)
		w.Uint(g.count)
		w.Uint(g.size)
	}
	w.Uint(t.youngest.count)
	w.Text(string(t.youngest.text))
}

func (t *trace) decode(r *wire.Reader) {
	for range r.Len() {
		if r.Err() != nil {
			return
		}
		t.segments = append(t.segments, segment{r.Uint(), r.Uint(), r.Uint()})
	}
	t.youngest.count = r.Uint()
	t.youngest.text = []byte(r.Text())
}
