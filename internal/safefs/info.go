package safefs

import (
	"time"

	"golang.org/x/sys/unix"
)

// A Type is the kind of thing that a name means. The zero Type is none.
type Type string

// The types. A special file is a FIFO, a socket, a device, or what a later kernel may invent.
const (
	TypeFile    Type = "file"
	TypeDir     Type = "dir"
	TypeSymlink Type = "symlink"
	TypeSpecial Type = "special"
)

// Info is what fstat says of a thing. Two Infos of one file are equal (==) unless something changed; times are UTC.
type Info struct {
	Type            Type
	Mode            uint32 // permission, setuid, setgid and sticky bits: at most 07777
	UID, GID        uint32
	Size            int64
	MTime, CTime    time.Time
	Dev, Ino, Nlink uint64
}

func (i Info) sameFile(j Info) bool { return i.Dev == j.Dev && i.Ino == j.Ino }

func typeOf(mode uint32) Type {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return TypeFile
	case unix.S_IFDIR:
		return TypeDir
	case unix.S_IFLNK:
		return TypeSymlink
	default:
		return TypeSpecial
	}
}
