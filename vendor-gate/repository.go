package vendorgate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// A Repository is a git repository with a vendored directory. It is opened for one pass, since its configuration is
// read once. Several goroutines may use it.
type Repository struct {
	// Disk makes every change. The caller may replace it before the first one.
	Disk durable.Disk

	path     string // the work tree, or the bare repository
	git      string // the git directory
	bare     bool
	vendored string
	config   settings
	objects  *objects
	index    *index // as it was when the repository was opened
}

// Open opens the repository at path, whose gates lie in the directory vendored. It refuses what belongs to somebody
// else and what this package cannot read or write in full.
func Open(path, vendored string) (*Repository, error) {
	r, err := open(path, vendored)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", path, err)
	}
	return r, nil
}

func open(path, vendored string) (*Repository, error) {
	if err := validVendored(vendored); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no such directory; make one with git init, or correct repository: in the configuration")
	} else if err != nil {
		return nil, err
	}
	r := &Repository{path: path, vendored: vendored}
	if r.git, err = findGit(path); err != nil {
		return nil, err
	}
	if err := r.checkOwner(); err != nil {
		return nil, err
	}
	if r.config, err = loadSettings(r.git); err != nil {
		return nil, err
	}
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	if r.objects, err = openObjects(r.git); err != nil {
		return nil, err
	}
	return r, nil
}

// validVendored holds the configured directory to names that mean nothing to git and need no escapes.
func validVendored(dir string) error {
	if dir == "" || !filepath.IsLocal(dir) || filepath.Clean(dir) != dir || dir == "." || manifest.EscapePath(dir) != dir {
		return fmt.Errorf("vendored: %q is no clean relative path, or has a part that git takes for its own", dir)
	}
	return nil
}

// findGit returns the git directory of the repository at path.
func findGit(path string) (string, error) {
	git := filepath.Join(path, ".git")
	info, err := os.Lstat(git)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if isGitDir(path) {
			return path, nil
		}
		return "", errors.New("not a git repository; make it one with git init, or correct repository: in the configuration")
	case err != nil:
		return "", err
	case info.Mode().IsRegular():
		return "", errors.New(".git is a file: a linked work tree or a submodule; name the main work tree, or a clone of its own")
	case !info.IsDir():
		return "", errors.New(".git is no directory; name the place where the repository really is")
	case !isGitDir(git):
		return "", errors.New("the .git directory is not that of a git repository; make it one with git init")
	}
	return git, nil
}

func isGitDir(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// checkOwner refuses a repository that somebody else can write, or put another one in the place of: its configuration
// names programs to run, and its content is what root makes the policy of a gate.
func (r *Repository) checkOwner() error {
	if err := durable.OwnedAbove(r.path); err != nil {
		return err
	}
	for _, name := range []string{
		r.path, r.git, "HEAD", "config", "index", "packed-refs", "shallow", "objects", "objects/info", "objects/pack",
		"refs", "refs/heads", "info", "logs", "worktrees", ownDir,
	} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.git, name)
		}
		if err := trusted(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkFormat settles whether there is a work tree, and refuses what go-git or this package would misread.
func (r *Repository) checkFormat() error {
	var err error
	if r.bare, err = r.config.boolean("core.bare", r.git == r.path); err != nil {
		return err
	}
	if !r.bare && r.git == r.path {
		return errors.New("this is the git directory of a work tree; name the work tree")
	}
	if _, ok := r.config.get("core.worktree"); ok {
		return errors.New("core.worktree is set: the work tree is elsewhere; use a clone of its own")
	}
	if _, err := os.Lstat(filepath.Join(r.git, "commondir")); err == nil {
		return errors.New("this is the git directory of a linked work tree; name the main work tree")
	}
	if version, _ := r.config.get("core.repositoryformatversion"); version != "" && version != "0" && version != "1" {
		return fmt.Errorf("repository format version %q is not known", version)
	}
	for _, option := range r.config {
		if err := checkOption(option.name, option.value); err != nil {
			return err
		}
	}
	if sparse, err := r.config.boolean("core.sparsecheckout", false); err != nil {
		return err
	} else if sparse {
		return errors.New("its checkout is sparse, which is not supported; run git sparse-checkout disable, " +
			"or use a clone of its own")
	}
	if r.bare {
		return nil
	}
	r.index, err = readIndex(r.indexPath(), nil)
	return err
}

// checkOption refuses the extensions that change what is read from a repository.
func checkOption(name, value string) error {
	if strings.HasPrefix(name, "remote.") && strings.HasSuffix(name, ".promisor") && value != "false" {
		name = "extensions.partialclone" // which is what it comes down to
	}
	extension, ok := strings.CutPrefix(name, "extensions.")
	if !ok {
		return nil
	}
	value = strings.ToLower(value)
	switch extension {
	case "noop", "noop-v1", "preciousobjects":
		return nil
	case "objectformat":
		if value == "sha1" {
			return nil
		}
		return fmt.Errorf("its object format is %s; only sha1 is supported: git init --object-format=sha1", value)
	case "refstorage":
		if value == "files" {
			return nil
		}
		return fmt.Errorf("its references are stored as %s; only files are supported: git refs migrate --ref-format=files", value)
	case "worktreeconfig":
		if value == "false" {
			return nil
		}
		return errors.New("it has a configuration per work tree (git sparse-checkout sets that); " +
			"run git config --unset extensions.worktreeConfig if it has no need of it, or use a clone of its own")
	case "partialclone":
		return errors.New("it is a partial clone, in which objects may be missing; use a full clone")
	default:
		return fmt.Errorf("its extension %q is not known", extension)
	}
}
