package systemd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gatehouse/manifest"
)

// maxMounts is how many bytes a process may have to say of its mounts: those of a host with a thousand containers fit.
const maxMounts = 4 << 20

// A mount is a line of /proc/PID/mountinfo.
type mount struct {
	id, parent    int
	device, root  string // what is mounted: a file system, and the path in it
	point         string
	kind, options string // of the file system
}

// readMounts reads the mounts that a process sees. What cannot be parsed is an error: the kernel writes it.
func readMounts(path string) ([]mount, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMounts+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxMounts {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxMounts)
	}
	var mounts []mount
	for line := range strings.Lines(string(data)) {
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		front, back := strings.Split(before, " "), strings.Split(after, " ")
		if !ok || len(front) < 6 || len(back) < 3 {
			return nil, fmt.Errorf("%s has the line %.100q", path, line)
		}
		m := mount{device: front[2], root: unescape(front[3]), point: unescape(front[4]), kind: back[0], options: back[len(back)-1]}
		var err error
		if m.id, err = strconv.Atoi(front[0]); err == nil {
			m.parent, err = strconv.Atoi(front[1])
		}
		if err != nil {
			return nil, fmt.Errorf("%s has the line %.100q", path, line)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// unescape undoes what the kernel does to spaces, tabs, newlines and backslashes.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(text)
}

// found says which directory of which file system a path leads to: as the kernel walks it, so that a mount under another
// one does not count. It is "" where the mounts do not say, as for a process in a chroot.
func found(mounts []mount, path string) string {
	at := slices.IndexFunc(mounts, func(m mount) bool {
		return m.point == "/" && !slices.ContainsFunc(mounts, func(other mount) bool { return other.id == m.parent && other.point == "/" })
	})
	if at < 0 {
		return ""
	}
	ways := []string{"/"}
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			ways = append(ways, path[:i])
		}
	}
	for _, way := range ways {
		for steps := 0; steps < len(mounts); steps++ {
			next := slices.IndexFunc(mounts, func(m mount) bool { return m.parent == mounts[at].id && m.id != m.parent && m.point == way })
			if next < 0 {
				break
			}
			at = next
		}
	}
	m := &mounts[at]
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(m.point, "/"))
	if !ok {
		return ""
	}
	return m.device + ":" + filepath.Join(m.root, below)
}

// differ returns a place at or below root where the one sees something else than the other.
func differ(ours, theirs []mount, root string) (place string, different bool) {
	places := []string{root}
	for _, m := range theirs {
		if strings.HasPrefix(m.point, root+"/") {
			places = append(places, m.point)
		}
	}
	for _, place := range places {
		if here := found(ours, place); here != found(theirs, place) {
			return place, true
		}
	}
	return "", false
}

// ended reports whether a process that has nothing left to be looked at has no thread but the first either: it waits to be
// collected.
func (c *Checker) ended(pid int) bool {
	threads, err := os.ReadDir(filepath.Join(c.procDir(), strconv.Itoa(pid), "task"))
	return gone(err) || err == nil && len(threads) <= 1
}

// findView looks whether all members see at the live roots what root has hashed there. Sandboxing that only shows less
// of a host, or shows it read-only, mounts the same directories again and makes no difference here. A process that left
// such a place, or reads elsewhere, is not noticed.
func (c *Checker) findView(f *facts, source manifest.Source) error {
	ours, err := readMounts(filepath.Join(c.procDir(), "self/mountinfo"))
	if err != nil {
		return err
	}
	used := f.files.roots()
	for i := range f.members {
		p := &f.members[i]
		theirs, err := readMounts(filepath.Join(c.procDir(), strconv.Itoa(p.pid), "mountinfo"))
		if errors.Is(err, unix.EINVAL) && p.thread != 0 { // the first thread has ended
			theirs, err = readMounts(filepath.Join(c.procDir(), strconv.Itoa(p.thread), "mountinfo"))
		}
		if gone(err) || errors.Is(err, unix.EINVAL) && c.ended(p.pid) {
			continue
		}
		if err != nil {
			f.view = fmt.Sprintf("what process %d sees at the live files is not known: %v", p.pid, err)
			return nil
		}
		for _, live := range source.Live {
			if !used[live.Name] {
				continue
			}
			if place, different := differ(ours, theirs, filepath.Clean(live.Root)); different {
				f.view = fmt.Sprintf("process %d sees something else at %.200q than what lies there for others: it has a root or mounts of its own", p.pid, place)
				return nil
			}
		}
	}
	return nil
}
