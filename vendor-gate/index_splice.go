package vendorgate

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// encode returns the index file with the entries of the paths in changes replaced: a path whose new entry is nil is
// taken out. All other entries keep their bytes and their order.
func (x *index) encode(changes map[string][]byte) ([]byte, error) {
	order := slices.Sorted(maps.Keys(changes))
	var b bytes.Buffer
	b.Grow(int(x.size) + 256*len(order))
	b.WriteString("DIRC")
	b.Write(binary.BigEndian.AppendUint32(nil, x.version))
	b.Write(make([]byte, 4)) // the number of entries
	count := 0
	write := func(raw []byte) {
		b.Write(raw)
		count++
	}
	for i := range x.entries {
		e := &x.entries[i]
		for len(order) > 0 && order[0] < string(e.name) {
			if raw := changes[order[0]]; raw != nil {
				write(raw)
			}
			order = order[1:]
		}
		if _, changed := changes[string(e.name)]; !changed {
			write(e.raw)
		}
	}
	for _, name := range order {
		if raw := changes[name]; raw != nil {
			write(raw)
		}
	}
	binary.BigEndian.PutUint32(b.Bytes()[8:], uint32(count))
	if len(x.tree) > 0 {
		tree, err := invalidate(x.tree, changes)
		if err != nil {
			return nil, err
		}
		writeExtension(&b, "TREE", tree)
	}
	if len(x.undo) > 0 {
		writeExtension(&b, "REUC", x.undo)
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes(), nil
}

func writeExtension(b *bytes.Buffer, name string, body []byte) {
	b.WriteString(name)
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body))))
	b.Write(body)
}

// newIndexEntry makes the entry of the file name. Without what the file system says about it, git will look at the
// file's content before it believes the entry.
func newIndexEntry(name string, f vendoredFile, stat *unix.Stat_t) []byte {
	raw := make([]byte, paddedLength(entryFixed+len(name)))
	if stat != nil {
		for i, n := range []uint32{
			uint32(stat.Ctim.Sec), uint32(stat.Ctim.Nsec), uint32(stat.Mtim.Sec), uint32(stat.Mtim.Nsec),
			uint32(stat.Dev), uint32(stat.Ino), 0, stat.Uid, stat.Gid, uint32(stat.Size),
		} {
			binary.BigEndian.PutUint32(raw[4*i:], n)
		}
	}
	binary.BigEndian.PutUint32(raw[entryMode:], f.mode)
	copy(raw[entryID:], f.id[:])
	binary.BigEndian.PutUint16(raw[entryFlags:], uint16(min(len(name), flagNameLength)))
	copy(raw[entryFixed:], name)
	return raw
}

// matches reports whether the entry was made from a file that looked just like stat, and long enough before the index
// was written for the file not to have changed in the same tick of a clock.
func (e *indexEntry) matches(stat *unix.Stat_t, x *index) bool {
	fresh := newIndexEntry(string(e.name), e.file(), stat)
	const device, inode = 16, 20 // git does not compare devices, which change with a reboot
	return bytes.Equal(e.raw[:device], fresh[:device]) && bytes.Equal(e.raw[inode:entryID], fresh[inode:entryID]) &&
		stat.Mtim.Sec < x.time.Unix()
}

// A cachedTree is a directory in the extension TREE: the name of its tree and how many entries it covers, or a count of
// -1 and no name where entries have changed.
type cachedTree struct {
	name     string
	count    int
	id       []byte
	children []*cachedTree
}

// invalidate marks every directory above a changed path as changed, which is what git does. It then works out their
// trees anew, and forgets those that are no more.
func invalidate(extension []byte, changes map[string][]byte) ([]byte, error) {
	root, rest, err := parseCachedTree(extension, 0)
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(errors.New("the extension TREE is malformed; git reset makes a new one"), err)
	}
	changed := map[string]bool{}
	for name := range changes {
		for dir := path.Dir(name); !changed[dir]; dir = path.Dir(dir) {
			changed[dir] = true
		}
	}
	root.mark(".", changed)
	return root.append(nil), nil
}

func (t *cachedTree) mark(dir string, changed map[string]bool) {
	if !changed[dir] {
		return
	}
	t.count, t.id = -1, nil
	for _, child := range t.children {
		child.mark(path.Join(dir, child.name), changed)
	}
}

func (t *cachedTree) append(b []byte) []byte {
	b = fmt.Appendf(b, "%s\x00%d %d\n", t.name, t.count, len(t.children))
	b = append(b, t.id...)
	for _, child := range t.children {
		b = child.append(b)
	}
	return b
}

// parseCachedTree reads one directory and all below it. maxCachedDepth is deeper than any path can be.
func parseCachedTree(data []byte, depth int) (*cachedTree, []byte, error) {
	const maxCachedDepth = 4096
	name, rest, ok := bytes.Cut(data, []byte{0})
	line, rest, ok2 := bytes.Cut(rest, []byte{'\n'})
	count, subtrees, ok3 := strings.Cut(string(line), " ")
	if !ok || !ok2 || !ok3 || depth > maxCachedDepth {
		return nil, nil, errors.New("a directory is cut short or too deep")
	}
	t := &cachedTree{name: string(name)}
	n, err := strconv.Atoi(subtrees)
	if err != nil || n < 0 || n > len(rest) {
		return nil, nil, fmt.Errorf("%q subtrees", subtrees)
	}
	if t.count, err = strconv.Atoi(count); err != nil {
		return nil, nil, err
	}
	if t.count >= 0 {
		if len(rest) < sha1.Size {
			return nil, nil, errors.New("the name of a tree is cut short")
		}
		t.id, rest = rest[:sha1.Size], rest[sha1.Size:]
	}
	for range n {
		var child *cachedTree
		if child, rest, err = parseCachedTree(rest, depth+1); err != nil {
			return nil, nil, err
		}
		t.children = append(t.children, child)
	}
	return t, rest, nil
}
