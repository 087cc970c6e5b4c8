// Package ledger keeps the log of decisions: JSON lines, each of which holds the hash of the one before.
//
// A line is `{"seq":…,"prev":…, …,"hash":"…"}`. The hash is the SHA-256 of the line's own bytes up to the comma before
// "hash", so that nothing has to be written anew to check it, and prev is in those bytes: who changes, takes out or moves
// a line breaks the chain at that place, and Verify names it. The chain runs on from file to file. It is evidence against
// accidents and careless hands, no proof: the user who writes it can write another. What that user cannot take back is a
// head that was published, since root keeps it.
//
// Writing. Append holds a lock while it reads the last line, writes the next one in one piece, and lets go: many processes
// can write, and none waits longer than Log.Wait. It does not flush to the disk, since that would cost each decision
// more than all else together. So a process that is killed loses nothing, and a machine that loses its power may lose
// the last few entries. Checkpoint flushes before it returns the head to publish: no published head is ever lost.
//
// A crash may leave an unfinished last line. It stays; the next Append goes on behind it on a line of its own with a note
// that says how many bytes are no entry and what their hash is, and Verify reports it.
//
// Files. decisions.jsonl is written; when it is full it is renamed after its first entry, decisions-0000000000000123.jsonl.
// Only so many are kept. What is dropped is said first, by a note in the chain that holds the last hash of the part that
// goes, and then removed.
//
// No credentials: every text goes through package secret, and is cut where it is long. The id of a decision is a digest
// of what is written here, not of what was, so that whoever has the line can check it.
//
// It knows secret and durable. It does not know what a policy is.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// A Log is the log in one directory, which is made with mode 0700 by the first Append.
type Log struct {
	Dir  string
	Disk durable.Disk
	Now  func() time.Time // nil: time.Now

	Wait  time.Duration // how long Append waits for other writers; 0: one second
	Size  int64         // a file that would grow beyond it is closed and a new one begun; 0: 4 MiB
	Files int           // how many closed files are kept; 0: 15
}

// In returns the log of the agent's side whose state is kept in the directory state.
func In(state string) Log { return Log{Dir: filepath.Join(state, "log")} }

const (
	current  = "decisions.jsonl"
	lockName = ".lock"
)

// Append writes e at the end of the log. It sets what an Entry says it sets, e.ID in any case; the texts of e stay as
// they are. After an error the entry may be in the log or not.
func (l Log) Append(ctx context.Context, e *Entry) error {
	record, err := prepare(e, l.now())
	if err != nil {
		return err
	}
	if err := l.append(ctx, &record); err != nil {
		return err
	}
	e.Seq, e.Prev, e.Hash = record.Seq, record.Prev, record.Hash
	return nil
}

func (l Log) append(ctx context.Context, e *Entry) error {
	if err := l.Disk.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	f, err := os.OpenFile(l.path(current), os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := endOf(f)
	if err != nil {
		return err
	}
	if end.size == 0 {
		if end.last, err = l.lastClosed(); err != nil {
			return err
		}
	}
	var data []byte
	if end.torn != nil {
		if end.open {
			data = append(data, '\n')
		}
		data = end.follow(data, &Entry{Time: e.Time, Kind: Note, Torn: end.torn, Text: "what stands before this line is no entry"})
	}
	before := end.last
	full := end.follow(data, e)
	if end.size == 0 || end.size+int64(len(full)) <= l.size() {
		return l.write(f, full)
	}
	if len(data) > 0 { // the note belongs to the file that it is about
		if err := l.write(f, data); err != nil {
			return err
		}
	}
	end.last = before
	return l.rotate(f, end.last, e)
}

// follow appends the line of e, as what comes after the last entry.
func (t *tail) follow(data []byte, e *Entry) []byte {
	e.Seq, e.Prev = t.last.seq+1, t.last.hash
	data = e.encode(data)
	t.last = link{e.Seq, e.Hash}
	return data
}

// write adds whole lines to a file in one piece.
func (l Log) write(f *os.File, data []byte) error {
	return l.Disk.Do("append", f.Name(), func() error {
		_, err := f.Write(data)
		return err
	})
}

// rotate closes the file f, which ends with last, and begins a new one with e.
func (l Log) rotate(f *os.File, last link, e *Entry) error {
	first, err := firstOf(f)
	if err != nil {
		return err
	}
	if err := l.flush(f); err != nil {
		return err
	}
	if err := l.Disk.Rename(f.Name(), l.path(closedName(first))); err != nil {
		return err
	}
	closed, err := l.closed()
	if err != nil {
		return err
	}
	old := closed[:max(0, len(closed)-l.files())]
	end := tail{last: last}
	var data []byte
	if len(old) > 0 {
		kept := closed[len(old)]
		dropped, err := l.before(kept)
		if err != nil {
			return err
		}
		data = end.follow(data, &Entry{Time: e.Time, Kind: Note, Dropped: dropped, Text: "older entries are not kept"})
	}
	next, err := os.OpenFile(l.path(current), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer next.Close()
	if err := l.write(next, end.follow(data, e)); err != nil {
		return err
	}
	for _, name := range old {
		if err := l.Disk.Remove(l.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// before returns where the log ends that comes before a closed file.
func (l Log) before(name string) (*Dropped, error) {
	f, err := open(l.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 256)
	n, err := f.Read(buf)
	if err != nil && err != io.EOF {
		return nil, err
	}
	seq, prev, ok := beginning(buf[:n])
	if !ok {
		return nil, fmt.Errorf("%s does not begin with an entry; move it away", f.Name())
	}
	return &Dropped{Seq: seq - 1, Hash: prev}, nil
}

func (l Log) flush(f *os.File) error { return l.Disk.Do("sync", f.Name(), f.Sync) }

// lock waits for the other writers.
func (l Log) lock(ctx context.Context) (*durable.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, l.wait())
	defer cancel()
	return durable.AcquireLock(ctx, l.path(lockName))
}

func (l Log) path(name string) string { return filepath.Join(l.Dir, name) }

func (l Log) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

func (l Log) wait() time.Duration {
	if l.Wait > 0 {
		return l.Wait
	}
	return time.Second
}

func (l Log) size() int64 {
	if l.Size > 0 {
		return l.Size
	}
	return 4 << 20
}

func (l Log) files() int {
	if l.Files > 0 {
		return l.Files
	}
	return 15
}

// notThere reports whether an error says that there is no log, or none any more.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) }
