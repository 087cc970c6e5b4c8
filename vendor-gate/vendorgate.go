// Package vendorgate keeps the accepted copy of a gate in a git repository: it reads the copy, and commits a new one
// without touching anything else that the repository holds.
//
// A gate lies in `<vendored>/<gate>/`: the bytes of its regular files under files/, named by manifest.EscapePath, and
// manifest.json beside them. The files in git decide what the content is; manifest.json adds what git cannot hold: exact
// mode bits, directories and links. So a reviewer may edit, add or remove files under files/ with plain git and leave
// manifest.json alone. Read then returns the digests of the blobs. A file that manifest.json does not list has the mode
// 0644 or 0755 by its executable bit in git; where that bit and the listed mode disagree, the bit is what was edited; a
// listed file without a blob is gone, a listed directory stays. Other names in the gate's directory (a README, say) are
// nobody's business here and survive every commit.
//
// Commit works in this order, and everything up to the move of the branch leaves the repository as it was:
//
//	lock      our own lock; finish what an earlier run left; git's index.lock
//	check     the branch still has the commit that was compared, and nothing that somebody staged or edited would be lost
//	write     blobs, trees and the commit, without filters, attributes, ignore rules or hooks; flushed to the disk
//	verify    the new commit, read back from the disk, differs in the gate only and holds the accepted bytes
//	move      the branch, by compare-and-swap under git's lock, with its reflog
//	refresh   the work tree, then the index, for the paths that changed
//	confirm   the objects are all still there, now that the commit counts
//
// A process that is killed after the move leaves a commit whose index and work tree look older. Finish, or the next
// Commit, brings them up to date from a note of intent that was written before the move. Only what still is as the old
// commit had it is refreshed.
//
// Locks of git's are taken as second links to files in .git/gatehouse. That makes a lock that a killed run left provably
// ours, since no other file can be the same inode, and no other lock is ever removed. Two processes of ours are kept
// apart by a lock file in the same directory.
//
// The index is not rewritten by go-git, which loses flags, the cache tree and the order of conflicts. Every entry of
// another path is copied byte for byte, and the file keeps its modification time, because git tells by it which entries
// it has to look at again. The files that Commit writes get a time just before that one: git then takes them as they
// are and does not run the operator's filters over them.
//
// vendorgate knows manifest and durable, and of go-git the object storage. It runs no git. It does run the signing
// program that the repository's own configuration names, which is why a repository that others can write is refused.
package vendorgate

import (
	"errors"
	"io"
	"time"

	"gatehouse/manifest"
)

// The reasons for which the repository was left as it is. The error that wraps one of them says what helps.
var (
	ErrDetached   = errors.New("HEAD is detached")
	ErrInProgress = errors.New("another operation of git is in progress")
	ErrMoved      = errors.New("the branch has moved")
	ErrLocked     = errors.New("locked")
	ErrDirty      = errors.New("changes that are not committed would be lost")
	ErrUnchanged  = errors.New("the commit would change nothing")
)

// An Identity is who made a commit.
type Identity struct{ Name, Email string }

// A Change is one acceptance, to be committed.
type Change struct {
	Gate       string
	Parent     Head // the commit that Generation was compared with
	Generation *manifest.Generation
	// Content opens the bytes of a file of Generation: once to work out what the commit will be, and once to write them.
	// It is not called for bytes that the parent has.
	Content  func(manifest.Entry) (io.ReadCloser, error)
	Subject  string
	Body     string // paragraphs, or empty
	Trailers [][2]string
	Author   Identity  // as git is configured, where it has no name
	When     time.Time // its zone goes into the commit
}

// What is a gate's in its directory.
const (
	manifestName = "manifest.json"
	filesName    = "files"
)
