package gate

import (
	"context"
	"io/fs"
	"path"
	"strings"
)

const maxLinks = 40 // as the kernel has it

// A spot is where a path leads.
type spot struct {
	real   string // with every symbolic link followed; what does not exist is kept as it is written
	exists bool
	dir    bool
	runs   bool // a regular file that somebody may execute
	lost   bool // too many links, or a way through /proc: nobody can say where it leads
}

// A view is the disk as one request finds it. What was looked up once is not looked up again.
type view struct {
	ctx    context.Context // its end ends every search
	budget *budget
	disk   Disk
	spots  map[string]spot
	links  map[string]string // links that are not there yet, and what they lead to
	// straight is a directory that is there, and neither it nor one above it is a link; "": none is known.
	straight string
}

// at follows an absolute, clean path.
func (v *view) at(p string) spot {
	if p == "/" {
		return spot{real: "/", exists: true, dir: true}
	}
	if v.straight != "" && within(v.straight, p) {
		return spot{real: p, exists: true, dir: true}
	}
	if s, ok := v.spots[p]; ok {
		return s
	}
	if len(p) > maxPath || !v.budget.spend(1) {
		return spot{real: p, exists: true, lost: true}
	}
	slash := strings.LastIndexByte(p, '/')
	s := v.in(v.at(p[:max(slash, 1)]), p, p[slash+1:])
	if v.spots == nil {
		v.spots = make(map[string]spot)
	}
	v.spots[p] = s
	return s
}

const maxPath = 4096 // as the kernel has it

// enter looks at a directory and all above it at once, since most of what is asked about is there.
func (v *view) enter(dir string) {
	if !strings.HasPrefix(dir, "/proc/") && v.disk.Straight(dir) {
		v.straight = dir
	}
}

// in follows the last part of the path p, whose directory leads to the spot dir.
func (v *view) in(dir spot, p, name string) spot {
	if dir.lost {
		return dir
	}
	if dir.real == "/" {
		p = "/" + name
	} else if len(dir.real)+1+len(name) != len(p) || p[:len(dir.real)] != dir.real {
		p = dir.real + "/" + name
	}
	switch {
	case magic(p):
		return spot{real: p, exists: true, lost: true}
	case v.links[p] != "":
		return v.follow(dir.real, v.links[p])
	case !dir.exists:
		return spot{real: p}
	}
	info, err := v.disk.Lstat(p)
	if err != nil {
		return spot{real: p}
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return found(p, info.Mode())
	}
	to, err := v.disk.Readlink(p)
	if err != nil {
		return spot{real: p, exists: true, lost: true}
	}
	return v.follow(dir.real, to)
}

// follow walks from the directory base, which has no links in it, along a path that may have any parts, as the kernel
// does: two dots lead to the parent of where the link before them led.
func (v *view) follow(base, p string) spot {
	if strings.HasPrefix(p, "/") {
		base = "/"
	}
	at := spot{real: base, exists: true, dir: true}
	if len(p) > maxPath || !v.budget.spend(1+len(p)/16) {
		return spot{real: path.Join(base, p), exists: true, lost: true}
	}
	links := 0
	rest := p
	lead := func(to string) {
		if strings.HasPrefix(to, "/") {
			at.real = "/"
		}
		rest = to + "/" + rest
	}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			at.real, at.runs = path.Dir(at.real), false
			continue
		}
		next := path.Join(at.real, part)
		if magic(next) {
			return spot{real: path.Join(next, rest), exists: true, lost: true}
		}
		if to := v.links[next]; to != "" {
			if links++; links > maxLinks {
				return spot{real: path.Join(next, rest), exists: true, lost: true}
			}
			lead(to)
			continue
		}
		if !at.exists {
			at.real = next
			continue
		}
		info, err := v.disk.Lstat(next)
		switch {
		case err != nil:
			at = spot{real: next}
		case info.Mode()&fs.ModeSymlink != 0:
			links++
			to, err := v.disk.Readlink(next)
			if err != nil || links > maxLinks {
				return spot{real: path.Join(next, rest), exists: true, lost: true}
			}
			lead(to)
		default:
			at = found(next, info.Mode())
		}
	}
	return at
}

// found is the spot of something that is no link.
func found(p string, mode fs.FileMode) spot {
	return spot{real: p, exists: true, dir: mode.IsDir(), runs: mode.IsRegular() && mode.Perm()&0o111 != 0}
}

// magic reports whether a path is one of the links in /proc that lead to where some process has it: to another place for
// the gate than for the command.
func magic(p string) bool {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		switch part {
		case "cwd", "root", "exe", "fd", "map_files":
			return true
		}
	}
	return false
}

// stream reports whether a path names a stream of the process rather than a file.
func stream(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full", "/dev/random", "/dev/urandom":
		return true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if n, ok := strings.CutPrefix(p, dir); ok {
			return n != "" && strings.Trim(n, "0123456789") == ""
		}
	}
	return false
}

// within reports whether an absolute, clean path is a directory or below it.
func within(p, dir string) bool {
	return p == dir || below(p, dir)
}

// below reports whether an absolute, clean path is below a directory.
func below(p, dir string) bool {
	return dir == "/" && len(p) > 1 || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// passes say what a call passes over on its way through a tree. A nil function passes over nothing.
type passes struct {
	dir    func(p string) bool // neither it nor what is below
	file   func(p string) bool // not touched; what is below it may be
	links  links
	splits bool // the names of files are cut at blanks and quotes
}

// links say what a call does with the symbolic links that it meets on its way.
type links uint8

const (
	linksLead     links = iota // it may work on the file that one leads to
	linksStay                  // it works on the link itself, or on nothing
	linksFollowed              // it goes through the directories as well that they lead to
)

// find looks below the directory dir for a path that match takes, or for a link to one. ok is false if there was more than
// it may look at.
func (v *view) find(dir string, match func(p string) bool, over passes) (found string, ok bool) {
	left := maxWalk
	been := map[string]bool{dir: true}
	var walk func(dir string, depth int) (string, bool)
	walk = func(dir string, depth int) (string, bool) {
		if v.ctx.Err() != nil {
			return "", false
		}
		names, more, err := v.disk.List(dir, left)
		if !v.budget.spend(openCost + len(names)) {
			return "", false
		}
		if err != nil {
			return "", true // what the gate's user cannot list, the command cannot
		}
		left -= len(names)
		for _, n := range names {
			p := path.Join(dir, n.Name())
			link := n.Type()&fs.ModeSymlink != 0
			if (n.IsDir() || link) && over.dir != nil && over.dir(p) {
				continue
			}
			touched := over.file == nil || !over.file(p)
			if touched && match(p) {
				return p, true
			}
			down, below := p, n.IsDir()
			if link && over.links != linksStay {
				to := v.at(p)
				if touched && (match(to.real) || to.dir && match(to.real+"/\x00")) {
					return p, true
				}
				down, below = to.real, to.dir && over.links == linksFollowed && !been[to.real]
				been[down] = true
			}
			if !below {
				continue
			}
			if depth == 0 || left <= 0 {
				return "", false
			}
			if found, ok := walk(down, depth-1); found != "" || !ok {
				return found, ok
			}
		}
		return "", !more
	}
	return walk(dir, maxDepth)
}

const (
	maxWalk  = 50_000 // names that one search looks at
	maxDepth = 100
)
