package manifest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"gatehouse/internal/safefs"
)

// A walker walks live roots and hands the files that it meets to workers.
type walker struct {
	findings
	ctx     context.Context
	src     *Source
	jobs    chan *batch
	count   int          // things met that are not excluded
	listed  int          // names in memory
	total   atomic.Int64 // bytes of the files that were met
	full    bool         // the limit on entries is reached
	partial bool         // something was not looked at for that limit, or for the one on names
}

// entriesReason is a kind of refusal that safefs does not know.
const entriesReason safefs.Reason = "entries"

func newWalker(ctx context.Context, src *Source) *walker {
	return &walker{findings: newFindings(), ctx: ctx, src: src, jobs: make(chan *batch, 8)}
}

// live walks one live root: a directory, or a single file.
func (w *walker) live(live Live, excludes matcher) error {
	if w.full {
		w.note(live.Name, entriesReason, tooMany(w.src.Limits))
		return nil
	}
	b := &branch{walker: w, name: live.Name, excludes: excludes, root: live.Root}
	defer b.close()
	dir, err := b.open(smallFile)
	if isRefused(err, safefs.NotDirectory) {
		return b.singleFile(live)
	}
	if err != nil {
		return w.refuse(live.Name, err)
	}
	defer dir.release()
	if !w.admit(live.Name) {
		return nil
	}
	if err := b.directory(dir, live.Name); err != nil {
		return err
	}
	// What was walked may no longer be what has this name.
	if err := dir.Same(); err != nil {
		return w.refuse(live.Name, err)
	}
	return nil
}

// singleFile is live for a root that is no directory.
func (b *branch) singleFile(live Live) error {
	b.root = filepath.Dir(live.Root)
	dir, err := b.open(smallFile)
	if err != nil {
		return b.refuse(live.Name, err)
	}
	defer dir.release()
	name := filepath.Base(live.Root)
	info, err := dir.Lstat(name)
	if err != nil {
		return b.refuse(live.Name, err)
	}
	if !b.admit(live.Name) {
		return nil
	}
	files := &batch{dir: dir}
	if err := b.file(files, live.Name, name, name, &info); err != nil {
		return err
	}
	return b.send(files)
}

// admit counts path and reports whether it is within the limit on entries. The first path beyond it is refused in the
// name of all that follow.
func (w *walker) admit(path string) bool {
	if w.count < w.src.Limits.Entries {
		w.count++
		return true
	}
	if !w.full {
		w.full, w.partial = true, true
		w.note(path, entriesReason, tooMany(w.src.Limits))
	}
	return false
}

// A branch is one live root while it is walked.
type branch struct {
	*walker
	name     string
	excludes matcher
	root     string  // path of the directory that is open
	large    *handle // the same, open for files above smallFile; nil until there is one
}

// directory adds the open directory dir and all that is in it.
func (b *branch) directory(dir *handle, path string) error {
	names, err := persist(func() ([]string, error) { return dir.List(b.room()) })
	if isRefused(err, safefs.Size) {
		b.partial = true
		b.note(path, entriesReason, fmt.Sprintf("there are more than %d names in this directory or in those above it, and "+
			"nothing in it was looked at; exclude it, or raise the limit on entries", b.room()))
		return nil
	}
	if err != nil {
		return b.refuse(path, err)
	}
	info := dir.Info()
	b.add(path, Dir, &info)
	b.listed += len(names)
	defer func() { b.listed -= len(names) }()
	files := &batch{dir: dir}
	for _, name := range names {
		if b.full {
			break
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if err := b.visit(files, name, path+"/"+name); err != nil {
			return err
		}
	}
	return b.send(files)
}

// room is how many names may be listed, so that a flood of them costs bounded memory. Names that turn out to be
// excluded need room too.
func (b *branch) room() int { return max(0, 2*b.src.Limits.Entries+1000-b.listed) }

// visit looks at one name in the directory of files.
func (b *branch) visit(files *batch, name, path string) error {
	rel := path[len(b.name)+1:]
	if b.excludes.excludes(rel) || !b.admit(path) {
		return nil
	}
	if err := validParts(path); err != nil {
		b.note(path, safefs.Name, err.Error()+"; rename or exclude it")
		return nil
	}
	info, err := files.dir.Lstat(name)
	if err != nil {
		return b.refuse(path, err)
	}
	switch info.Type {
	case safefs.TypeDir:
		below, err := files.dir.OpenDir(name)
		if err != nil {
			return b.refuse(path, err)
		}
		h := newHandle(below)
		defer h.release()
		return b.directory(h, path)
	case safefs.TypeFile:
		return b.file(files, path, name, rel, &info)
	case safefs.TypeSymlink:
		return b.symlink(files.dir, path, name)
	default:
		b.note(path, safefs.Special, "it is a FIFO, a socket or a device; remove or exclude it")
		return nil
	}
}

// file adds a file to a batch, if its size is within the limits. A large one goes to a worker on its own.
func (b *branch) file(files *batch, path, name, rel string, info *safefs.Info) error {
	limits := b.src.Limits
	switch {
	case info.Size > limits.File:
		b.note(path, safefs.Size, fmt.Sprintf("it has %d bytes, and a file may have %d; exclude it, or raise the limit",
			info.Size, limits.File))
		return nil
	case !reserve(&b.total, info.Size, limits.Total):
		b.note(path, safefs.Size, tooMuch(limits))
		return nil
	case info.Size > smallFile && b.large == nil:
		large, err := b.open(limits.File)
		if err != nil {
			return b.refuse(path, err)
		}
		b.large = large
	}
	if info.Size > smallFile {
		return b.send(&batch{dir: b.large, files: []job{{name: rel, path: path, seen: info.Size}}})
	}
	files.files = append(files.files, job{name: name, path: path, seen: info.Size})
	if files.size += info.Size; files.size < smallFile && len(files.files) < 32 {
		return nil
	}
	full := *files
	files.files, files.size = nil, 0
	return b.send(&full)
}

// send gives a batch to the workers.
func (b *branch) send(files *batch) error {
	if len(files.files) == 0 {
		return nil
	}
	files.dir.acquire()
	select {
	case b.jobs <- files:
		return nil
	case <-b.ctx.Done():
		files.dir.release()
		return b.ctx.Err()
	}
}

func (b *branch) symlink(dir *handle, path, name string) error {
	target, info, err := dir.Readlink(name)
	if err != nil {
		return b.refuse(path, err)
	}
	if !isText(target) {
		b.note(path, safefs.Name, "the target of the link is not UTF-8 without control characters; change or exclude it")
		return nil
	}
	e := b.add(path, Symlink, &info)
	e.Mode, e.Target = 0o777, target
	return nil
}

// open opens the root of the branch for files of at most limit bytes.
func (b *branch) open(limit int64) (*handle, error) {
	opt := safefs.Options{Owners: []uint32{b.src.Owner}, MaxFile: min(limit, b.src.Limits.File)}
	dir, err := safefs.OpenDir(b.root, opt)
	if err != nil {
		return nil, err
	}
	return newHandle(dir), nil
}

func (b *branch) close() {
	if b.large != nil {
		b.large.release()
	}
}

// reserve adds n to total unless that makes it more than limit.
func reserve(total *atomic.Int64, n, limit int64) bool {
	if total.Add(n) <= limit {
		return true
	}
	total.Add(-n)
	return false
}

func tooMany(limits Limits) string {
	return fmt.Sprintf("there are more than %d entries, and neither this nor what follows it was looked at; exclude what "+
		"does not belong to the gate, or raise the limit", limits.Entries)
}

func tooMuch(limits Limits) string {
	return fmt.Sprintf("with it the files have more than %d bytes together; exclude what does not belong to the gate, or "+
		"raise the limit", limits.Total)
}

// A handle is a directory that stays open until the last one who uses it lets go.
type handle struct {
	*safefs.Dir
	users atomic.Int32
}

func newHandle(dir *safefs.Dir) *handle {
	h := &handle{Dir: dir}
	h.acquire()
	return h
}

func (h *handle) acquire() { h.users.Add(1) }

func (h *handle) release() {
	if h.users.Add(-1) == 0 {
		h.Close()
	}
}
