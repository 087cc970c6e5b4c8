//go:build linux

package manifest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// eachFate runs a scenario once for each step that it has and each way in which that step can end, until a run meets no
// such step. Every run starts from what prepare makes in a fresh directory. run reports whether the fate was met.
func eachFate(t *testing.T, prepare func(t *testing.T, dir string), run func(t *testing.T, dir, fate string) (met bool)) {
	for _, how := range []string{"kill-before", "kill-after", "fail-before", "fail-after"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				dir := t.TempDir()
				prepare(t, dir)
				if !run(t, dir, fmt.Sprint(how, " ", n)) {
					if n < 5 {
						t.Errorf("there were only %d steps", n-1)
					}
					return
				}
				if t.Failed() {
					t.Fatalf("at step %d", n)
				}
			}
		})
	}
}

// isKill reports whether a process ended by the signal that a test sends itself.
func isKill(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(interface{ Signal() unix.Signal }).Signal() == unix.SIGKILL
}

func TestPublishCanBeCutShortAnywhere(t *testing.T) {
	before := tree{"gate.yaml": "version: 1\n", "specs/a": "a", "gone": "gone"}
	after := tree{"gate.yaml": "version: 2\n", "specs/a": "a", "new/b": "b"}
	prepare := func(t *testing.T, dir string) {
		live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
		for _, files := range []tree{{"older": "older"}, before} {
			must(t, os.RemoveAll(live))
			plant(t, live, files)
			_, err := testPublisher(live, export).Publish(t.Context(), time.Now())
			must(t, err)
		}
		must(t, os.RemoveAll(live))
		plant(t, live, after)
	}
	read := func(t *testing.T, dir string) tree {
		t.Helper()
		_, contents := readExport(t, filepath.Join(dir, "export"), os.Geteuid())
		return contents
	}
	entries := func(files tree) tree {
		contents := tree{}
		for name, content := range files {
			contents["policy/"+name] = content
		}
		return contents
	}
	eachFate(t, prepare, func(t *testing.T, dir, fate string) bool {
		live, export := filepath.Join(dir, "live"), filepath.Join(dir, "export")
		met := true
		if strings.HasPrefix(fate, "kill") {
			err := command(t, os.Geteuid(), "publish", live, export, fate).Run()
			if met = isKill(err); !met {
				must(t, err)
			}
		} else {
			p := testPublisher(live, export)
			p.Disk = fateful(fate)
			_, err := p.Publish(t.Context(), time.Now())
			if met = errors.Is(err, errInjected); !met {
				must(t, err)
			}
		}
		if got := read(t, dir); !cmp.Equal(got, entries(before)) && !cmp.Equal(got, entries(after)) {
			t.Errorf("%s: the export has neither the old nor the new files: %v", fate, got)
		}
		m, err := testPublisher(live, export).Publish(t.Context(), time.Now())
		must(t, err)
		if diff := cmp.Diff(entries(after), read(t, dir)); diff != "" {
			t.Errorf("%s: after the next run: %s", fate, diff)
		}
		// One more run, whose last manifest is equal, leaves what is named and nothing else.
		_, err = testPublisher(live, export).Publish(t.Context(), time.Now())
		must(t, err)
		if diff := cmp.Diff(digests(m), objectsOf(t, export)); diff != "" {
			t.Errorf("%s: objects: %s", fate, diff)
		}
		noUnfinishedFiles(t, dir)
		return met
	})
}

func TestRestoreCanBeCutShortAnywhere(t *testing.T) {
	changed := tree{"gate.yaml": "version: 2\n", "specs/a": "a", "specs/evil": "evil", "link": "file", "dir": "file", "file/x": "x",
		"gone/deep/y": "y"}
	good := tree{"gate.yaml": "version: 1\n", "specs/a": "a", "link": "->gate.yaml", "dir/z": "z", "file": "file", "new/w": "w"}
	prepare := func(t *testing.T, dir string) {
		plant(t, filepath.Join(dir, "accepted"), good)
		must(t, os.Chmod(filepath.Join(dir, "accepted/specs"), 0o555))
		generate(t, filepath.Join(dir, "accepted"), filepath.Join(dir, "stored"))
		plant(t, filepath.Join(dir, "live"), changed)
		must(t, os.Chmod(filepath.Join(dir, "live/specs"), 0o555))
	}
	eachFate(t, prepare, func(t *testing.T, dir, fate string) bool {
		stored, live := filepath.Join(dir, "stored"), filepath.Join(dir, "live")
		s, err := OpenGeneration(stored, testLimits)
		must(t, err)
		defer s.Close()
		met := true
		if strings.HasPrefix(fate, "kill") {
			err := command(t, os.Geteuid(), "restore", stored, live, fate).Run()
			if met = isKill(err); !met {
				must(t, err)
			}
		} else {
			_, err := Restore(t.Context(), fateful(fate), s, testSource(live), false)
			if met = errors.Is(err, errInjected); !met {
				must(t, err)
			}
		}
		if data, err := os.ReadFile(filepath.Join(live, "gate.yaml")); err != nil || string(data) != "version: 1\n" && string(data) != "version: 2\n" {
			t.Errorf("%s: gate.yaml is neither old nor new: %q, %v", fate, data, err)
		}
		if data, err := os.ReadFile(filepath.Join(live, "specs/a")); err != nil || string(data) != "a" {
			t.Errorf("%s: what was right is not any more: %q, %v", fate, data, err)
		}
		_, err = Restore(t.Context(), durable.Disk{}, s, testSource(live), false)
		must(t, err)
		inSync(t, s, testSource(live))
		noUnfinishedFiles(t, dir)
		return met
	})
}

func TestWriteGenerationCanBeCutShortAnywhere(t *testing.T) {
	prepare := func(t *testing.T, dir string) {
		plant(t, filepath.Join(dir, "live"), tree{"gate.yaml": "version: 1\n", "specs/a": "a"})
	}
	for _, how := range []string{"fail-before", "fail-after"} {
		for n := 1; ; n++ {
			dir := t.TempDir()
			prepare(t, dir)
			live, stored := filepath.Join(dir, "live"), filepath.Join(dir, "stored")
			snapshot, err := Scan(t.Context(), testSource(live))
			must(t, err)
			g := NewGeneration("claude", snapshot.Entries)
			err = WriteGeneration(t.Context(), fateful(fmt.Sprint(how, " ", n)), stored, g, openLive(live), GenerationPerms{0o750, 0o640, os.Getegid()})
			s, open := OpenGeneration(stored, testLimits)
			if open == nil {
				must(t, s.Verify(t.Context()))
				must(t, s.Close())
			}
			if err == nil {
				if n < 5 || open != nil {
					t.Errorf("%s: %d steps, then %v", how, n-1, open)
				}
				break
			}
			if !errors.Is(err, errInjected) {
				t.Errorf("%s %d: got %v", how, n, err)
			}
		}
	}
}

// noUnfinishedFiles looks for what a run left behind.
func noUnfinishedFiles(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if durable.IsTemp(filepath.Base(name)) {
			t.Errorf("%s was left behind", name)
		}
		return err
	}))
}

// TestPublishAndRestoreSurviveBeingKilledAtAnyMoment kills in the middle of steps, where chance has it.
func TestPublishAndRestoreSurviveBeingKilledAtAnyMoment(t *testing.T) {
	dir := t.TempDir()
	live, export, stored := filepath.Join(dir, "live"), filepath.Join(dir, "export"), filepath.Join(dir, "stored")
	files := tree{}
	for i := range 40 {
		files[fmt.Sprintf("d%d/%d", i%7, i)] = strings.Repeat(fmt.Sprint(i), 1+i*100)
	}
	plant(t, live, files)
	generate(t, live, stored)
	s, err := OpenGeneration(stored, testLimits)
	must(t, err)
	defer s.Close()
	_, err = testPublisher(live, export).Publish(t.Context(), time.Now())
	must(t, err)
	killed := 0
	for round := range 20 {
		for i := range 40 { // every file changes
			plant(t, live, tree{fmt.Sprintf("d%d/%d", i%7, i): fmt.Sprint(round, i)})
		}
		for _, args := range [][]string{{"publish", live, export, ""}, {"restore", stored, live, ""}} {
			cmd := command(t, os.Geteuid(), args[0], args[1:]...)
			must(t, cmd.Start())
			time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, func() { cmd.Process.Kill() })
			if isKill(cmd.Wait()) {
				killed++
			}
			readExport(t, export, os.Geteuid())
			for name, content := range files {
				data, err := os.ReadFile(filepath.Join(live, name))
				must(t, err)
				var i int
				fmt.Sscanf(name[strings.IndexByte(name, '/')+1:], "%d", &i)
				if string(data) != content && string(data) != fmt.Sprint(round, i) {
					t.Fatalf("%s is neither old nor new: %.50q", name, data)
				}
			}
		}
	}
	if killed == 0 {
		t.Error("no run was cut short")
	}
	_, err = Restore(t.Context(), durable.Disk{}, s, testSource(live), false)
	must(t, err)
	inSync(t, s, testSource(live))
	for range 2 {
		_, err = testPublisher(live, export).Publish(t.Context(), time.Now())
		must(t, err)
	}
	m, _ := readExport(t, export, os.Geteuid())
	if diff := cmp.Diff(digests(m), objectsOf(t, export)); diff != "" {
		t.Errorf("objects: %s", diff)
	}
	noUnfinishedFiles(t, dir)
}
