package safefs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// judgeMount refuses a directory on the way to a tree if it lies on a FUSE file system that a user mounted: each call
// on such a one waits until that user's process answers. So the file system itself is not asked what it is.
func judgeMount(name string, dev uint64) error {
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return fmt.Errorf("judge mount %q: %w", name, err)
	}
	defer f.Close()
	user, err := fuseUser(f, dev)
	if err != nil {
		return fmt.Errorf("judge mount %q: %w", name, err)
	}
	if user != "" {
		return refuse(name, Mount, fmt.Sprintf("uid %s mounted a FUSE file system there; unmount it", user))
	}
	return nil
}

// fuseUser returns the uid of the user who mounted the FUSE file system dev, or "" if it is none, or root's.
func fuseUser(mountinfo io.Reader, dev uint64) (string, error) {
	device := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	lines := bufio.NewScanner(mountinfo)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// 36 35 98:0 /root /mount/point options [optional fields] - type source options-of-the-file-system
		mount, system, _ := strings.Cut(lines.Text(), " - ")
		fields, about := strings.Split(mount, " "), strings.Split(system, " ") // the source may be empty
		if len(fields) < 3 || len(about) < 3 {
			return "", fmt.Errorf("unknown line %q", lines.Text())
		}
		if fields[2] != device || about[0] != "fuse" && about[0] != "fuseblk" && !strings.HasPrefix(about[0], "fuse.") {
			continue
		}
		for option := range strings.SplitSeq(about[2], ",") {
			if user, ok := strings.CutPrefix(option, "user_id="); ok && user != "0" {
				return user, nil
			}
		}
	}
	return "", lines.Err()
}
