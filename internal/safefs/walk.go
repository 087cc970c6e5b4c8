package safefs

import (
	"strings"

	"golang.org/x/sys/unix"
)

// A place is a directory that a name led to.
type place struct {
	fd       int // of the thing itself (O_PATH), but in a Dir, where it can be read
	info     Info
	borrowed bool // the descriptor belongs to a Dir
}

func (p place) close() {
	if !p.borrowed {
		unix.Close(p.fd)
	}
}

// A way is what names may lead through.
type way bool

const (
	toTree way = false // parents of the tree: mounts, and sticky directories
	inTree way = true  // the tree itself: neither
)

// find returns the directory that holds the last component of name. It goes component by component from the
// directory from, which it closes unless it returns it.
func (o *Options) find(from place, name string, w way) (place, error) {
	for start := 0; ; {
		i := strings.IndexByte(name[start:], '/')
		if i < 0 {
			return from, nil
		}
		next, err := o.enter(from, name[:start+i], w)
		from.close()
		if err != nil {
			return place{}, err
		}
		from = next
		start += i + 1
	}
}

// enter steps into the directory that the last component of name means in the directory in.
func (o *Options) enter(in place, name string, w way) (place, error) {
	p, err := o.hold(in, name, w)
	if err != nil {
		return place{}, err
	}
	judge := o.judgeDir
	if w == toTree {
		judge = o.judgeParent
	}
	if err := judge(w.full(name), p.info); err != nil {
		p.close()
		return place{}, err
	}
	return p, nil
}

// hold returns the thing itself that the last component of name means in the directory in, without opening it.
func (o *Options) hold(in place, name string, w way) (place, error) {
	fd, err := o.openat(in, base(name), unix.O_PATH, w)
	if err != nil {
		return place{}, failed("look at", w.full(name), err)
	}
	info, err := look(fd, "", in.info.Dev, w)
	if err != nil {
		unix.Close(fd)
		return place{}, failed("look at", w.full(name), err)
	}
	if info.Dev != in.info.Dev && w == toTree {
		if err := judgeMount(w.full(name), fd); err != nil {
			unix.Close(fd)
			return place{}, err
		}
	}
	return place{fd: fd, info: info}, nil
}

// full is the name that a person knows.
func (w way) full(name string) string {
	if w == toTree {
		return "/" + name
	}
	return name
}

// openDir makes a Dir of a place, which it closes.
func (o *Options) openDir(at place, name string) (*Dir, error) {
	defer at.close()
	if err := o.judgeDir(name, at.info); err != nil {
		return nil, err
	}
	fd, err := openSelf(at.fd)
	if err != nil {
		return nil, failed("open", name, err)
	}
	if err := judgeAttributes(name, fd); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{at: place{fd: fd, info: at.info}, name: name, opt: *o}, nil
}

// openRoot holds "/", and by that finds out whether there is openat2.
func (o *Options) openRoot() (place, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := -1, error(unix.ENOSYS)
	if !o.byHand {
		how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
		fd, err = retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, "/", &how) })
	}
	if err == unix.ENOSYS || err == unix.EPERM {
		o.byHand = true
		fd, err = retry(func() (int, error) { return unix.Open("/", flags, 0) })
	}
	if err != nil {
		return place{}, failed("open", "/", err)
	}
	info, err := fstat(fd)
	if err != nil {
		unix.Close(fd)
		return place{}, failed("stat", "/", err)
	}
	return place{fd: fd, info: info}, nil
}

// openat opens one component of a name. It follows no link.
func (o *Options) openat(in place, component string, flags int, w way) (int, error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if o.byHand {
		return retry(func() (int, error) { return unix.Openat(in.fd, component, flags, 0) })
	}
	how := unix.OpenHow{
		Flags:   uint64(flags),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if w == inTree {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	return retry(func() (int, error) { return unix.Openat2(in.fd, component, &how) })
}

// openSelf opens for reading the very directory that dir is a descriptor of, with a position of its own.
func openSelf(dir int) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
