package systemd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

func TestAProcessCannotForgeItsStart(t *testing.T) {
	stat := func(name string, flags int, state string, threads int) string {
		return fmt.Sprintf("137 (%s) %s 115 137 137 0 -1 %d 156 0 0 0 1 0 0 0 20 0 %d 0 1142022 2990080 389 1 94444085293056 94444085310985 140732706345008 0 0\n", name, state, flags, threads)
	}
	for name, c := range map[string]struct {
		text string
		want process
	}{
		"plain":                         {stat("sleep", 0x400000, "S", 1), process{parent: 115, ticks: 1142022}},
		"a name that looks like fields": {stat("x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 1 1", 0, "S", 1), process{parent: 115, ticks: 1142022}},
		"forked":                        {stat("x", 0x400040, "R", 1), process{parent: 115, ticks: 1142022, forked: true}},
		"a zombie":                      {stat("x", 0, "Z", 1), process{parent: 115, ticks: 1142022, dead: true}},
		"only its first thread ended":   {stat("x", 0, "Z", 3), process{parent: 115, ticks: 1142022}},
	} {
		c.want.image = "94444085293056-140732706345008"
		got, err := parseStat([]byte(c.text))
		if err != nil || !cmp.Equal(*got, c.want, cmp.AllowUnexported(process{})) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "1 x S", "1 (x) S 1 2 3", strings.Replace(stat("x", 0, "S", 1), "1142022", "soon", 1)} {
		if p, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

func TestControlGroups(t *testing.T) {
	got := groupPaths([]byte("9:name=systemd:/a\n4:memory:/b\n0::/user.slice/x.service (deleted)\n"))
	if diff := cmp.Diff([]string{"/a", "/user.slice/x.service"}, got); diff != "" {
		t.Error(diff)
	}
	const home = "/user.slice/user-1234.slice/user@1234.service"
	for group, want := range map[string][2]bool{ // of the system's a.service, of the user's
		"/system.slice/a.service":                       {true, false},
		"/system.slice/a.service/below":                 {true, false},
		"/a.slice/a-b.slice/_a.service":                 {true, false},
		"/system.slice/b.service/a.service":             {false, false},
		home + "/app.slice/a.service":                   {false, true},
		home + "/x/y/a.service/z":                       {false, true},
		home + "/app.slice/_a.service":                  {false, true},
		home + "2/a.service":                            {false, false},
		"/user.slice/user-1234.slice/s.scope/a.service": {false, false},
		home: {false, false},
		"/":  {false, false},
	} {
		if got := [2]bool{inSystemUnit(group, "a.service"), inUserUnit(group, home, "a.service")}; got != want {
			t.Errorf("%s: %v, want %v", group, got, want)
		}
	}
	if inUserUnit("/a.service", "", "a.service") {
		t.Error("without a manager everything is the user's")
	}
}

func TestOwnProcessIsSeenAsItIs(t *testing.T) {
	before, err := readClock()
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProcess("/proc", os.Getpid(), nil)
	if err != nil || p.pid != os.Getpid() || p.uid != uint32(os.Getuid()) || p.parent != os.Getppid() || p.forked || p.start() > before.boot || before.boot-p.start() > time.Hour {
		t.Errorf("%+v, %v at %v", p, err, before.boot)
	}
	if all, err := processes(t.Context(), "/proc", func(string) bool { return true }); err != nil || len(all) == 0 {
		t.Errorf("%d processes, %v", len(all), err)
	}
	if _, err := processes(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "ProtectProc") {
		t.Errorf("a /proc that hides the others: %v", err)
	}
}

func TestTheClocksAreReadAsOfOneMoment(t *testing.T) {
	const set = 1000 * time.Hour
	for pause := range 6 { // before this reading the machine has other things to do
		reads, now := 0, time.Hour
		c, err := readClockBy(func(id int32, at *unix.Timespec) error {
			if reads++; reads == pause {
				now += 5 * time.Second
			}
			moment := now
			if id == unix.CLOCK_REALTIME {
				moment += set
			}
			*at = unix.NsecToTimespec(int64(moment))
			return nil
		})
		if err != nil || c.mono != c.boot || c.real.UnixNano() != int64(c.boot+set) {
			t.Errorf("a pause before reading %d: %+v, %v", pause, c, err)
		}
	}
	now := time.Hour
	c, err := readClockBy(func(_ int32, at *unix.Timespec) error { // it always has
		now += 10 * time.Millisecond
		*at = unix.NsecToTimespec(int64(now))
		return nil
	})
	if err != nil || c.mono-c.boot > 20*time.Millisecond {
		t.Errorf("on a busy machine: %+v, %v", c, err)
	}
}

func TestAProcessThatCannotBeLookedAtIsLeftToTheControlGroups(t *testing.T) {
	proc := t.TempDir()
	for _, dir := range []string{"1", "7/cgroup"} { // which is no file there
		if err := os.MkdirAll(filepath.Join(proc, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := func(string) bool { return true }
	if found, err := processes(t.Context(), proc, all); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if p, err := readProcess(proc, 7, all); !errors.Is(err, errOdd) || p != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestChoose(t *testing.T) {
	found := &manifest.Snapshot{}
	for _, path := range []string{"plugin", "plugin/a.js", "plugin/cache", "plugin/cache/x", "plugin/lib", "plugin/lib/b.js", "policy", "policy/gate.yaml"} {
		e := manifest.Entry{Path: path, Type: manifest.Dir}
		if strings.Contains(filepath.Base(path), ".") || strings.HasSuffix(path, "/x") {
			e.Type = manifest.File
		}
		found.Entries = append(found.Entries, e)
	}
	for text, want := range map[string]string{
		"plugin/**":       "plugin/a.js plugin/cache/x plugin/lib/b.js | plugin plugin/cache plugin/lib",
		"plugin":          "plugin/a.js plugin/cache/x plugin/lib/b.js | plugin plugin/cache plugin/lib",
		"plugin/*.js":     "plugin/a.js | plugin",
		"plugin/**/*.js":  "plugin/a.js plugin/lib/b.js | plugin plugin/lib",
		"plugin/lib":      "plugin/lib/b.js | plugin plugin/lib",
		"*/gate.yaml":     "policy/gate.yaml | policy",
		"plugin/a.js x/y": "plugin/a.js | plugin",
		"nothing/**":      " | ",
	} {
		s, err := choose(found, strings.Fields(text))
		var entries, dirs []string
		for _, e := range s.entries {
			entries = append(entries, e.Path)
		}
		for _, e := range s.dirs {
			dirs = append(dirs, e.Path)
		}
		if got := strings.Join(entries, " ") + " | " + strings.Join(dirs, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := choose(found, []string{"plugin/[a"}); err == nil {
		t.Error("a pattern that is none was taken")
	}
}

func TestARefusalCountsWhereItCouldMatter(t *testing.T) {
	for text, want := range map[string]map[string]bool{
		"plugin/**":      {"plugin": true, "plugin/x": true, "plugin/x/y": true, "policy": false, "plug": false},
		"plugin/*.js":    {"plugin": true, "plugin/x.js": true, "plugin/x": false, "plugin/x/y.js": false},
		"plugin/lib/*.b": {"plugin": true, "plugin/lib": true, "plugin/other": false, "plugin/lib/c": false},
		"*/a":            {"plugin": true, "plugin/a": true, "plugin/b": false},
		"plugin/a.js":    {"plugin": true, "plugin/a.js": true, "plugin/a": false},
	} {
		for path, want := range want {
			s, err := choose(&manifest.Snapshot{Refused: []manifest.Refusal{{Path: path, Reason: "special"}}}, []string{text})
			if err != nil || (s.refused != "") != want {
				t.Errorf("%s, %s: %q, %v", text, path, s.refused, err)
			}
		}
	}
	s, _ := choose(&manifest.Snapshot{Refused: []manifest.Refusal{{Path: "policy/x", Reason: "entries: there are more than 5"}}}, []string{"plugin/**"})
	if s.refused == "" {
		t.Error("a limit that hides what follows does not count")
	}
}

func TestWhoCanPutAnotherDirectoryInPlace(t *testing.T) {
	dir := func(uid uint32, mode uint32) *unix.Stat_t { return &unix.Stat_t{Uid: uid, Mode: unix.S_IFDIR | mode} }
	for name, c := range map[string]struct {
		here, parent *unix.Stat_t
		want         bool
	}{
		"in root's directory":            {dir(agent, 0o755), dir(0, 0o755), false},
		"in the user's directory":        {dir(0, 0o755), dir(agent, 0o500), true},
		"where everybody may write":      {dir(0, 0o755), dir(0, 0o777), true},
		"where a group may write":        {dir(0, 0o755), dir(0, 0o775), true},
		"somebody else's in /tmp":        {dir(0, 0o755), dir(0, 0o1777), false},
		"the user's own in /tmp":         {dir(agent, 0o755), dir(0, 0o1777), true},
		"in another's private directory": {dir(agent, 0o755), dir(7, 0o700), false},
	} {
		if got := swappable(c.here, c.parent, agent); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	root := filepath.Join(t.TempDir(), "mine/root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	s := selection{entries: []manifest.Entry{{Path: "plugin/a"}}}
	source := testSource(root)
	source.Owner = uint32(os.Getuid())
	if err := findAbove(&s, source); err != nil || len(s.above) < 2 || s.above[0].path != filepath.Dir(root) {
		t.Errorf("%+v, %v", s.above, err)
	}
	s = selection{entries: []manifest.Entry{{Path: "policy/a"}}}
	if err := findAbove(&s, source); err != nil || len(s.above) != 0 {
		t.Errorf("a live root that does not matter: %+v, %v", s.above, err)
	}
	moved := filepath.Dir(root)
	if err := errors.Join(os.Rename(moved, moved+".old"), os.Symlink(moved+".old", moved)); err != nil {
		t.Fatal(err)
	}
	s = selection{entries: []manifest.Entry{{Path: "plugin/a"}}}
	if err := findAbove(&s, testSource(root+"/deeper")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("the way through a link: %+v, %v", s.above, err)
	}
}

func TestWhatIsRememberedIsForThisBootAndWhole(t *testing.T) {
	w := Watch{Gate: "claude", Unit: `a@b\x2d.service`, User: true}
	c := &Checker{Dir: filepath.Join(t.TempDir(), "loaded"), BootID: "one"}
	m := &memory{Run: "r", Known: []known{{PID: 1, Ticks: 2, Image: "i"}}, Files: map[string]string{"plugin/a": "file x"}, Times: "t", Since: 3}
	for range 2 {
		if err := c.remember(w, m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.recall(w)
	if diff := cmp.Diff(m, got); err != nil || diff != "" {
		t.Error(diff, err)
	}
	name, _ := c.snapshotName(w)
	for path, want := range map[string]os.FileMode{name: 0o600, filepath.Dir(name): 0o700, c.Dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	other := &Checker{Dir: c.Dir, BootID: "two"}
	if got, err := other.recall(w); err != nil || got.Run != "" || got.Files != nil {
		t.Errorf("after a boot: %+v, %v", got, err)
	}
	writes := 0
	c.Disk = durable.Disk{Around: func(_ durable.Step, change func() error) error { writes++; return change() }}
	if err := c.remember(w, m); err != nil || writes != 0 {
		t.Errorf("%d writes of what is there already, %v", writes, err)
	}
	data, _ := os.ReadFile(name)
	if err := os.WriteFile(name, data[:len(data)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.recall(w); err != nil || got.Run != "" {
		t.Errorf("cut short: %+v, %v", got, err)
	}
	for _, w := range []Watch{{Gate: "../x", Unit: "a.service"}, {Gate: "claude", Unit: "../a.service"}, {Gate: "claude"}, {Gate: "claude", Unit: ".."}} {
		if _, err := c.recall(w); err == nil {
			t.Errorf("%+v has a place", w)
		}
	}
}

func TestTheClockIsKnownToBeSteadySinceItWasSeenSo(t *testing.T) {
	c := &Checker{Dir: t.TempDir(), BootID: "one"}
	at := func(m float64) clock {
		return clock{minute(m), time.Duration(m * 1e9 * 60), time.Duration(m * 1e9 * 60)}
	}
	look := func(now clock, want, other float64) {
		t.Helper()
		if got, err := c.steady(now); err != nil || got.since != time.Duration(want*1e9*60) || got.other != time.Duration(other*1e9*60) {
			t.Errorf("%+v, %v, want minutes %v and %v", got, err, want, other)
		}
	}
	look(at(5), 5, 0)
	look(at(9), 5, 0)
	set := at(10)
	set.real = set.real.Add(time.Hour)
	look(set, 10, 5)
	set.real, set.boot = set.real.Add(time.Minute), set.boot+time.Minute
	look(set, 10, 5)
	look(at(12), 12, 10)
	look(at(13), 12, 10)
	c.BootID = "two"
	look(at(3), 3, 0)
	look(at(20), 3, 0)
}

func TestAStrictRecord(t *testing.T) {
	digest := strings.Repeat("a", 64)
	good := `{"schema":"gatehouse/loaded/v1","invocation_id":"x","files":{"plugin/a":"` + digest + `"}}`
	if r, err := parseRecord([]byte(good)); err != nil || r.Files["plugin/a"] != digest {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{
		"", "null", "[]", good + "{}", good + "x", strings.Replace(good, "v1", "v2", 1), strings.Replace(good, "files", "fils", 1),
		strings.Replace(good, digest, strings.ToUpper(digest), 1), strings.Replace(good, digest, "a", 1),
		strings.Replace(good, "plugin/a", "/etc/shadow", 1), strings.Replace(good, "plugin/a", "plugin/../a", 1),
	} {
		if _, err := parseRecord([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func TestAScanOfTheCallerCountsForOldProcessesOnly(t *testing.T) {
	seen := &manifest.Snapshot{Entries: []manifest.Entry{{Path: "plugin", Type: manifest.File, SHA256: "a"}}}
	for name, c := range map[string]struct {
		members []process
		want    int
	}{
		"old":            {[]process{startedAt(10, 30)}, 1},
		"one is young":   {[]process{startedAt(10, 30), startedAt(11, 55)}, 0},
		"just too young": {[]process{startedAt(10, 50.1)}, 0},
	} {
		f := running()
		f.members = c.members
		f.unit.mainPID = 10
		f.watch.Files = []string{"plugin/**", "plugin"}
		checker := Checker{run: t.TempDir()}
		scan := func() (*manifest.Snapshot, error) { return new(manifest.Snapshot), nil }
		if err := checker.readFiles(f, testSource("/nowhere"), seen, scan); err != nil || len(f.files.entries) != c.want || f.scanned == 0 {
			t.Errorf("%s: %+v, %v", name, f.files, err)
		}
	}
}

func TestTheMarginIsTwoSecondsAndWiderThanAStepThatIsNotSeen(t *testing.T) {
	if got := new(Checker).margin(); got != 2*time.Second || got <= maxStep {
		t.Errorf("%v, with steps of %v unseen", got, maxStep)
	}
}
