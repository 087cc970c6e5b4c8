package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/config"
	"gatehouse/internal/durable"
)

// stride is 1: a crash test visits each place. Where time is short, $GATEHOUSE_HURRY has it visit every third.
var stride = map[bool]int{false: 1, true: 3}[os.Getenv("GATEHOUSE_HURRY") != ""]

// TestInstallGoesOnWhereItWasCutShort breaks an installation at each change of a file, once before the change took
// place and once after it. The next run has to do the rest, and the one after it nothing.
func TestInstallGoesOnWhereItWasCutShort(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: installs below /etc, /usr/local, /var/lib and /srv of its own namespace")
	}
	t.Cleanup(func() { clean(t) })
	from := t.TempDir()
	for _, name := range []string{"warden", "gate"} {
		write(t, filepath.Join(from, name), "#!/bin/true\n", 0o755)
	}
	errCut := errors.New("cut short")
	for _, after := range []bool{false, true} {
		with := systemctl{path: "/bin/true"} // it says nothing and does nothing
		if after {
			with = systemctl{} // no units this time: they are written as all files are, and take their time
		}
		for n, cut := 0, true; cut; n += stride {
			clean(t)
			step := 0
			cut = false
			broken := durable.Disk{Around: func(_ durable.Step, change func() error) error {
				if step++; step <= n {
					return change()
				}
				cut = true
				if after {
					return errors.Join(change(), errCut)
				}
				return errCut
			}}
			err := install(t, from, broken, with)
			if cut != errors.Is(err, errCut) {
				t.Fatalf("cut at change %d: %v", n, err)
			}
			if err := install(t, from, durable.Disk{}, with); err != nil {
				t.Fatalf("cut at change %d (after it: %t), then: %v", n, after, err)
			}
			if left := planned(t, from, with); len(left) > 0 {
				t.Fatalf("cut at change %d (after it: %t), then installed, and still to do: %q", n, after, left)
			}
			if !cut && n < 15 {
				t.Errorf("only %d changes were made", n)
			}
		}
	}
}

// prepare makes the installation that the tests break.
func prepare(t *testing.T, from string, disk durable.Disk, with systemctl) *installation {
	t.Helper()
	in := &installation{
		globals: &globals{streams: quiet(), config: config.DefaultPath}, disk: disk, path: config.DefaultPath,
		programs: programs{warden: "/usr/local/bin/warden", gate: "/usr/local/bin/gate",
			fromWarden: filepath.Join(from, "warden"), fromGate: filepath.Join(from, "gate")},
		systemctl: with,
	}
	var err error
	if in.config, err = config.Load(in.path); err != nil {
		in.text, in.config, err = gateOptions{name: "claude", user: agentName, live: []string{"policy=" + from},
			repository: "/srv/gate"}.write(in.path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if in.users, err = accounts(in.config); err != nil {
		t.Fatal(err)
	}
	return in
}

func install(t *testing.T, from string, disk durable.Disk, with systemctl) error {
	t.Helper()
	in := prepare(t, from, disk, with)
	p, err := in.plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.carryOut(t.Context(), in.globals.streams.Out)
}

func TestAHostWithoutSystemdIsToldTheLinesForCron(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: installs below /etc, /usr/local, /var/lib and /srv of its own namespace")
	}
	t.Cleanup(func() { clean(t) })
	clean(t)
	in := prepare(t, t.TempDir(), durable.Disk{}, systemctl{})
	in.epilogue()
	said := in.globals.streams.Out.(*bytes.Buffer).String()
	for _, want := range []string{"0 * * * *  " + agentName + "  /usr/local/bin/gate publish --quiet claude\n",
		"5 * * * *  root  /usr/local/bin/warden reconcile --quiet --exit-zero\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "hourly") {
		t.Errorf("it promises what nothing keeps:\n%s", said)
	}
}

// planned lists what is left to do but for what systemctl is told.
func planned(t *testing.T, from string, with systemctl) []string {
	t.Helper()
	p, err := prepare(t, from, durable.Disk{}, with).plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, s := range p.steps {
		if !strings.HasPrefix(s.what, "systemctl ") {
			left = append(left, s.what)
		}
	}
	return append(left, p.kept...)
}

// clean takes away what an installation makes, in the namespace of the tests.
func clean(t *testing.T) {
	t.Helper()
	if os.Getenv("GATEHOUSE_TEST_NAMESPACE") == "" {
		t.Fatal("this is not the namespace of the tests")
	}
	units, err := filepath.Glob("/etc/systemd/system/gatehouse-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(units, "/etc/gatehouse", "/var/lib/gatehouse", "/var/lib/gatehouse-export", "/srv/gate",
		"/usr/local/bin/warden", "/usr/local/bin/gate") {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyRootsSeesWhoElseCouldChangeAFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files away")
	}
	// Below a directory of root's that is not sticky; what others own in it is what the rows are about.
	const base = "/srv/roots"
	t.Cleanup(func() { os.RemoveAll(base) })
	for path, mode := range map[string]os.FileMode{"ours": 0o755, "theirs": 0o755, "shared": 0o775, "public": 0o777, "tmp": 0o777 | os.ModeSticky} {
		path = filepath.Join(base, path)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(path, "file"), "", 0o755)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chown := func(path string, uid, gid int) {
		if err := os.Lchown(filepath.Join(base, path), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, path string) {
		if err := os.Symlink(target, filepath.Join(base, path)); err != nil {
			t.Fatal(err)
		}
	}
	chown("theirs", agentID, agentID)
	chown("shared", 0, agentID)
	write(t, base+"/ours/given", "", 0o755)
	chown("ours/given", agentID, agentID)
	link("../theirs/file", "ours/out")
	link("../ours/file", "ours/in")
	link(base+"/ours/file", "theirs/in")
	for path, want := range map[string]string{
		"ours/file": "", "ours/in": "", "ours/not/there": "", "tmp/file": "",
		"ours/given": "belongs to uid 31337", "theirs/file": "theirs belongs to", "theirs/not/there": "theirs belongs to",
		"ours/out": "theirs belongs to", "theirs/in": "theirs belongs to", "shared/file": "group 31337 can write",
		"public/file": "everybody can write",
	} {
		err := onlyRoots(filepath.Join(base, path))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestTheNewConfigurationSaysWhatWasAskedFor(t *testing.T) {
	for name, o := range map[string]gateOptions{
		"plain":          {name: "claude", user: "agent", live: []string{"policy=/home/agent/policy"}, repository: "/srv/gate"},
		"several roots":  {name: "a", user: "agent", live: []string{"policy=/a", "plugin=/b"}, repository: "/srv/gate"},
		"odd characters": {name: "on", user: "1000", live: []string{`policy=/home/a: {b}/"c' #d`}, repository: "/srv/größe und so"},
		"our own words":  {name: "gate", user: "USER", live: []string{"policy=/LIVE"}, repository: "/GATE"},
	} {
		_, c, err := o.write("warden.yaml")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		g := c.Gates[0]
		var live []string
		for _, l := range g.Live {
			live = append(live, l.Name+"="+l.Root)
		}
		if g.Name != o.name || g.User != o.user || c.Repository != o.repository || strings.Join(live, "\n") != strings.Join(o.live, "\n") {
			t.Errorf("%s: got %s, %s, %s, %q", name, g.Name, g.User, c.Repository, live)
		}
		if err := o.fits("warden.yaml", c); err != nil {
			t.Errorf("%s: the same words do not fit what they made: %v", name, err)
		}
	}
}
