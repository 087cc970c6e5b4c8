// Package safefs opens and reads, as root, what an enemy owns.
//
// The owner of such a tree can put anything there and change it at any moment. Every name is therefore resolved one
// component at a time, from a descriptor that is already held, in these steps:
//
//   - look: statx says what the thing itself is, and openat2 with O_PATH and O_NOFOLLOW holds it. This breaks no lease,
//     waits for no writer of a FIFO and does not wake a device. A mount point is refused before the file system behind
//     it is asked anything, for that may be a FUSE daemon that never answers;
//   - judge: type, owner, links, mode and size, as the kernel says of that thing and no path;
//   - open: a directory is opened from its own descriptor. A regular file is opened by its name, non-blocking, must
//     turn out to be the inode that was looked at, and is judged again. So a kernel that ignores the flags which forbid
//     links (a sandbox has been seen to ignore O_NOFOLLOW together with O_DIRECTORY) opens nothing for a link either;
//   - read: at most one byte more than fstat announced, in memory that grows with the bytes that came and not with
//     what was announced; then fstat again. Anything that differs makes the read "in flux". Whether to try again is
//     the caller's decision.
//
// What a tree may contain: regular files with one link and directories, both owned by root or one of Options.Owners,
// without POSIX ACLs and file capabilities, since those grant what the mode does not show. (The ACL of a directory is
// looked at when OpenDir opens it, not when a name leads through it.) Directories may not be writable by everybody.
// They may be writable by their group: where each user has a group of their own, 0775 is what a umask of 002 makes, and
// who else is in that group is the owner's choice, as all the content is. Symbolic links can be read (Readlink) but are
// never followed.
//
// The way to a tree (OpenDir) may cross mounts, but no link and no FUSE file system that a user mounted. Every directory
// on it is owned by root or an Owner and not writable by everybody unless it is sticky: nobody else can put another
// tree there.
//
// Where openat2 is missing or a seccomp filter blocks it, openat opens one component at a time under the same
// judgement. The one difference is a mount that appears between the look and the open, which only openat2 refuses.
// OpenDir finds out each time which it is; nothing is remembered in the package.
//
// What is not promised: that bytes which are stored through a shared memory mapping are noticed while they change, or
// within one tick of a coarse file system clock. What was read is one set of bytes; what it is worth is for its hash
// to say. A call on a dead disk or network file system can hang, so callers run under a deadline.
//
// safefs knows no other package of this module.
package safefs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// Options say whose files are believed and how large one may be.
type Options struct {
	Owners  []uint32 // uids that may own a file or directory, besides root
	MaxFile int64    // bytes; 0 means that no file may be read

	byHand bool // do without openat2: set by OpenDir where it is missing, and by tests
}

// A Dir is an open directory. Its methods may be called from several goroutines at once, except Close.
type Dir struct {
	at   place
	name string // as the caller gave it
	top  bool   // name is a path
	opt  Options
}

// OpenDir opens the directory at path, which is absolute and clean. Path and directory must be as the package comment
// says.
func OpenDir(path string, opt Options) (*Dir, error) {
	if err := validPath(path); err != nil {
		return nil, err
	}
	opt.Owners = slices.Clone(opt.Owners)
	at, err := opt.openRoot()
	if err != nil {
		return nil, err
	}
	if name := path[1:]; name != "" {
		if err := opt.judgeParent("/", at.info); err != nil {
			at.close()
			return nil, err
		}
		in, err := opt.find(at, name, toTree)
		if err != nil {
			return nil, err
		}
		at, err = opt.hold(in, name, toTree)
		in.close()
		if err != nil {
			return nil, err
		}
	}
	d, err := opt.openDir(at, path)
	if err != nil {
		return nil, err
	}
	d.top = true
	return d, nil
}

// OpenDir opens a directory below d. Like all names below, name may have several components.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	at, err := d.hold(name)
	if err != nil {
		return nil, err
	}
	return d.opt.openDir(at, name)
}

// Lstat says what name is. It refuses a bad name, a way that leads through anything but good directories, and a mount
// point; of the thing itself it refuses nothing.
func (d *Dir) Lstat(name string) (Info, error) {
	in, err := d.find(name)
	if err != nil {
		return Info{}, err
	}
	defer in.close()
	info, err := look(in.fd, base(name), in.info.Dev, inTree)
	if err != nil {
		return Info{}, failed("look at", name, err)
	}
	return info, nil
}

// Readlink returns the target of the symbolic link name.
func (d *Dir) Readlink(name string) (string, Info, error) {
	at, err := d.hold(name)
	if err != nil {
		return "", Info{}, err
	}
	defer at.close()
	if err := d.opt.judgeLink(name, at.info); err != nil {
		return "", Info{}, err
	}
	target := make([]byte, unix.PathMax)
	n, err := retry(func() (int, error) { return unix.Readlinkat(at.fd, "", target) })
	if err != nil {
		return "", Info{}, failed("readlink", name, err)
	}
	return string(target[:n]), at.info, nil
}

// Info is what fstat said of the directory when it was opened.
func (d *Dir) Info() Info { return d.at.info }

// ByHand reports whether openat2 was missing, so that names are resolved with openat.
func (d *Dir) ByHand() bool { return d.opt.byHand }

// Same returns nil if the path that was given to OpenDir still names this directory. If not, what was read from d is
// not what stands there now, and the refusal's reason is InFlux.
func (d *Dir) Same() error {
	if !d.top {
		return errors.New("compare directory: it was not opened by a path of its own")
	}
	now, err := OpenDir(d.name, d.opt)
	if err != nil {
		if _, refused := errors.AsType[*RefusedError](err); refused {
			return refuse(d.name, InFlux, fmt.Sprintf("it was replaced while it was read; now %v", err))
		}
		return err
	}
	defer now.Close()
	if !now.at.info.sameFile(d.at.info) {
		return refuse(d.name, InFlux, "another directory took its place while it was read")
	}
	return nil
}

// Close closes the directory. What was opened from it stays open.
func (d *Dir) Close() error {
	if d.at.fd < 0 {
		return fs.ErrClosed
	}
	fd := d.at.fd
	d.at.fd = -1
	return unix.Close(fd)
}

// find returns the directory that holds the last component of name.
func (d *Dir) find(name string) (place, error) {
	if err := ValidName(name); err != nil {
		return place{}, err
	}
	return d.opt.find(place{fd: d.at.fd, info: d.at.info, borrowed: true}, name, inTree)
}

// hold returns the thing itself that name means.
func (d *Dir) hold(name string) (place, error) {
	in, err := d.find(name)
	if err != nil {
		return place{}, err
	}
	defer in.close()
	return d.opt.hold(in, name, inTree)
}
