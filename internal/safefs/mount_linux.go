package safefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// judgeMount refuses a directory on the way to a tree, held by fd, if it lies on a FUSE file system that a user mounted:
// each call on such a one waits until that user's process answers. So the file system itself is not asked what it is.
func judgeMount(name string, fd int) error {
	mount, err := mountOf(fd)
	if err != nil {
		return failed("look at", name, err)
	}
	mountinfo, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return fmt.Errorf("judge mount %q: %w", name, err)
	}
	defer mountinfo.Close()
	user, err := mount.fuseUser(mountinfo)
	switch {
	case err == errNoMount:
		return refuse(name, InFlux, "it was unmounted while it was looked at")
	case err != nil:
		return fmt.Errorf("judge mount %q: %w", name, err)
	case user != "":
		return refuse(name, Mount, fmt.Sprintf("uid %s mounted a FUSE file system there; unmount it", user))
	}
	return nil
}

// A mount is known by its id or, before Linux 5.8, by its device.
type mount struct {
	id     uint64 // 0 if it is not known
	device string
}

func mountOf(fd int) (mount, error) {
	var st unix.Statx_t
	_, err := retry(func() (int, error) {
		return 0, unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	})
	m := mount{device: fmt.Sprintf("%d:%d", st.Dev_major, st.Dev_minor)}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		m.id = st.Mnt_id
	}
	return m, err
}

var errNoMount = errors.New("no such mount")

// fuseUser returns the uid of the user who mounted m, or "" if it is no FUSE file system, or root's.
func (m mount) fuseUser(mountinfo io.Reader) (string, error) {
	lines := bufio.NewScanner(mountinfo)
	lines.Buffer(nil, 1<<20)
	found := m.id == 0 // devices do not name every mount: btrfs has some of its own
	for lines.Scan() {
		// 36 35 98:0 /root /mount/point options [optional fields] - type source options-of-the-file-system
		left, right, _ := strings.Cut(lines.Text(), " - ")
		place, system := strings.Split(left, " "), strings.Split(right, " ") // the source may be empty
		if len(place) < 3 || len(system) < 3 {
			return "", fmt.Errorf("unknown line %q", lines.Text())
		}
		if m.id != 0 && place[0] != strconv.FormatUint(m.id, 10) || m.id == 0 && place[2] != m.device {
			continue
		}
		found = true
		if kind, _, _ := strings.Cut(system[0], "."); kind != "fuse" && kind != "fuseblk" {
			continue
		}
		for option := range strings.SplitSeq(system[2], ",") {
			if user, ok := strings.CutPrefix(option, "user_id="); ok && user != "0" {
				return user, nil
			}
		}
	}
	if err := lines.Err(); err != nil || found {
		return "", err
	}
	return "", errNoMount
}
