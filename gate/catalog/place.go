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
		project, err := findProject(c.Cwd, c.Home)
		if err != nil {
			return err
		}
		if c.Boundary {
			if err := ownProject(project, c.Home, c.Place.UID); err != nil {
				return err
			}
		}
		if c.job.Cwd != "" && c.job.Cwd != project {
			return failed(NoDirectory, "job %q began in %s and stays there; it was called from %s", c.job.Job, c.job.Cwd, project)
		}
		c.project = project
	}
	dir := t.Cwd
	if inProject {
		dir = c.project + rest
	}
	if c.Boundary && !inProject {
		if err := rootsLinks(dir); err != nil {
			return &Error{Code: NoDirectory, Err: err}
		}
	}
	there, st, err := see(dir)
	switch {
	case err != nil:
		return &Error{Code: NoDirectory, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return failed(NoDirectory, "%s is no directory", dir)
	case inProject && within(there.Path, c.project) != nil:
		return failed(NoDirectory, "%s leads to %s, out of the project", dir, there.Path)
	}
	if c.dir, c.there = there.Path, there; !inProject {
		c.there = spot{Path: dir} // as the tool has it, with a /tmp of its own, say
	}
	return nil
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

// ownProject reports an error unless a project is the caller's: below the home directory, or of that owner. Where tools
// have rights of their own, they would else work for one caller on what is another's.
func ownProject(project, home string, uid uint32) error {
	there, st, err := see(project)
	if err == nil && there.Path != project {
		err = fmt.Errorf("%s was exchanged while it was looked at", project)
	}
	if err != nil {
		return &Error{Code: NoDirectory, Err: err}
	}
	if linked, err := filepath.EvalSymlinks(home); err == nil {
		home = linked
	}
	if home != "" && home != "/" && strings.HasPrefix(project, home+"/") {
		return nil
	}
	if st.Uid != uid {
		return failed(NoDirectory, "the project %s belongs to uid %d and is not in the home directory of uid %d, who calls; "+
			"a tool for it names its directory in tools.json", project, st.Uid, uid)
	}
	return nil
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
		there, _, err := see(c.project + rest)
		if err != nil {
			return nil, failed(NotConfined, "confine: %w", err)
		}
		if within(there.Path, c.project) != nil {
			return nil, failed(NotConfined, "confine: %s leads to %s, out of the project", c.project+rest, there.Path)
		}
		found = append(found, there)
	}
	return found, nil
}
