package safefs

import (
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
		major, minor uint32
		want         string
	}{
		{254, 1, ""}, {0, 50, "12345"}, {0, 51, ""}, {8, 17, "23456"}, {0, 52, "1"}, {0, 53, ""}, {0, 54, ""}, {0, 99, ""},
	} {
		got, err := fuseUser(strings.NewReader(mountinfo), unix.Mkdev(tt.major, tt.minor))
		if err != nil || got != tt.want {
			t.Errorf("%d:%d: got %q, %v, want %q", tt.major, tt.minor, got, err, tt.want)
		}
	}
	for _, bad := range []string{"x\n", "\n", "1 2 0:5 / / rw - fuse\n", strings.Repeat("x", 2<<20)} {
		if got, err := fuseUser(strings.NewReader(bad), unix.Mkdev(0, 5)); err == nil {
			t.Errorf("%.20q: got %q, want an error", bad, got)
		}
	}
}
