package vendorgate

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// An index is git's index file, cut into pieces that can be put together again. The bytes of an entry are never
// interpreted further than its name, so whatever git keeps there survives.
type index struct {
	exists  bool
	mode    fs.FileMode // of the file
	time    time.Time   // of its last change, which says which entries git trusts
	version uint32
	entries []indexEntry
	size    int64           // of the file
	sum     [sha1.Size]byte // the checksum at its end
	tree    []byte          // the extension TREE: which directories are known to be as in a tree
	undo    []byte          // the extension REUC: conflicts that were resolved
}

// An indexEntry is one entry with its padding.
type indexEntry struct {
	raw  []byte
	name []byte
}

// The fixed part of an entry, of which these are the places that matter here.
const (
	indexHeader    = 12
	entryMode      = 24
	entryID        = 40
	entryFlags     = 60
	entryFixed     = 62
	flagAssume     = 0x8000 // assume unchanged
	flagExtended   = 0x4000 // skip-worktree or intent-to-add, in two more bytes
	flagStage      = 0x3000 // of a conflict
	flagNameLength = 0x0fff
)

var errSplitIndex = errors.New("a split index is not supported; run git update-index --no-split-index")

// readIndex reads the index file name. A missing file is an index without entries. known is what was read before, or
// nil; it is taken again if the file still ends in its checksum.
func readIndex(name string, known *index) (*index, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &index{mode: 0o644, time: time.Now(), version: 2}, nil
	} else if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	x, err := openIndex(name, info.Size(), known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	x.exists, x.mode, x.time = true, info.Mode().Perm(), info.ModTime()
	return x, nil
}

func openIndex(name string, size int64, known *index) (*index, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var sum [sha1.Size]byte
	if known != nil && known.size == size && known.sum != sum {
		if _, err := f.ReadAt(sum[:], size-sha1.Size); err == nil && sum == known.sum {
			return known, nil
		}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return parseIndex(data)
}

// parseIndex cuts an index into its pieces. It is held to the checksum at its end, since what is made of it will get a
// new one.
func parseIndex(data []byte) (*index, error) {
	if len(data) < indexHeader+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, errors.New("not an index of git")
	}
	body, sum := data[:len(data)-sha1.Size], [sha1.Size]byte(data[len(data)-sha1.Size:])
	x := &index{version: binary.BigEndian.Uint32(body[4:]), size: int64(len(data)), sum: sum}
	// Zeros are what index.skipHash leaves in the place of the checksum.
	if sum != sha1.Sum(body) && sum != [sha1.Size]byte{} {
		return nil, errors.New("its checksum is wrong; git fsck tells more, and rm .git/index && git reset makes a new one")
	}
	switch x.version {
	case 2, 3:
	case 4:
		return nil, errors.New("index version 4 is not supported; run git update-index --index-version 2")
	default:
		return nil, fmt.Errorf("index version %d is not known", x.version)
	}
	count := binary.BigEndian.Uint32(body[8:])
	rest := body[indexHeader:]
	if int64(count) > int64(len(rest)/entryFixed) {
		return nil, errors.New("it ends in the middle of an entry")
	}
	x.entries = make([]indexEntry, count)
	for i := range x.entries {
		n, err := x.entries[i].parse(rest)
		if err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i+1, count, err)
		}
		if i > 0 && x.entries[i-1].compare(&x.entries[i]) >= 0 {
			return nil, fmt.Errorf("entry %d of %d: %q is not in order", i+1, count, x.entries[i].name)
		}
		rest = rest[n:]
	}
	return x, x.extensions(rest)
}

// parse reads the entry that data begins with and returns its length.
func (e *indexEntry) parse(data []byte) (int, error) {
	if len(data) < entryFixed {
		return 0, errors.New("it is cut short")
	}
	start := entryFixed
	flags := binary.BigEndian.Uint16(data[entryFlags:])
	if flags&flagExtended != 0 {
		start += 2
	}
	if len(data) < start {
		return 0, errors.New("it is cut short")
	}
	length := bytes.IndexByte(data[start:], 0)
	if length == 0 {
		return 0, errSplitIndex // whose entries have no names where they replace those of the shared part
	}
	if length < 0 || int(flags&flagNameLength) != min(length, flagNameLength) {
		return 0, errors.New("its name has no end, or not the length that it says")
	}
	total := paddedLength(start + length)
	if len(data) < total {
		return 0, errors.New("it is cut short")
	}
	*e = indexEntry{data[:total:total], data[start : start+length]}
	return total, nil
}

// paddedLength is the length of an entry that has n bytes: 1 to 8 zeros follow.
func paddedLength(n int) int { return n&^7 + 8 }

// extensions takes what follows the entries. An optional extension that would be wrong after a change, or that is not
// known, is left out; git makes it anew where it wants it.
func (x *index) extensions(rest []byte) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return errors.New("an extension is cut short")
		}
		name, size := string(rest[:4]), int64(binary.BigEndian.Uint32(rest[4:]))
		if size > int64(len(rest)-8) {
			return fmt.Errorf("extension %q is cut short", name)
		}
		body := rest[8 : 8+size]
		rest = rest[8+size:]
		switch {
		case name == "TREE":
			x.tree = body
		case name == "REUC":
			x.undo = body
		case name == "link":
			return errSplitIndex
		case name == "sdir":
			return errors.New("a sparse index is not supported; run git sparse-checkout disable")
		case name[0] < 'A' || name[0] > 'Z':
			return fmt.Errorf("extension %q is not known, and not optional", name)
		}
	}
	return nil
}

// compare orders entries as git does: by name, then by stage.
func (e *indexEntry) compare(other *indexEntry) int {
	if c := bytes.Compare(e.name, other.name); c != 0 {
		return c
	}
	return int(e.flags()&flagStage) - int(other.flags()&flagStage)
}

func (e *indexEntry) flags() uint16 { return binary.BigEndian.Uint16(e.raw[entryFlags:]) }

// plain reports whether the entry is an ordinary one that nobody has marked.
func (e *indexEntry) plain() bool { return e.flags()&(flagAssume|flagExtended|flagStage) == 0 }

func (e *indexEntry) file() vendoredFile {
	return vendoredFile{binary.BigEndian.Uint32(e.raw[entryMode:]), plumbing.Hash(e.raw[entryID:entryFlags])}
}

// find returns the first entry of name, or nil.
func (x *index) find(name string) *indexEntry {
	i := x.search(name)
	if i == len(x.entries) || string(x.entries[i].name) != name {
		return nil
	}
	return &x.entries[i]
}

// below returns the entries of the directory dir.
func (x *index) below(dir string) []indexEntry {
	const afterSlash = "0"
	return x.entries[x.search(dir+"/"):x.search(dir+afterSlash)]
}

// search returns where name is or would be.
func (x *index) search(name string) int {
	return sort.Search(len(x.entries), func(i int) bool { return string(x.entries[i].name) >= name })
}
