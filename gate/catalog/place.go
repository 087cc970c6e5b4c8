package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place finds the tool's working directory. A job stays with the project that it began in.
func (c *call) place(t *Tool) error {
	rest, inProject := strings.CutPrefix(t.Cwd, "project")
	needs := inProject || t.Confine != nil && slices.ContainsFunc(slices.Concat(t.Confine.Read, t.Confine.Write),
		func(p string) bool { return strings.HasPrefix(p, "project") })
	if needs {
		find := findProject
		if c.Boundary {
			find = c.ownProject
		}
		project, err := find(c.Cwd, c.Home)
		if err != nil {
			return err
		}
		if c.job.Cwd != "" && c.job.Cwd != project {
			return failed(NoDirectory, "job %q began in %s and stays there; it was called from %s", c.job.Job, c.job.Cwd, project)
		}
		c.project = project
	}
	var there spot
	var st unix.Stat_t
	var err error
	if inProject {
		there, st, err = c.inProject(rest)
	} else {
		if c.Boundary {
			err = rootsLinks(t.Cwd)
		}
		if err == nil {
			there, st, err = see(t.Cwd)
		}
	}
	switch {
	case err != nil:
		return &Error{Code: NoDirectory, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return failed(NoDirectory, "%s is no directory", there.Path)
	}
	if c.dir, c.there = there.Path, there; !inProject {
		c.there = spot{Path: t.Cwd} // as the tool has it, with a /tmp of its own, say
	}
	return nil
}

// inProject finds what lies at a path of the project. Whoever has rights of its own looks at nothing outside on the way
// there, where its answer would tell the caller what is to be seen.
func (c *call) inProject(rest string) (spot, unix.Stat_t, error) {
	if c.Boundary {
		return seeBeneath(c.project, strings.TrimPrefix(rest, "/"))
	}
	there, st, err := see(c.project + rest)
	if err == nil && !within(there.Path, c.project) {
		err = fmt.Errorf("%s leads to %s, out of the project", c.project+rest, there.Path)
	}
	return there, st, err
}

// inside reports an error if a relative path leads out of the working directory by the links that are there now.
func (c *call) inside(value string) error {
	if c.Boundary {
		return beneath(c.dir, value)
	}
	return inside(c.dir, value)
}

// findProject finds the nearest directory with a .git above where the caller is. The home directory and / are none.
func findProject(cwd, home string) (string, error) {
	if !filepath.IsAbs(cwd) {
		return "", failed(NoDirectory, "where the caller is, is not known")
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", &Error{Code: NoDirectory, Err: err}
	}
	if linked, err := filepath.EvalSymlinks(home); err == nil {
		home = linked
	}
	for at := real; at != "/" && at != home; at = filepath.Dir(at) {
		_, err := os.Lstat(filepath.Join(at, ".git"))
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist): // and not one further up
			return "", &Error{Code: NoDirectory, Err: err}
		}
	}
	return "", failed(NoDirectory, "%s is in no project: no directory above it has a .git", cwd)
}

// wayIn says how a directory is opened to the service and its tools that is closed to them.
func wayIn(err error, boundary bool) error {
	var at *fs.PathError
	if !boundary || !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return err
	}
	closed := at.Path
	switch at.Op {
	case "lstat", "stat":
		closed = filepath.Dir(closed)
	case "chdir":
	default:
		return err
	}
	return fmt.Errorf("%w; a person opens the way to the service and its tools with: setfacl -m g:gatehouse:x %q, "+
		"and a project with: setfacl -R -m g:gatehouse:rX DIRECTORY", err, closed)
}

// ownProject is findProject where tools have rights of their own, which would else work for one caller on what is
// another's: the project is below the caller's home directory, or the caller owns it. The answer is one and the same for
// everything else, be it not there, closed or another's: callers are not to see through the eyes of the service.
func (h *Host) ownProject(cwd, home string) (string, error) {
	if linked, err := filepath.EvalSymlinks(home); err == nil {
		home = linked
	}
	unseen := failed(NoDirectory, "the service sees no project of uid %d at %q: none is there, or it is another's, or the way is closed to the service. "+
		"A person opens each directory on the way with: setfacl -m g:gatehouse:x DIRECTORY; a tool for another's project names it in tools.json", h.Place.UID, cwd)
	if !filepath.IsAbs(cwd) || filepath.Clean(cwd) != cwd {
		return "", unseen
	}
	for at := cwd; at != "/" && at != home; at = filepath.Dir(at) {
		dir, st, err := holdPlain(at)
		if err != nil {
			if closed := new(fs.PathError); errors.As(err, &closed) && errors.Is(err, fs.ErrPermission) && h.owns(filepath.Dir(closed.Path)) {
				return "", &Error{Code: NoDirectory, Err: err} // wayIn says the rest
			}
			return "", unseen
		}
		var git unix.Stat_t
		err = unix.Fstatat(int(dir.Fd()), ".git", &git, unix.AT_SYMLINK_NOFOLLOW)
		dir.Close()
		own := st.Uid == h.Place.UID
		switch {
		case err == nil && (own || home != "" && home != "/" && strings.HasPrefix(at, home+"/")):
			return at, nil
		case errors.Is(err, fs.ErrPermission) && own:
			return "", &Error{Code: NoDirectory, Err: &fs.PathError{Op: "lstat", Path: filepath.Join(at, ".git"), Err: err}}
		case !errors.Is(err, fs.ErrNotExist): // and not one further up
			return "", unseen
		}
	}
	return "", unseen
}

// owns reports whether a directory is the caller's.
func (h *Host) owns(path string) bool {
	dir, st, err := holdPlain(path)
	if err != nil {
		return false
	}
	dir.Close()
	return st.Uid == h.Place.UID
}

// located finds the places of a profile. Those of the project are what they are now, and lie in it.
func (c *call) located(places []string) (found []spot, err error) {
	for _, p := range places {
		rest, inProject := strings.CutPrefix(p, "project")
		if !inProject {
			if _, err := os.Stat(p); err != nil {
				return nil, failed(NotConfined, "confine: %w", err)
			}
			found = append(found, spot{Path: p})
			continue
		}
		there, _, err := c.inProject(rest)
		if err != nil {
			return nil, failed(NotConfined, "confine: %w", err)
		}
		found = append(found, there)
	}
	return found, nil
}
