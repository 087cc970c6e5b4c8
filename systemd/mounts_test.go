package systemd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hostMounts = `21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
23 21 8:2 / /home rw shared:1 - ext4 /dev/sda2 rw
24 21 0:30 / /tmp rw - tmpfs tmpfs rw
`

func TestWhatAProcessSees(t *testing.T) {
	dir := t.TempDir()
	mounts := func(name, text string) []mount {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := readMounts(path)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	host := mounts("host", hostMounts)
	const root = "/home/agent/plugin"
	// as systemd builds the view of a hardened service
	hardened := strings.NewReplacer("21 1 ", "91 90 ", "22 21 ", "92 91 ", "23 21 ", "93 91 ", "24 21 ", "94 91 ").Replace(hostMounts)
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"the same":                        {hostMounts, ""},
		"hardened":                        {hardened + "95 93 8:2 /agent /home/agent ro - ext4 /dev/sda2 rw\n96 94 0:31 /private /tmp rw - tmpfs tmpfs rw\n", ""},
		"a part of it read-only":          {hostMounts + "95 23 8:2 /agent/plugin/lib /home/agent/plugin/lib ro - ext4 /dev/sda2 rw\n", ""},
		"another directory there":         {hostMounts + "95 23 8:2 /agent/old /home/agent/plugin rw - ext4 /dev/sda2 rw\n", root},
		"another directory above":         {hostMounts + "95 23 0:40 / /home/agent rw - tmpfs tmpfs rw\n", root},
		"another file below":              {hostMounts + "95 23 8:2 /agent/x.js /home/agent/plugin/a.js rw - ext4 /dev/sda2 rw\n", root + "/a.js"},
		"no home":                         {hostMounts + "95 23 0:41 / /home ro - tmpfs tmpfs rw\n", root},
		"the same, hidden by another":     {hostMounts + "95 23 8:2 /agent/plugin /home/agent/plugin rw - ext4 /dev/sda2 rw\n96 23 0:42 / /home rw - tmpfs tmpfs rw\n", root},
		"another root":                    {"21 1 8:1 /srv/root / rw - ext4 /dev/sda1 rw\n", root},
		"a chroot, of which nothing says": {"23 21 8:2 / /x rw - ext4 /dev/sda2 rw\n", root},
		"nothing":                         {"", root},
		"a beginning that is the same":    {hostMounts + "95 23 0:43 / /home/agent/plugins rw - tmpfs tmpfs rw\n", ""},
	} {
		place, different := differ(host, mounts("theirs", c.text), root)
		if place != c.want || different != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, place, different, c.want)
		}
	}
	if m := mounts("odd", `1 0 0:1 /a\040b /c\134d rw - x y z`); m[0].root != "/a b" || m[0].point != `/c\d` {
		t.Errorf("%+v", m)
	}
	for _, text := range []string{"x\n", "1 0 0:1 / / rw - ext4\n", "a 0 0:1 / / rw - x y z\n"} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := readMounts(path); err == nil {
			t.Errorf("%q: %+v", text, m)
		}
	}
}
