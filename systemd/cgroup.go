package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of a tree of control groups that a user may have made. Below a user's manager lie some dozens.
const (
	maxGroups     = 4096
	maxGroupDepth = 64
	maxThreadList = 1 << 20
)

// A hierarchy is a place where control groups are mounted, and the file in each that lists its threads. Threads and not
// processes: that of a process whose first thread has ended, or is elsewhere, is listed where it is.
type hierarchy struct {
	mount, threads string
}

// hierarchies finds the unified hierarchy and systemd's own one, whichever there are.
func hierarchies(proc string) ([]hierarchy, error) {
	mounts, err := readMounts(filepath.Join(proc, "self/mountinfo"))
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for _, m := range mounts {
		switch {
		case m.root != "/":
		case m.kind == "cgroup2":
			found = append(found, hierarchy{m.point, "cgroup.threads"})
		case m.kind == "cgroup" && slices.Contains(strings.Split(m.options, ","), "name=systemd"):
			found = append(found, hierarchy{m.point, "tasks"})
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no control groups are mounted")
	}
	return found, nil
}

// A groupWalk collects the threads in a tree of control groups.
type groupWalk struct {
	ctx     context.Context
	file    string
	selects func(group string) bool
	groups  int
	threads []int
}

// list lists the threads in the control groups at and below top that selects selects.
func (h hierarchy) list(ctx context.Context, top string, selects func(group string) bool) ([]int, error) {
	w := groupWalk{ctx: ctx, file: h.threads, selects: selects}
	fd, err := unix.Openat2(unix.AT_FDCWD, filepath.Join(h.mount, top), &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC})
	if gone(err) || err == nil && top == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the control group %.200q: %w", top, err)
	}
	err = w.walk(fd, top, 0)
	return w.threads, err
}

// walk takes over fd.
func (w *groupWalk) walk(fd int, group string, depth int) error {
	dir := os.NewFile(uintptr(fd), group)
	defer dir.Close()
	if w.groups++; w.groups > maxGroups || depth > maxGroupDepth {
		return fmt.Errorf("there are more than %d control groups, or they are more than %d deep", maxGroups, maxGroupDepth)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.selects(group) {
		if err := w.read(fd); err != nil && !gone(err) {
			return fmt.Errorf("list the threads in the control group %.200q: %w", group, err)
		}
	}
	for {
		below, err := dir.ReadDir(256)
		for _, entry := range below {
			if !entry.IsDir() {
				continue
			}
			child, err := openBelow(fd, entry.Name(), unix.O_DIRECTORY)
			if gone(err) {
				continue
			}
			if err == nil {
				err = w.walk(child, group+"/"+entry.Name(), depth+1)
			}
			if err != nil {
				return err
			}
		}
		if err == io.EOF || gone(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the control group %.200q: %w", group, err)
		}
	}
}

func (w *groupWalk) read(dir int) error {
	fd, err := openBelow(dir, w.file, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), w.file)
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxThreadList+1))
	if err != nil {
		return err
	}
	if len(data) > maxThreadList {
		return fmt.Errorf("there are more than can be kept in view")
	}
	for field := range bytes.FieldsSeq(data) {
		id, err := strconv.Atoi(string(field))
		if err != nil {
			return err
		}
		w.threads = append(w.threads, id)
	}
	return nil
}

func openBelow(dir int, name string, flags int) (int, error) {
	return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
}

// gone reports whether what was asked for has ended meanwhile.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENODEV)
}
