package vendorgate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// moveBranch makes commit the head of the branch if it still has the parent, as git does it: under the branch's lock,
// which becomes the reference, and with the reflogs written before. moved is true once the branch has the commit, even if
// an error then says that this may not outlast a crash.
func (r *Repository) moveBranch(parent Head, commit, subject string, who object.Signature) (moved bool, err error) {
	ref := r.refPath(parent.Branch)
	lock, own := ref+".lock", r.own(ownRef)
	defer func() { err = errors.Join(err, r.dropLock(own, lock)) }()
	if err := r.Disk.MkdirAll(filepath.Dir(ref), 0o755); err != nil {
		return false, fmt.Errorf("branch %s: %w", parent.Branch, err)
	}
	if err := r.takeLock(own, lock, []byte(commit+"\n")); err != nil {
		return false, err
	}
	if err := r.checkParent(parent); err != nil {
		return false, err
	}
	if parent.Commit == "" {
		if err := r.checkNewBranch(parent.Branch); err != nil {
			return false, err
		}
	}
	if err := removeEmptyDirs(ref); err != nil {
		return false, err
	}
	if err := r.appendReflogs(parent, commit, subject, who); err != nil {
		return false, err
	}
	err = r.Disk.Rename(lock, ref)
	if now, resolveErr := r.resolve(parent.Branch); resolveErr == nil && now == commit {
		moved = true
	}
	return moved, err
}

// checkParent returns an error unless the repository still stands where the caller saw it.
func (r *Repository) checkParent(parent Head) error {
	now, err := r.head()
	if err != nil {
		return err
	}
	if now != parent {
		return fmt.Errorf("%w: %s was compared, HEAD is %s; compare again", ErrMoved, parent, now)
	}
	return nil
}

// checkNewBranch refuses a name that a packed reference excludes: a and a/b cannot both be there.
func (r *Repository) checkNewBranch(branch string) error {
	refs, err := r.packedRefs()
	if err != nil {
		return err
	}
	for name := range refs {
		if strings.HasPrefix(branch, name+"/") || strings.HasPrefix(name, branch+"/") {
			return fmt.Errorf("branch %q cannot be made beside %q", branch, name)
		}
	}
	return nil
}

// removeEmptyDirs makes way where references of longer names have left empty directories.
func removeEmptyDirs(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	} else if err != nil {
		return err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return fmt.Errorf("%s is a directory that is not empty", name)
		}
		if err := removeEmptyDirs(filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(name)
}

// appendReflogs adds the move to the reflogs of the branch and of HEAD, where git would.
func (r *Repository) appendReflogs(parent Head, commit, subject string, who object.Signature) error {
	old, what := parent.Commit, "commit"
	if old == "" {
		old, what = plumbing.ZeroHash.String(), "commit (initial)"
	}
	line := fmt.Appendf(nil, "%s %s %s <%s> %d %s\t%s: %s\n", old, commit, who.Name, who.Email,
		who.When.Unix(), who.When.Format("-0700"), what, subject)
	for _, name := range []string{parent.Branch, "HEAD"} {
		file := filepath.Join(r.git, "logs", filepath.FromSlash(name))
		wanted, err := r.logsTo(file)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if err := r.Disk.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := removeEmptyDirs(file); err != nil {
			return err
		}
		if err := r.Disk.Append(file, line, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// logsTo says whether git keeps the reflog file.
func (r *Repository) logsTo(file string) (bool, error) {
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		return true, nil
	}
	if value, _ := r.config.get("core.logallrefupdates"); strings.EqualFold(value, "always") {
		return true, nil
	}
	return r.config.boolean("core.logallrefupdates", !r.bare)
}
