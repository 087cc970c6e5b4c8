package safefs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A Reason is the kind of a refusal, for programs.
type Reason string

// The reasons.
const (
	Name         Reason = "name"          // not a name that ValidName accepts
	Missing      Reason = "missing"       // nothing has this name; errors.Is(err, fs.ErrNotExist) too
	Symlink      Reason = "symlink"       // a symbolic link, at the end or on the way
	NotSymlink   Reason = "not-symlink"   // no symbolic link, where one was to be read
	Directory    Reason = "directory"     // a directory, where a file was to be read
	NotDirectory Reason = "not-directory" // a file, where a directory is needed
	Special      Reason = "special"       // FIFO, socket or device
	Owner        Reason = "owner"         // owned by nobody who is believed
	Links        Reason = "links"         // a file or link with more than one hard link
	Writable     Reason = "writable"      // a directory that everybody may write to
	ACL          Reason = "acl"           // a POSIX ACL
	Capability   Reason = "capability"    // a file capability
	Mount        Reason = "mount"         // a mount point in the tree
	Size         Reason = "size"          // more bytes, or more names, than may be read
	Busy         Reason = "busy"          // the owner holds a lease; it has now been asked to let go of it
	InFlux       Reason = "in-flux"       // changed while it was read
	Unreadable   Reason = "unreadable"    // the kernel or the disk says no
)

// A RefusedError says what was not opened or read, and why. All that a tree's owner can cause comes as one of these;
// other errors are faults of this process or machine.
type RefusedError struct {
	Name   string // as the caller gave it, or the part of it that was refused
	Reason Reason
	Hint   string // what it is about and, where there is one, the way out
	Err    error  // from the kernel, if it was the kernel who refused
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%q is refused (%s): %s", e.Name, e.Reason, e.Hint)
}

func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(name string, reason Reason, hint string) error {
	return &RefusedError{Name: name, Reason: reason, Hint: hint}
}

// failed says what the failure of a system call on something in the tree means.
func failed(op, name string, err error) error {
	refused := func(reason Reason, hint string) error {
		return &RefusedError{Name: name, Reason: reason, Hint: hint, Err: err}
	}
	switch err {
	case unix.ENOENT:
		return refused(Missing, "there is no such file or directory")
	case unix.ELOOP:
		return refused(Symlink, symlinkHint)
	case unix.EXDEV:
		return refused(Mount, "a file system is mounted there; unmount it or exclude the directory")
	case unix.EAGAIN:
		return refused(Busy, "its owner holds a lease on it and has been asked to let go; try again in a minute")
	case unix.ENXIO, unix.ENODEV:
		return refused(Special, specialHint)
	case unix.ENAMETOOLONG:
		return refused(Name, "the file system does not take a name of this length")
	case unix.EACCES, unix.EPERM:
		return refused(Unreadable, "permission denied; make it readable for the user who reads it here, or exclude it")
	}
	if brokenDisk(err) {
		return refused(Unreadable, fmt.Sprintf("%s: %v", op, err))
	}
	return fmt.Errorf("%s %q: %w", op, name, err)
}
