package vendorgate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// The modes that git gives to files, of which the rest stand for what a gate cannot hold.
const (
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeDir        = 0o040000
	modeSymlink    = 0o120000
	modeGitlink    = 0o160000
	modeType       = 0o170000
)

// A treeEntry is one name in a tree. It keeps the bytes it was read from, so that a tree that is written again has
// them unchanged, odd modes of old programs included.
type treeEntry struct {
	raw  []byte
	mode uint32
	name string
	id   plumbing.Hash
}

func newTreeEntry(mode uint32, name string, id plumbing.Hash) treeEntry {
	raw := fmt.Appendf(nil, "%o %s\x00%s", mode, name, id[:])
	return treeEntry{raw, mode, name, id}
}

// tree is what lies in one directory, in git's order: a directory is sorted as if its name ended in a slash.
type tree []treeEntry

// parseTree refuses what git would show as something else: with two entries of one name, or one that goes on below a
// directory, the git binary takes the first that it meets, and others the last.
func parseTree(data []byte) (tree, error) {
	var t tree
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		zero := bytes.IndexByte(data, 0)
		if space < 0 || zero < space || len(data) < zero+1+len(plumbing.Hash{}) {
			return nil, errors.New("malformed tree")
		}
		mode, err := strconv.ParseUint(string(data[:space]), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("malformed tree: %w", err)
		}
		end := zero + 1 + len(plumbing.Hash{})
		e := treeEntry{data[:end:end], uint32(mode), string(data[space+1 : zero]), plumbing.Hash(data[zero+1 : end])}
		if e.name == "" || strings.Contains(e.name, "/") || !t.mayEndWith(&e) {
			return nil, fmt.Errorf("malformed tree: the name %q is not one, not in order, or there twice; git fsck tells more", e.name)
		}
		t = append(t, e)
		data = data[end:]
	}
	return t, nil
}

// mayEndWith reports whether e comes after all of t in git's order, and has a name of its own: between a file a and a
// directory a there may be others, such as a.b.
func (t tree) mayEndWith(e *treeEntry) bool {
	if len(t) > 0 && compareTreeEntries(t[len(t)-1], *e) >= 0 {
		return false
	}
	for i := len(t) - 1; i >= 0 && strings.HasPrefix(t[i].name, e.name); i-- {
		if t[i].name == e.name {
			return false
		}
	}
	return true
}

func (t tree) encode() []byte {
	var b bytes.Buffer
	for i := range t {
		b.Write(t[i].raw)
	}
	return b.Bytes()
}

// find returns the entry of name, or nil.
func (t tree) find(name string) *treeEntry {
	for i := range t {
		if t[i].name == name {
			return &t[i]
		}
	}
	return nil
}

// with returns a tree that has e under its name, and nothing there if e has no mode.
func (t tree) with(e treeEntry) tree {
	out := make(tree, 0, len(t)+1)
	for i := range t {
		if t[i].name != e.name {
			out = append(out, t[i])
		}
	}
	if e.mode != 0 {
		i, _ := slices.BinarySearchFunc(out, e, compareTreeEntries)
		out = slices.Insert(out, i, e)
	}
	return out
}

func compareTreeEntries(a, b treeEntry) int { return cmp.Compare(a.sortName(), b.sortName()) }

func (e *treeEntry) sortName() string {
	if e.mode&modeType == modeDir {
		return e.name + "/"
	}
	return e.name
}

// kind says in a word what an entry is that is not what was looked for.
func (e *treeEntry) kind() string {
	switch e.mode & modeType {
	case modeDir:
		return "a directory"
	case modeSymlink:
		return "a symbolic link"
	case modeGitlink:
		return "a submodule"
	default:
		return "a file"
	}
}

func (o *objects) tree(id plumbing.Hash) (tree, error) {
	data, err := o.read(plumbing.TreeObject, id)
	if err != nil {
		return nil, err
	}
	t, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	return t, nil
}

// descend returns the trees of dir and of all its parents, the root of the commit first. A nil tree stands for each
// directory that is not there.
func (o *objects) descend(commit, dir string) ([]tree, error) {
	parts := strings.Split(dir, "/")
	trees := make([]tree, len(parts)+1)
	if commit == "" {
		return trees, nil
	}
	c, err := o.commit(commit)
	if err == nil {
		err = o.checkReplaced(plumbing.CommitObject, c.Hash)
	}
	if err != nil {
		return nil, err
	}
	id := c.TreeHash
	for i := range trees {
		if trees[i], err = o.tree(id); err != nil || i == len(parts) {
			return trees, err
		}
		e := trees[i].find(parts[i])
		if e == nil {
			return trees, nil
		}
		if e.mode&modeType != modeDir {
			return nil, fmt.Errorf("%q is %s in commit %s, not a directory", path.Join(parts[:i+1]...), e.kind(), commit)
		}
		id = e.id
	}
	return trees, nil
}

// A vendoredFile is a regular file as git has it.
type vendoredFile struct {
	mode uint32 // modeFile or modeExecutable
	id   plumbing.Hash
}

// A fileSet is the files that a gate has in one commit.
type fileSet struct {
	files map[string]vendoredFile // by their path in the repository
	trees map[plumbing.Hash]bool  // that they lie in
}

// maxDepth is how deep below a gate's directory files may lie.
const maxDepth = 80

// files lists what is a gate's in its directory dir, whose tree is gate: manifest.json and all below files/. More than
// limit files or directories, or something that is no regular file, is an error.
func (o *objects) files(gate tree, dir string, limit int) (fileSet, error) {
	set := fileSet{make(map[string]vendoredFile), make(map[plumbing.Hash]bool)}
	if e := gate.find(manifestName); e != nil {
		if err := set.add(e, dir+"/"+manifestName); err != nil {
			return fileSet{}, err
		}
	}
	e := gate.find(filesName)
	if e == nil {
		return set, nil
	}
	if e.mode&modeType != modeDir {
		return fileSet{}, fmt.Errorf("%q is %s in git, not a directory", dir+"/"+filesName, e.kind())
	}
	d := &descent{o, set, limit, 0}
	return set, d.addAll(e, dir+"/"+filesName, 0)
}

// A descent adds all files below a directory to a set. It counts directories as well: a tree may hold itself many times
// over, and a few of them without a single file stand for more directories than can be walked.
type descent struct {
	*objects
	set   fileSet
	limit int
	dirs  int
}

func (d *descent) addAll(e *treeEntry, dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%q lies too deep", dir)
	}
	if d.dirs++; d.dirs > d.limit+1 { // files/ itself is none of the gate's
		return fmt.Errorf("%q: with it there are more than the limit of %d directories", dir, d.limit)
	}
	t, err := d.tree(e.id)
	if err != nil {
		return err
	}
	d.set.trees[e.id] = true
	for i := range t {
		name := dir + "/" + t[i].name
		if t[i].mode&modeType == modeDir {
			err = d.addAll(&t[i], name, depth+1)
		} else if len(d.set.files) > d.limit {
			err = fmt.Errorf("%q: with it there are more than the limit of %d entries", name, d.limit)
		} else {
			err = d.set.add(&t[i], name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (set fileSet) add(e *treeEntry, name string) error {
	if e.mode&modeType != modeFile&modeType {
		return fmt.Errorf("%q is %s in git; only regular files belong there", name, e.kind())
	}
	mode := uint32(modeFile)
	if e.mode&0o100 != 0 {
		mode = modeExecutable
	}
	set.files[name] = vendoredFile{mode, e.id}
	return nil
}
