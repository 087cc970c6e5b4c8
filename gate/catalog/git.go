package catalog

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// gitTime is how long git may take to answer all that it is asked of one catalogue.
const gitTime = 20 * time.Second

// committed reports an error unless files, as they were read, are what HEAD and the index of the repository around dir
// hold. The bytes are compared by the ids that git would give them, here, so that no filter, attribute or hook has a say;
// git is only asked for ids, without configuration of the user's, and with what could start programs switched off.
func committed(ctx context.Context, git string, uid uint32, dir string, files map[string][]byte) (commit string, err error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &Error{Code: NotCommitted, Err: err}
	}
	r, err := findRepository(real, uid)
	if err != nil {
		return "", &Error{Code: NotCommitted, Err: err}
	}
	if r.git, err = findGit(git); err != nil {
		return "", &Error{Code: NotCommitted, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil { // git was ended before it had an answer, which is not a no
			err = failed(Fault, "git was not waited for, to hear whether %s is committed: %w", dir, ctx.Err())
		}
	}()
	head, err := r.ask(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", failed(NotCommitted, "%s has no commit yet: %w", r.top, err)
	}
	commit = strings.TrimSpace(string(head))
	for name, data := range files {
		path, err := filepath.Rel(r.top, filepath.Join(real, name))
		if err != nil {
			return "", &Error{Code: NotCommitted, Err: err}
		}
		if err := r.holds(ctx, commit, path, data); err != nil {
			return "", failed(NotCommitted, "%s: %w; without a warden a catalogue counts that is committed and clean", filepath.Join(dir, name), err)
		}
	}
	return commit, nil
}

// A repository is one whose work tree holds the catalogue.
type repository struct{ top, git string }

func findRepository(dir string, uid uint32) (*repository, error) {
	for at := dir; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		err := unix.Lstat(filepath.Join(at, ".git"), &st)
		if err == nil {
			if st.Uid != uid && st.Uid != 0 {
				return nil, fmt.Errorf("the repository %s belongs to uid %d", at, st.Uid)
			}
			return &repository{top: at}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "lstat", Path: filepath.Join(at, ".git"), Err: err}
		}
		if at == "/" {
			return nil, fmt.Errorf("%s is in no git repository; without a warden a catalogue counts that is committed and clean", dir)
		}
	}
}

// findGit takes no PATH: whoever calls could have set it.
func findGit(given string) (string, error) {
	candidates := []string{"/usr/bin/git", "/usr/local/bin/git", "/bin/git", "/run/current-system/sw/bin/git"}
	if given != "" {
		candidates = []string{given}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", errors.New("there is no git to ask whether the catalogue is committed")
}

func (r *repository) ask(ctx context.Context, args ...string) ([]byte, error) {
	safe := []string{
		"--git-dir=" + filepath.Join(r.top, ".git"), "--work-tree=" + r.top, "--literal-pathspecs", "--no-replace-objects", "--no-optional-locks",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false", "-c", "core.preloadIndex=false",
		"-c", "protocol.allow=never", "-c", "core.alternateRefsCommand=false", "-c", "core.commitGraph=false",
	}
	cmd := exec.CommandContext(ctx, r.git, append(safe, args...)...)
	cmd.Dir = r.top
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat", "GIT_TRACE2=0", "GIT_TRACE2_EVENT=0",
		"GIT_TRACE2_PERF=0"}
	cmd.SysProcAttr = dying()
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// holds reports an error unless the commit and the index have exactly these bytes at path.
func (r *repository) holds(ctx context.Context, commit, path string, data []byte) error {
	tree, err := r.ask(ctx, "ls-tree", "-z", "--full-tree", commit, "--", path)
	if err != nil {
		return err
	}
	mode, kind, id, ok := entryOf(string(tree), path)
	if !ok {
		return errors.New("is not committed")
	}
	if kind != "blob" || mode != "100644" && mode != "100755" {
		return errors.New("is committed as something else than a file")
	}
	if id != blobID(data, len(id)) {
		return fmt.Errorf("is not what the commit %.12s holds", commit)
	}
	index, err := r.ask(ctx, "ls-files", "-z", "--stage", "--", path)
	if err != nil {
		return err
	}
	if _, staged, stage, ok := entryOf(string(index), path); !ok || stage != "0" || staged != id {
		return errors.New("is staged otherwise than it is committed")
	}
	return nil
}

// entryOf takes apart the one line "a b c\tpath\0" of ls-tree and ls-files.
func entryOf(out, path string) (a, b, c string, ok bool) {
	line, rest, ended := strings.Cut(out, "\x00")
	fields, name, tab := strings.Cut(line, "\t")
	words := strings.Fields(fields)
	if !ended || rest != "" || !tab || name != path || len(words) != 3 {
		return "", "", "", false
	}
	return words[0], words[1], words[2], true
}

// blobID is the id of a blob in a repository whose ids are that long.
func blobID(data []byte, length int) string {
	hash := sha1.New()
	if length == 2*sha256.Size {
		hash = sha256.New()
	}
	fmt.Fprintf(hash, "blob %d\x00", len(data))
	hash.Write(data)
	return hex.EncodeToString(hash.Sum(nil))
}
