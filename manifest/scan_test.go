//go:build linux

package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestScanFindsAllAndSortsByBytes(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{
		"gate.yaml": "version: 1\n", "a/b/c": "deep", "a-b": "between a and a/b", "a/": "", "empty/": "", "null": "",
		"link": "->/etc/passwd", "a/rel": "->../gate.yaml", "a/.gitignore": "*.log", "naïve ☃": "unicode",
	})
	must(t, os.Chmod(filepath.Join(live, "gate.yaml"), 0o640))
	must(t, unix.Chmod(filepath.Join(live, "empty"), 0o2750))
	src := testSource(live)

	got, err := Scan(t.Context(), src)
	must(t, err)
	if len(got.Refused) != 0 {
		t.Errorf("refused: %v", got.Refused)
	}
	want := []string{
		"policy dir 0755 ",
		"policy/a dir 0755 ",
		"policy/a-b file 0644 between a and a/b",
		"policy/a/.gitignore file 0644 *.log",
		"policy/a/b dir 0755 ",
		"policy/a/b/c file 0644 deep",
		"policy/a/rel symlink 0777 ../gate.yaml",
		"policy/empty dir 2750 ",
		"policy/gate.yaml file 0640 version: 1\n",
		"policy/link symlink 0777 /etc/passwd",
		"policy/naïve ☃ file 0644 unicode",
		"policy/null file 0644 ",
	}
	if diff := cmp.Diff(want, describe(t, live, got.Entries)); diff != "" {
		t.Error(diff)
	}
	for _, e := range got.Entries {
		info, err := os.Lstat(filepath.Join(filepath.Dir(live), "live", strings.TrimPrefix(e.Path, "policy")))
		must(t, err)
		ctime := time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix())
		if !e.MTime.Equal(info.ModTime()) || !e.CTime.Equal(ctime) || e.MTime.Location() != time.UTC {
			t.Errorf("%s: times %v, %v; want %v, %v", e.Path, e.MTime, e.CTime, info.ModTime(), ctime)
		}
	}
	again, err := Scan(t.Context(), src)
	must(t, err)
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("a second scan differs: %s", diff)
	}
}

// describe writes entries as lines "path type mode content", with the content that has the entry's digest.
func describe(t *testing.T, live string, entries []Entry) []string {
	t.Helper()
	var lines []string
	for _, e := range entries {
		content := e.Target
		if e.Type == File {
			data, err := os.ReadFile(live + strings.TrimPrefix(e.Path, "policy"))
			must(t, err)
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.SHA256 || int64(len(data)) != e.Size {
				t.Errorf("%s: digest %s or size %d is not that of %q", e.Path, e.SHA256, e.Size, data)
			}
			content = string(data)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s", e.Path, e.Type, e.Mode, content))
	}
	return lines
}

func TestScanLeavesOutWhatIsExcluded(t *testing.T) {
	files := tree{
		"gate.yaml": "", "flags/x": "", "flags/y/z": "", "specs/a.yaml": "", "specs/a.log": "", "b.log": "",
		"deep/er/c.log": "", "deep/cache/d": "", "cache/e": "", "sub/flags/f": "", "nocache/g": "",
	}
	all := []string{"b.log", "cache/e", "deep/cache/d", "deep/er/c.log", "flags/x", "flags/y/z", "gate.yaml", "nocache/g",
		"specs/a.log", "specs/a.yaml", "sub/flags/f"}
	without := func(gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(gone, name) })
	}
	tests := []struct {
		exclude []string
		want    []string
		gone    string // a directory that is no entry either
	}{
		{nil, all, ""},
		{[]string{"flags/**"}, without("flags/x", "flags/y/z"), "flags"},
		{[]string{"flags"}, without("flags/x", "flags/y/z"), "flags"},
		{[]string{"*.log"}, without("b.log"), ""},
		{[]string{"**/*.log"}, without("b.log", "specs/a.log", "deep/er/c.log"), ""},
		{[]string{"**/cache/**"}, without("cache/e", "deep/cache/d"), "deep/cache"},
		{[]string{"**/cache", "gate.{yaml,yml}"}, without("cache/e", "deep/cache/d", "gate.yaml"), "cache"},
		{[]string{"flags/*"}, without("flags/x", "flags/y/z"), "flags/y"},
		{[]string{"**"}, nil, "deep"},
	}
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, files)
	for _, test := range tests {
		src := testSource(live)
		src.Live[0].Exclude = test.exclude
		got, err := Scan(t.Context(), src)
		must(t, err)
		var names []string
		for _, e := range got.Entries {
			name := strings.TrimPrefix(e.Path, "policy/")
			if e.Type == File {
				names = append(names, name)
			}
			if name == test.gone {
				t.Errorf("%q: the directory %q is an entry", test.exclude, name)
			}
		}
		if diff := cmp.Diff(test.want, names); diff != "" {
			t.Errorf("%q: %s", test.exclude, diff)
		}
	}
}

func TestScanDoesNotEnterWhatIsExcluded(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"gate.yaml": "", "flags/": ""})
	must(t, unix.Mkfifo(filepath.Join(live, "flags/fifo"), 0o644))
	src := testSource(live)
	src.Live[0].Exclude = []string{"flags/**"}
	src.Limits.Entries = 2
	got, err := Scan(t.Context(), src)
	must(t, err)
	if len(got.Entries) != 2 || len(got.Refused) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestScanOfASingleFile(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, tree{"settings.json": "{}", "other": "not ours"})
	got, err := Scan(t.Context(), testSource(filepath.Join(dir, "settings.json")))
	must(t, err)
	if len(got.Entries) != 1 || got.Entries[0].Path != "policy" || got.Entries[0].Type != File || got.Entries[0].Size != 2 {
		t.Errorf("got %v", got)
	}
}

func TestScanOfAMissingRoot(t *testing.T) {
	dir := t.TempDir()
	for _, root := range []string{dir + "/gone", dir + "/gone/too"} {
		got, err := Scan(t.Context(), testSource(root))
		must(t, err)
		if diff := cmp.Diff(&Snapshot{Entries: []Entry{}, Refused: []Refusal{}}, got); diff != "" {
			t.Errorf("%s: %s", root, diff)
		}
	}
}

func TestScanRefusesARoot(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	plant(t, dir, tree{"real/x": "", "link": "->real", "way": "->.", "open/x": "", "foreign/x": ""})
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	must(t, os.Chmod(filepath.Join(dir, "open"), 0o777))
	give(t, filepath.Join(dir, "foreign"))
	tests := []struct{ root, reason string }{
		{"link", "symlink: "},
		{"way/real", "symlink: "},
		{"way/gone", "symlink: "},
		{"fifo", "special: "},
		{"open", "writable: "},
		{"open/gone", "writable: "},
		{"foreign", "owner: "},
		{"foreign/gone", "owner: "},
	}
	for _, test := range tests {
		got, err := Scan(t.Context(), testSource(filepath.Join(dir, test.root)))
		must(t, err)
		if len(got.Entries) != 0 || len(got.Refused) != 1 || got.Refused[0].Path != "policy" ||
			!strings.HasPrefix(got.Refused[0].Reason, test.reason) {
			t.Errorf("%s: got %v, want only policy refused for %q", test.root, got, test.reason)
		}
	}
}

func TestScanRefuses(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	plant(t, dir, tree{"outside": "secret"})
	plant(t, live, tree{
		"good": "good", "large": strings.Repeat("x", 1<<20) + "x", "foreign": "root's? no, another's", "foreigndir/x": "",
		"opendir/x": "", "new\nline": "", "esc\x1b[2J": "", "bad\xff": "", "baddir\x80/x": "", "c1\u0085": "",
		"bidi\u202e": "allowed", "link\x07": "->x", "target": "->a\nb", "target8": "->\xff",
		"%" + strings.Repeat("%", 100): "too long when escaped",
	})
	must(t, os.Link(filepath.Join(dir, "outside"), filepath.Join(live, "hard")))
	must(t, unix.Mkfifo(filepath.Join(live, "fifo"), 0o644))
	must(t, unix.Mknod(filepath.Join(live, "null"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))))
	must(t, unix.Mknod(filepath.Join(live, "socket"), unix.S_IFSOCK|0o644, 0))
	give(t, live)
	must(t, os.Lchown(filepath.Join(live, "foreign"), enemy+1, 0))
	must(t, os.Lchown(filepath.Join(live, "foreigndir"), enemy+1, 0))
	must(t, os.Chmod(filepath.Join(live, "opendir"), 0o777))
	must(t, unix.Setxattr(filepath.Join(live, "good"), "user.comment", []byte("harmless"), 0))
	plant(t, live, tree{"acl": ""})
	// user::rw-, user:61235:rw-, group::r--, mask::rw-, other::r--
	acl := "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\x33\xef\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x04\x00\xff\xff\xff\xff"
	wantACL := true
	if err := unix.Setxattr(filepath.Join(live, "acl"), "system.posix_acl_access", []byte(acl), 0); err != nil {
		t.Logf("no ACLs here: %v", err)
		wantACL = false
	}
	src := testSource(live)
	src.Owner = enemy

	got, err := Scan(t.Context(), src)
	must(t, err)
	var names []string
	for _, e := range got.Entries {
		names = append(names, e.Path)
	}
	want := []string{"policy", "policy/bidi\u202e", "policy/good"}
	if !wantACL {
		want = []string{"policy", "policy/acl", "policy/bidi\u202e", "policy/good"}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("entries: %s", diff)
	}
	reasons := make(map[string]string)
	for _, r := range got.Refused {
		kind, hint, ok := strings.Cut(r.Reason, ": ")
		if !ok || hint == "" {
			t.Errorf("%s: no hint in %q", r.Path, r.Reason)
		}
		reasons[r.Path] = kind
	}
	wantReasons := map[string]string{
		"policy/large": "size", "policy/foreign": "owner", "policy/foreigndir": "owner", "policy/opendir": "writable",
		`policy/new\nline`: "name", `policy/esc\x1b[2J`: "name", `policy/bad\xff`: "name", `policy/baddir\x80`: "name",
		`policy/c1\u0085`: "name", `policy/link\a`: "name", "policy/target": "name", "policy/target8": "name",
		"policy/%" + strings.Repeat("%", 100): "name", "policy/hard": "links", "policy/fifo": "special",
		"policy/null": "special", "policy/socket": "special",
	}
	if wantACL {
		wantReasons["policy/acl"] = "acl"
	}
	if diff := cmp.Diff(wantReasons, reasons); diff != "" {
		t.Errorf("refused: %s", diff)
	}
	for _, r := range got.Refused {
		if !isText(r.Path) || !isText(r.Reason) {
			t.Errorf("a refusal is no text: %q", r)
		}
	}
}

func TestScanKeepsToTheLimits(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"a/1": "xxxx", "a/2": "xxxx", "b/3": "xxxx", "c": "xxxx"})
	tests := []struct {
		limits  Limits
		entries []string
		refused map[string]string
	}{
		{Limits{7, 4, 16}, []string{"", "/a", "/a/1", "/a/2", "/b", "/b/3", "/c"}, nil},
		{Limits{6, 4, 16}, []string{"", "/a", "/a/1", "/a/2", "/b", "/b/3"}, map[string]string{"/c": "entries"}},
		{Limits{3, 4, 16}, []string{"", "/a", "/a/1"}, map[string]string{"/a/2": "entries"}},
		{Limits{7, 4, 15}, []string{"", "/a", "/a/1", "/a/2", "/b", "/b/3"}, map[string]string{"/c": "size"}},
		{Limits{7, 4, 7}, []string{"", "/a", "/a/1", "/b"}, map[string]string{"/a/2": "size", "/b/3": "size", "/c": "size"}},
		{Limits{7, 3, 16}, []string{"", "/a", "/b"},
			map[string]string{"/a/1": "size", "/a/2": "size", "/b/3": "size", "/c": "size"}},
		{Limits{}, nil, map[string]string{"": "entries", "other": "entries"}},
	}
	for _, test := range tests {
		src := testSource(live)
		src.Limits = test.limits
		src.Live = append(src.Live, Live{Name: "other", Root: live + "-gone"})
		got, err := Scan(t.Context(), src)
		must(t, err)
		var entries []string
		for _, e := range got.Entries {
			entries = append(entries, strings.TrimPrefix(e.Path, "policy"))
		}
		if diff := cmp.Diff(test.entries, entries); diff != "" {
			t.Errorf("%v: entries: %s", test.limits, diff)
		}
		refused := make(map[string]string)
		for _, r := range got.Refused {
			refused[strings.TrimPrefix(r.Path, "policy")], _, _ = strings.Cut(r.Reason, ":")
		}
		if _, full := refused["other"]; full && test.refused["other"] == "" {
			delete(refused, "other") // whatever comes after the limit is refused by its name
		}
		if diff := cmp.Diff(test.refused, refused); diff != "" && len(test.refused)+len(refused) > 0 {
			t.Errorf("%v: refused: %s", test.limits, diff)
		}
	}
}

// TestScanLeavesNothingOut compares scans of one tree with all limits on entries.
func TestScanLeavesNothingOut(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	files := tree{}
	for i := range 40 {
		files[fmt.Sprintf("d%d/f%d", i%3, i)] = strings.Repeat("x", i)
		files[fmt.Sprintf("d%d/sub/f%d", i%5, i)] = "y"
		files[fmt.Sprintf("f%d", i)] = "z"
	}
	plant(t, live, files)
	must(t, unix.Mkfifo(filepath.Join(live, "d1/fifo"), 0o644))
	src := testSource(live)
	all, err := Scan(t.Context(), src)
	must(t, err)
	for n := range len(all.Entries) + 2 {
		src.Limits.Entries = n
		got, err := Scan(t.Context(), src)
		must(t, err)
		found := make(map[string]bool)
		for _, e := range got.Entries {
			found[e.Path] = true
		}
		covered := func(path string) bool {
			return slices.ContainsFunc(got.Refused, func(r Refusal) bool {
				// What a scan meets after the first path that is too many is one of those that follow it.
				return r.Path == path || strings.HasPrefix(r.Reason, "entries: ") && !visitedBefore(path, r.Path)
			})
		}
		for _, e := range all.Entries {
			if !found[e.Path] && !covered(e.Path) {
				t.Errorf("limit %d: %s is left out; refused: %v", n, e.Path, got.Refused)
			}
		}
		if len(got.Entries)+len(got.Refused) > n+1 {
			t.Errorf("limit %d: %d entries and %d refused", n, len(got.Entries), len(got.Refused))
		}
	}
}

// visitedBefore reports whether a scan comes by path a before it comes by b: part by part, parents first.
func visitedBefore(a, b string) bool {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) < 0
}

func TestScanOfAFloodOfNames(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"gate.yaml": "", "z": ""})
	must(t, os.Mkdir(filepath.Join(live, "flood"), 0o755))
	for i := range 1100 {
		must(t, os.WriteFile(fmt.Sprintf("%s/flood/%d.log", live, i), nil, 0o644))
	}
	src := testSource(live)
	src.Limits.Entries = 10
	got, err := Scan(t.Context(), src)
	must(t, err)
	want := []Refusal{{"policy/flood", "entries: there are more than"}}
	if len(got.Refused) != 1 || got.Refused[0].Path != want[0].Path || !strings.HasPrefix(got.Refused[0].Reason, want[0].Reason) {
		t.Errorf("refused %v, want %v", got.Refused, want)
	}
	if len(got.Entries) != 3 {
		t.Errorf("entries: %v", got.Entries)
	}
	src.Live[0].Exclude = []string{"flood"}
	if got, err = Scan(t.Context(), src); err != nil || len(got.Refused) != 0 {
		t.Errorf("with the flood excluded: %v, %v", got, err)
	}
}

func TestScanOfLargeFiles(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{
		"edge": strings.Repeat("e", smallFile), "over": strings.Repeat("o", smallFile+1), "sub/large": strings.Repeat("l", 5<<20),
	})
	src := testSource(live)
	src.Limits.File = 8 << 20
	got, err := Scan(t.Context(), src)
	must(t, err)
	if len(got.Refused) != 0 || len(describe(t, live, got.Entries)) != 5 {
		t.Errorf("got %v", got)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"a": "a", "b/c": "c"})
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := Scan(ctx, testSource(live)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestScanRefusesWhatIsInFlux(t *testing.T) {
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"quiet": "quiet", "busy": ""})
	// So large that one read takes longer than a tick of the coarsest clock that a file system uses.
	const size = 48 << 20
	busy := filepath.Join(live, "busy")
	must(t, os.WriteFile(busy, make([]byte, size), 0o644))
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f, err := os.OpenFile(busy, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				f.WriteAt([]byte{byte(i)}, i%size)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	src := testSource(live)
	src.Limits.File, src.Limits.Total = size, 2*size
	var p *Publisher
	var m *Manifest
	// On a busy machine a read may come to its end before somebody wrote.
	for end := time.Now().Add(time.Minute); m == nil || len(m.Refused) == 0 && time.Now().Before(end); {
		p = &Publisher{Gate: "claude", Host: "agent-1", Source: src, Export: filepath.Join(t.TempDir(), "export")}
		var err error
		m, err = p.Publish(t.Context(), time.Now())
		must(t, err)
	}
	if len(m.Entries) != 2 || len(m.Refused) != 1 || m.Refused[0].Path != "policy/busy" ||
		!strings.HasPrefix(m.Refused[0].Reason, "in flux: ") {
		t.Errorf("entries %v, refused %v; want busy in flux", m.Entries, m.Refused)
	}
	objects, err := filepath.Glob(p.Export + "/objects/*/*")
	must(t, err)
	if len(objects) != 1 {
		t.Errorf("objects %v, want that of quiet alone", objects)
	}
}

// A meddler is a keeper that does something when the first content comes.
type meddler struct {
	once sync.Once
	do   func()
}

func (m *meddler) has(string, int64) (bool, error) {
	m.once.Do(m.do)
	return true, nil
}

func (*meddler) keep(string, []byte) error { return nil }

func (*meddler) keepFrom(string, func(io.Writer) error) error { return nil }

func TestScanNoticesThatARootWasReplaced(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	files := tree{"z/z": "last"}
	for i := range 500 { // more than the walker can have sent off before the first is read
		files[fmt.Sprintf("a/%d", i)] = "x"
	}
	plant(t, live, files)
	found, err := scan(t.Context(), testSource(live), &meddler{do: func() {
		must(t, os.Rename(live, live+"-old"))
		plant(t, live, files)
	}})
	must(t, err)
	if len(found.Refused) != 1 || found.Refused[0].Path != "policy" || !strings.HasPrefix(found.Refused[0].Reason, "in flux: ") {
		t.Errorf("refused %v, want policy in flux", found.Refused)
	}
}

func TestScanRefusesMountPoints(t *testing.T) {
	needRoot(t)
	live := filepath.Join(t.TempDir(), "live")
	plant(t, live, tree{"a": "a", "mnt/": "", "file": ""})
	for name, mount := range map[string]func(string) error{
		"mnt":  func(name string) error { return unix.Mount("none", name, "tmpfs", 0, "") },
		"file": func(name string) error { return unix.Mount("/etc/passwd", name, "", unix.MS_BIND, "") },
	} {
		name = filepath.Join(live, name)
		if err := mount(name); err != nil {
			t.Skipf("needs the right to mount: %v", err)
		}
		t.Cleanup(func() { unix.Unmount(name, unix.MNT_DETACH) })
	}
	got, err := Scan(t.Context(), testSource(live))
	must(t, err)
	reasons := make(map[string]string)
	for _, r := range got.Refused {
		reasons[r.Path], _, _ = strings.Cut(r.Reason, ":")
	}
	if diff := cmp.Diff(map[string]string{"policy/mnt": "mount", "policy/file": "mount"}, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestScanWritesDownTimesFromAnyYear(t *testing.T) {
	for _, test := range []struct{ file, want time.Time }{
		{time.Unix(0, 5).UTC(), time.Unix(0, 5).UTC()},
		{time.Unix(1<<40, 0).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		{time.Unix(-1<<40, 0).UTC(), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if got := writable(test.file); !got.Equal(test.want) {
			t.Errorf("%v becomes %v, want %v", test.file, got, test.want)
		}
	}
}

func TestSourceIsHeldToItsRules(t *testing.T) {
	tests := []struct {
		live []Live
		want string
	}{
		{[]Live{{Name: "Policy", Root: "/x"}}, `"Policy" is no name for live files`},
		{[]Live{{Name: "a", Root: "/x"}, {Name: "a", Root: "/y"}}, `two live roots have the name "a"`},
		{[]Live{{Name: "a", Root: "x"}}, `"x" is no clean absolute path`},
		{[]Live{{Name: "a", Root: "/x/"}}, `"/x/" is no clean absolute path`},
		{[]Live{{Name: "a", Root: "/"}}, `"/" is no clean absolute path`},
		{[]Live{{Name: "a", Root: "/x", Exclude: []string{"[a"}}}, `exclude "[a": `},
		{[]Live{{Name: "a", Root: "/x", Exclude: []string{"flags/"}}}, `exclude "flags/": `},
		{[]Live{{Name: "a", Root: "/x", Exclude: []string{"/flags"}}}, `exclude "/flags": `},
	}
	for _, test := range tests {
		src := Source{Live: test.live}
		if err := src.Valid(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.live, err, test.want)
		}
		if _, err := Scan(t.Context(), src); err == nil {
			t.Errorf("%v: scanned", test.live)
		}
	}
}
