package vendorgate

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
)

// A Head is where a repository stands.
type Head struct {
	Branch string // refs/heads/x; empty when detached
	Commit string // empty when the branch has no commit yet
}

func (h Head) String() string {
	if h.Commit == "" {
		return fmt.Sprintf("%q without a commit", h.Branch)
	}
	return fmt.Sprintf("%q at %.12s", h.Branch, h.Commit)
}

// Head says which branch is checked out, and its commit. On a detached HEAD it returns the commit and ErrDetached.
func (r *Repository) Head() (Head, error) {
	h, err := r.head()
	if err != nil {
		err = fmt.Errorf("repository %s: %w", r.path, err)
	}
	return h, err
}

func (r *Repository) head() (Head, error) {
	text, err := readRef(filepath.Join(r.git, "HEAD"))
	if err != nil {
		return Head{}, err
	}
	branch, symbolic := strings.CutPrefix(text, "ref: ")
	if !symbolic {
		if !plumbing.IsHash(text) {
			return Head{}, fmt.Errorf("HEAD holds %q, no branch and no commit", text)
		}
		err := fmt.Errorf("%w at %.12s; git switch to the branch that is to have the commit", ErrDetached, text)
		return Head{Commit: text}, err
	}
	if err := plumbing.ReferenceName(branch).Validate(); err != nil || !strings.HasPrefix(branch, "refs/heads/") {
		return Head{}, fmt.Errorf("HEAD names %q, which is no branch", branch)
	}
	commit, err := r.resolve(branch)
	if err != nil {
		return Head{}, err
	}
	return Head{branch, commit}, nil
}

// resolve returns the commit that the branch has, from its file or from packed-refs. It is empty for a branch without.
func (r *Repository) resolve(branch string) (string, error) {
	if err := r.trustedRef(branch); err != nil {
		return "", err
	}
	text, err := readRef(filepath.Join(r.git, filepath.FromSlash(branch)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) {
		refs, err := r.packedRefs()
		return refs[branch], err
	} else if err != nil {
		return "", err
	}
	if !plumbing.IsHash(text) {
		return "", fmt.Errorf("branch %q holds %q, no commit; git fsck tells more", branch, text)
	}
	return text, nil
}

// readRef returns the one line of a reference. What git never writes, a symbolic link above all, is an error.
func readRef(name string) (string, error) {
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file", name)
	}
	data, err := os.ReadFile(name)
	return strings.TrimRight(string(data), " \t\r\n"), err
}

// packedRefs reads the references that have no file of their own.
func (r *Repository) packedRefs() (map[string]string, error) {
	refs := make(map[string]string)
	f, err := os.Open(filepath.Join(r.git, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return refs, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' || line[0] == '^' {
			continue
		}
		id, name, ok := strings.Cut(line, " ")
		if !ok || !plumbing.IsHash(id) {
			return nil, fmt.Errorf("packed-refs has the line %q; git fsck tells more", line)
		}
		refs[name] = id
	}
	return refs, lines.Err()
}

// checkIdle returns an error while the operator is in the middle of something that ends in a commit.
func (r *Repository) checkIdle(branch string) error {
	for _, o := range []struct{ file, name string }{
		{"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"},
		{"sequencer", "a cherry-pick or revert"},
		{"rebase-merge", "a rebase"},
		{"rebase-apply", "a rebase or git am"},
		{"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(r.git, o.file)); err == nil {
			return fmt.Errorf("%w: %s; finish or abort it first", ErrInProgress, o.name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.checkOtherWorkTrees(branch)
}

// checkOtherWorkTrees returns an error if a linked work tree has the branch, since its index would then look as if
// the operator had staged the reversal of what is committed here.
func (r *Repository) checkOtherWorkTrees(branch string) error {
	dir := filepath.Join(r.git, "worktrees")
	linked, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, e := range linked {
		if text, err := readRef(filepath.Join(dir, e.Name(), "HEAD")); err == nil && text == "ref: "+branch {
			return fmt.Errorf("%w: the linked work tree %q has %s checked out; switch it to another branch first",
				ErrInProgress, e.Name(), branch)
		}
	}
	return nil
}
