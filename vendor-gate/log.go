package vendorgate

import (
	"bufio"
	"container/heap"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A LogEntry is a commit that changed the accepted copy of a gate.
type LogEntry struct {
	Commit   string
	When     time.Time // of the commit
	Author   Identity
	Subject  string
	Trailers [][2]string
}

// Log returns the last commits that changed the gate, at most max, the newest first. Where a merge has the gate as one
// of its parents has it, only that side is followed, as git log does. Until max are found it reads the whole history.
func (r *Repository) Log(gate string, max int) ([]LogEntry, error) {
	defer r.objects.close()
	entries, err := r.log(gate, max)
	if err != nil {
		return nil, fmt.Errorf("repository %s: log of gate %q: %w", r.path, gate, err)
	}
	return entries, nil
}

func (r *Repository) log(gate string, max int) ([]LogEntry, error) {
	h, err := r.newHistory()
	if err != nil {
		return nil, err
	}
	known := make(map[plumbing.Hash]string)
	treeOf := func(commit plumbing.Hash) (string, error) {
		if tree, ok := known[commit]; ok {
			return tree, nil
		}
		e, err := r.gateEntry(r.objects, commit.String(), gate)
		known[commit] = e.treeID()
		return known[commit], err
	}
	var entries []LogEntry
	for len(entries) < max {
		c, err := h.next()
		if c == nil || err != nil {
			return entries, err
		}
		here, err := treeOf(c.Hash)
		if err != nil {
			return nil, err
		}
		follow, changed := c.ParentHashes, here != "" || len(c.ParentHashes) > 0
		for _, id := range c.ParentHashes {
			there, err := treeOf(id)
			if err != nil {
				return nil, err
			}
			if here == there {
				follow, changed = []plumbing.Hash{id}, false
				break
			}
		}
		if changed {
			entries = append(entries, LogEntry{c.Hash.String(), c.Committer.When, Identity{c.Author.Name, c.Author.Email},
				subject(c.Message), parseTrailers(c.Message)})
		}
		if err := h.follow(follow...); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// FindTrailer returns the newest of the last max commits of HEAD that has the trailer.
func (r *Repository) FindTrailer(key, value string, max int) (commit string, ok bool, err error) {
	defer r.objects.close()
	commit, err = r.findTrailer([2]string{key, value}, max)
	if err != nil {
		return "", false, fmt.Errorf("repository %s: find the commit with %s: %s: %w", r.path, key, value, err)
	}
	return commit, commit != "", nil
}

func (r *Repository) findTrailer(wanted [2]string, max int) (string, error) {
	h, err := r.newHistory()
	if err != nil {
		return "", err
	}
	for range max {
		c, err := h.next()
		if c == nil || err != nil {
			return "", err
		}
		for _, t := range parseTrailers(c.Message) {
			if t == wanted {
				return c.Hash.String(), nil
			}
		}
		if err := h.follow(c.ParentHashes...); err != nil {
			return "", err
		}
	}
	return "", nil
}

// A history yields commits from HEAD backwards, by the time of the committer.
type history struct {
	objects *objects
	seen    map[plumbing.Hash]bool
	shallow map[plumbing.Hash]bool // whose parents are not here
	commits byTime
}

func (r *Repository) newHistory() (*history, error) {
	head, err := r.head()
	if err != nil && !errors.Is(err, ErrDetached) {
		return nil, err
	}
	h := &history{objects: r.objects, seen: make(map[plumbing.Hash]bool)}
	if h.shallow, err = readShallow(filepath.Join(r.git, "shallow")); err != nil || head.Commit == "" {
		return h, err
	}
	return h, h.follow(plumbing.NewHash(head.Commit))
}

func readShallow(name string) (map[plumbing.Hash]bool, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	shallow := make(map[plumbing.Hash]bool)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		shallow[plumbing.NewHash(lines.Text())] = true
	}
	return shallow, lines.Err()
}

// next returns nil at the end.
func (h *history) next() (*object.Commit, error) {
	if len(h.commits) == 0 {
		return nil, nil
	}
	return heap.Pop(&h.commits).(*object.Commit), nil
}

// follow lets commits be yielded, each once.
func (h *history) follow(ids ...plumbing.Hash) error {
	for _, id := range ids {
		if h.seen[id] {
			continue
		}
		h.seen[id] = true
		c, err := h.objects.commit(id.String())
		if err != nil {
			return err
		}
		if h.shallow[id] {
			c.ParentHashes = nil
		}
		heap.Push(&h.commits, c)
	}
	return nil
}

// byTime is a heap of commits with the newest on top.
type byTime []*object.Commit

func (b byTime) Len() int           { return len(b) }
func (b byTime) Less(i, j int) bool { return b[i].Committer.When.After(b[j].Committer.When) }
func (b byTime) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byTime) Push(c any)        { *b = append(*b, c.(*object.Commit)) }
func (b *byTime) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}
