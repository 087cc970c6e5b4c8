package vendorgate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sys/unix"
)

// A refresh brings the index and the work tree from what a gate was in one commit to what it is in the next.
type refresh struct {
	r        *Repository
	dir      string // of the gate
	old, new map[string]vendoredFile
	index    *index
	tree     *workTree
	fileMode bool // whether executable bits in the work tree mean anything
}

// A side says which commit the index or the work tree agrees with, for one path.
type side int

const (
	other side = iota // neither: somebody's work
	asOld
	asNew
	absent // of the work tree only: nothing is there
)

// newRefresh reads the index. The caller holds its lock.
func (r *Repository) newRefresh(gate string, old, new map[string]vendoredFile) (*refresh, error) {
	f := &refresh{r: r, dir: r.vendored + "/" + gate, old: old, new: new}
	var err error
	if f.fileMode, err = r.config.boolean("core.filemode", true); err != nil {
		return nil, err
	}
	if f.tree, err = r.openWorkTree(); err != nil {
		return nil, err
	}
	f.index, err = readIndex(r.indexPath(), r.index)
	return f, err
}

// checkClean returns an error that names what would be lost.
func (f *refresh) checkClean() error {
	dirty, err := f.dirty()
	if err != nil || len(dirty) == 0 {
		return err
	}
	const most = 10
	var names []string
	for _, name := range dirty[:min(most, len(dirty))] {
		names = append(names, strconv.Quote(name))
	}
	if len(dirty) > most {
		names = append(names, fmt.Sprintf("%d more", len(dirty)-most))
	}
	return fmt.Errorf("%w: %s; commit, stash or discard them first", ErrDirty, strings.Join(names, ", "))
}

// dirty lists the gate's paths where the index or the work tree holds somebody's work.
func (f *refresh) dirty() ([]string, error) {
	names := make(map[string]bool)
	files := f.dir + "/" + filesName
	for _, e := range f.index.below(files) {
		names[string(e.name)] = true
	}
	// A file may also stand where a directory must be.
	for name := files; name != "."; name = path.Dir(name) {
		if f.index.find(name) != nil {
			names[name] = true
		}
	}
	for name := range f.old {
		names[name] = true
	}
	for name := range f.new {
		names[name] = true
	}
	defer f.tree.forget()
	dirty := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if f.indexSide(name) == other {
			dirty[name] = true
			continue
		}
		in, blame, err := f.treeSide(name)
		if err != nil {
			return nil, err
		}
		if in == other {
			dirty[blame] = true
		}
	}
	return slices.Sorted(maps.Keys(dirty)), nil
}

// indexSide compares what is staged.
func (f *refresh) indexSide(name string) side {
	old, inOld := f.old[name]
	new, inNew := f.new[name]
	e := f.index.find(name)
	switch {
	case e == nil && (!inOld || !f.index.exists):
		return asOld
	case e == nil && !inNew:
		return asNew
	case e == nil || !e.plain():
		return other
	case inNew && e.file() == new:
		return asNew
	case inOld && e.file() == old:
		return asOld
	default:
		return other
	}
}

// treeSide compares what is in the work tree, and says what is to blame where it is somebody's work.
func (f *refresh) treeSide(name string) (in side, blame string, err error) {
	stat, err := f.tree.stat(name)
	_, wanted := f.new[name]
	var blocked *blockedError
	switch {
	case errors.As(err, &blocked) && wanted && !f.removes(blocked.name):
		return other, blocked.name, nil
	case errors.As(err, &blocked), errors.Is(err, fs.ErrNotExist):
		return absent, "", nil
	case err != nil:
		return other, name, err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		in, err := f.fileSide(name, &stat)
		return in, name, err
	case unix.S_IFDIR:
		if !wanted {
			return absent, "", nil
		}
		return f.directorySide(name)
	default:
		return other, name, nil
	}
}

// fileSide believes the index, as git does, or looks at the content.
func (f *refresh) fileSide(name string, stat *unix.Stat_t) (side, error) {
	if e := f.index.find(name); e != nil && e.plain() && e.matches(stat, f.index) {
		return f.indexSide(name), nil
	}
	id, err := f.tree.hash(name)
	if err != nil {
		return other, err
	}
	same := func(file vendoredFile) bool {
		executable := stat.Mode&0o100 != 0
		return file.id == id && (!f.fileMode || executable == (file.mode == modeExecutable))
	}
	switch {
	case same(f.new[name]):
		return asNew, nil
	case same(f.old[name]):
		return asOld, nil
	default:
		return other, nil
	}
}

// directorySide is about a directory that must make way for a file. It can if all that is in it goes away.
func (f *refresh) directorySide(name string) (in side, blame string, err error) {
	below, err := f.tree.list(name)
	if err != nil {
		return other, name, err
	}
	for _, file := range below {
		if !f.removes(file) {
			return other, file, nil
		}
	}
	return absent, "", nil
}

// removes reports whether name is a file that goes away.
func (f *refresh) removes(name string) bool {
	_, inOld := f.old[name]
	_, inNew := f.new[name]
	return inOld && !inNew
}

// apply refreshes the paths that differ between the two commits. It passes over those where it finds somebody's work;
// a caller that wants none passed over asks dirty first.
func (f *refresh) apply() error {
	defer f.tree.forget()
	entries := make(map[string][]byte)
	var removed, written []string
	for name := range f.old {
		if f.removes(name) {
			removed = append(removed, name)
		}
	}
	for name, file := range f.new {
		if f.old[name] != file {
			written = append(written, name)
		}
	}
	slices.Sort(removed)
	slices.Sort(written)
	// Removals come first, and the deepest of them, since a directory may have to make way for a file.
	for _, name := range slices.Backward(removed) {
		if err := f.remove(name, entries); err != nil {
			return err
		}
	}
	for _, name := range written {
		if err := f.write(name, entries); err != nil {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if err := f.r.Disk.SyncFS(f.r.git); err != nil {
		return err
	}
	return f.writeIndex(entries)
}

func (f *refresh) remove(name string, entries map[string][]byte) error {
	if f.indexSide(name) == other {
		return nil
	}
	in, _, err := f.treeSide(name)
	if err != nil {
		return err
	}
	if in == asOld {
		if err := f.tree.remove(name, f.dir); err != nil {
			return err
		}
	}
	entries[name] = nil
	return nil
}

func (f *refresh) write(name string, entries map[string][]byte) error {
	if f.indexSide(name) == other {
		return nil
	}
	in, _, err := f.treeSide(name)
	if err != nil {
		return err
	}
	file := f.new[name]
	if in == asOld || in == absent {
		if err := f.checkout(name, file); err != nil {
			return err
		}
		in = asNew
	}
	if in != asNew {
		entries[name] = newIndexEntry(name, file, nil)
		return nil
	}
	stat, err := f.tree.stat(name)
	if err != nil {
		return err
	}
	entries[name] = newIndexEntry(name, file, &stat)
	return nil
}

// checkout writes a file of the new commit. It gets a time before that of the index, so that git has no reason to
// doubt the entry: to look at the content it would run filters over it, and these may make something else of it.
func (f *refresh) checkout(name string, file vendoredFile) error {
	_, content, err := f.r.objects.open(plumbing.BlobObject, file.id, math.MaxInt64)
	if err != nil {
		return err
	}
	defer content.Close()
	modified := time.Unix(f.index.time.Unix()-1, int64(time.Now().Nanosecond()))
	return f.tree.write(name, file.mode == modeExecutable, modified, content)
}

// writeIndex puts the new index in the place of the old one. It keeps the old one's time: with a new time, git would
// trust entries of other paths that it does not trust now.
func (f *refresh) writeIndex(entries map[string][]byte) error {
	data, err := f.index.encode(entries)
	if err != nil {
		return err
	}
	lock, own := f.r.indexLock(), f.r.own(ownIndex)
	err = f.r.Disk.Do("write", lock, func() error {
		file, err := os.OpenFile(own, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		return errors.Join(err, file.Chmod(f.index.mode), os.Chtimes(own, f.index.time, f.index.time), file.Sync(), file.Close())
	})
	if err != nil {
		return err
	}
	return f.r.Disk.Rename(lock, f.r.indexPath())
}
