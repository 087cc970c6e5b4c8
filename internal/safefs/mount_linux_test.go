//go:build linux

package safefs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFUSEUser(t *testing.T) {
	const mountinfo = `22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
28 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
40 28 0:50 / /home/agent/a\040b rw,nosuid,nodev shared:30 master:2 - fuse.sshfs host:/ rw,user_id=12345,group_id=12345
41 28 0:51 / /srv/pool rw - fuse.mergerfs pool rw,user_id=0,group_id=0,allow_other
42 28 8:17 / /media/usb rw - fuseblk /dev/sdb1 rw,user_id=23456,group_id=0,blksize=4096
43 28 0:52 / /home/agent/- rw - fuse /dev/fuse rw,user_id=1,group_id=0
44 28 0:53 / /mnt rw - tmpfs  rw,user_id=7
45 28 0:54 / /a rw - fusectl none rw,user_id=7
`
	for _, tt := range []struct {
		what  string
		mount mount
		want  string
		err   error
	}{
		{what: "root's ext4", mount: mount{28, "254:1"}},
		{what: "sshfs", mount: mount{40, "0:50"}, want: "12345"},
		{what: "root's mergerfs", mount: mount{41, "0:51"}},
		{what: "device that holds FUSE", mount: mount{42, "8:17"}, want: "23456"},
		{what: "name like a separator", mount: mount{43, "0:52"}, want: "1"},
		{what: "no source", mount: mount{44, "0:53"}},
		{what: "not quite FUSE", mount: mount{45, "0:54"}},
		{what: "other mount of that device", mount: mount{28, "0:50"}},
		{what: "btrfs, with a device of its own", mount: mount{28, "0:99"}},
		{what: "mount that is gone", mount: mount{99, "254:1"}, err: errNoMount},
		{what: "old kernel, sshfs", mount: mount{0, "0:50"}, want: "12345"},
		{what: "old kernel, ext4", mount: mount{0, "254:1"}},
		{what: "old kernel, unknown device", mount: mount{0, "0:99"}},
	} {
		if got, err := tt.mount.fuseUser(strings.NewReader(mountinfo)); err != tt.err || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.what, got, err, tt.want, tt.err)
		}
	}
	for _, bad := range []string{"x\n", "\n", "1 2 0:5 / / rw - fuse\n", strings.Repeat("x", 2<<20)} {
		if got, err := (mount{1, "0:5"}).fuseUser(strings.NewReader(bad)); err == nil || err == errNoMount {
			t.Errorf("%.20q: got %q, %v, want an error about the line", bad, got, err)
		}
	}
}

func TestMountOf(t *testing.T) {
	var st unix.Stat_t
	fd, err := unix.Open("/proc", unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Fstat(fd, &st))
	m, err := mountOf(fd)
	must(t, err)
	if want := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)); m.device != want {
		t.Errorf("device %s, want %s", m.device, want)
	}
	mountinfo, err := os.ReadFile("/proc/thread-self/mountinfo")
	must(t, err)
	if m.id != 0 && !strings.Contains("\n"+string(mountinfo), fmt.Sprintf("\n%d ", m.id)) {
		t.Errorf("there is no mount %d in\n%s", m.id, mountinfo)
	}
}
