package safefs

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	symlinkHint = "it is a symbolic link, and links are not followed here; name what it points to, or put that in its place"
	specialHint = "it is a FIFO, a socket or a device; remove or exclude it"
)

// judgeParent judges a directory on the way to a tree.
func (o *Options) judgeParent(name string, i Info) error {
	if i.Mode&unix.S_ISVTX != 0 {
		i.Mode &^= unix.S_IWOTH
	}
	return o.judgeDir(name, i)
}

// judgeDir judges the directory of a tree, or one in it.
func (o *Options) judgeDir(name string, i Info) error {
	switch {
	case i.Type != TypeDir:
		return wrongType(name, i, NotDirectory, "it is no directory")
	case !o.believes(i.UID):
		return foreign(name, i)
	case i.Mode&unix.S_IWOTH != 0:
		return refuse(name, Writable, "everybody may write to this directory; chmod o-w it")
	}
	return nil
}

// judgeFile judges a file that is to be read.
func (o *Options) judgeFile(name string, i Info) error {
	switch {
	case i.Type != TypeFile:
		return wrongType(name, i, Directory, "it is a directory where a file is expected")
	case !o.believes(i.UID):
		return foreign(name, i)
	case i.Nlink != 1:
		return wrongLinks(name, i)
	case i.Size > o.MaxFile || o.MaxFile <= 0:
		return refuse(name, Size, fmt.Sprintf("it has %d bytes, and a file may have %d", i.Size, o.MaxFile))
	}
	return nil
}

// judgeLink judges a symbolic link whose target is to be read.
func (o *Options) judgeLink(name string, i Info) error {
	switch {
	case i.Type != TypeSymlink:
		return refuse(name, NotSymlink, "it is no symbolic link")
	case !o.believes(i.UID):
		return foreign(name, i)
	case i.Nlink != 1:
		return wrongLinks(name, i)
	}
	return nil
}

// judgeAttributes refuses what grants more than the mode shows. Other extended attributes, such as security.selinux,
// grant nothing.
func judgeAttributes(name string, fd int) error {
	list, err := listAttributes(fd)
	switch {
	case err == unix.ENOTSUP:
		return nil
	case err != nil:
		return failed("list attributes of", name, err)
	}
	for rest := list; len(rest) > 0; {
		var attr []byte
		attr, rest, _ = bytes.Cut(rest, []byte{0})
		switch string(attr) {
		case "system.posix_acl_access", "system.posix_acl_default":
			return refuse(name, ACL, "it has a POSIX ACL; remove it with setfacl -b")
		case "security.capability":
			return refuse(name, Capability, "it has a file capability; remove it with setcap -r")
		}
	}
	return nil
}

func (o *Options) believes(uid uint32) bool { return uid == 0 || slices.Contains(o.Owners, uid) }

func foreign(name string, i Info) error {
	hint := fmt.Sprintf("it belongs to uid %d, whose files are not believed here; chown or exclude it", i.UID)
	return refuse(name, Owner, hint)
}

// wrongType refuses what a person would call by its name, or else for the reason given.
func wrongType(name string, i Info, reason Reason, hint string) error {
	switch i.Type {
	case TypeSymlink:
		return refuse(name, Symlink, symlinkHint)
	case TypeSpecial:
		return refuse(name, Special, specialHint)
	default:
		return refuse(name, reason, hint)
	}
}

func wrongLinks(name string, i Info) error {
	if i.Nlink == 0 {
		return refuse(name, InFlux, "it was removed while it was opened")
	}
	return refuse(name, Links, fmt.Sprintf("it has %d hard links; install it by copy, or exclude it", i.Nlink))
}
