package gate

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever the line, the answer comes in time, and a limit that is hit refuses.
func TestADecisionIsBounded(t *testing.T) {
	h := newHost(t, wide+"paths: {deny: [secret, \"*.pem\"], redirects: [\"**\"]}\n").files("src/a")
	many := func(n int, sep, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, sep)
	}
	g := h.open()
	g.disk = crowded{machine{}, filepath.Join(h.work, "big")}
	for name, line := range map[string]string{
		"globs":          "cat " + many(300, " ", "big/*%d*"),
		"calls of globs": many(300, "; ", "cat big/*%d*"),
		"trees":          many(300, "; ", "grep -r x big%d/../big"),
		"a long path":    "cat " + strings.Repeat("a/", 400_000),
		"a long target":  "echo x > " + strings.Repeat("a/", 400_000),
		"many words":     "cat " + many(20_001, " ", "a%d"),
		"words with ..":  "cat " + many(5_000, " ", "src/../a%d"),
		"assignments":    many(20_000, " ", "A%d=1") + " cat src/a",
		"repositories":   many(3_000, "; ", "touch n%d/x; git -C n%[1]d status"),
		"texts that run": "sqlite3 db '" + many(5_000, "\n", ".shell cat a%d") + "'",
	} {
		from := time.Now()
		d := g.Check(t.Context(), h.request(line))
		if d.Action != Deny {
			t.Errorf("%s: %s", name, d.Action)
		}
		if len(d.Reasons) > maxReasons+1 {
			t.Errorf("%s: %d reasons", name, len(d.Reasons))
		}
		if took := time.Since(from); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
	d := g.Check(t.Context(), h.request("cat "+many(300, " ", "big/*%d*")))
	found := false
	for _, r := range d.Reasons {
		found = found || r.Rule == "limit" && strings.Contains(r.Text, "steps")
	}
	if !found {
		t.Errorf("the limit is not said: %s", reasons(d))
	}
	h.rows([]row{{"cat " + strings.Repeat("src/../src/a ", 200), "allow"}})
}

// crowded is a disk with a directory of 60 000 files.
type crowded struct {
	machine
	dir string
}

func (c crowded) Lstat(path string) (fileInfo, error) {
	if path == c.dir {
		return c.machine.Lstat("/")
	}
	return c.machine.Lstat(path)
}

func (c crowded) List(dir string, max int) (names []dirEntry, more bool, err error) {
	if dir != c.dir {
		return c.machine.List(dir, max)
	}
	for i := range min(max, 60_000) {
		names = append(names, entryNamed(fmt.Sprint("f", i)))
	}
	return names, max < 60_000, nil
}

type (
	fileInfo = fs.FileInfo
	dirEntry = fs.DirEntry
)

// entryNamed is a plain file in a directory.
type entryNamed string

func (e entryNamed) Name() string             { return string(e) }
func (entryNamed) IsDir() bool                { return false }
func (entryNamed) Type() fs.FileMode          { return 0 }
func (entryNamed) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }
