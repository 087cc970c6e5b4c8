//go:build linux

package safefs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSwappedDirectoriesNeverGiveTheSecret(t *testing.T) {
	for _, task := range []string{"swap", "replace"} {
		t.Run(task, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, opt Options) {
				tr := newTree(t)
				tr.secrets()
				tr.mkdir("x")
				tr.file("x/f", "good")
				tr.file("y", "good")
				d := tr.open(opt)
				tr.enemy(task)

				// Each attempt returns what was read; naive is what a reader gets that takes no care.
				attempts := map[string]func() (string, error){
					"ReadFile on the way":   func() (string, error) { data, _, err := d.ReadFile("x/f", nil); return string(data), err },
					"ReadFile":              func() (string, error) { data, _, err := d.ReadFile("y", nil); return string(data), err },
					"CopyFile":              func() (string, error) { return copyFile(d, "y") },
					"OpenDir and ReadFile":  func() (string, error) { return readIn(d, "x", "f") },
					"OpenDir and List":      func() (string, error) { return listIn(d, "x") },
					"OpenDir from the root": func() (string, error) { return readFrom(tr.path("x"), opt, "f") },
					"Lstat and Readlink":    func() (string, error) { return lookAt(d, "x/f") },
				}
				naive := func() bool {
					data, _ := os.ReadFile(tr.path("x/f"))
					return string(data) == secret
				}
				good, refused, leaked := make(map[string]int), make(map[string]int), 0
				deadline := time.Now().Add(time.Minute)
				seenAll := func() bool {
					return leaked > 0 && len(good) == len(attempts) && len(refused) == len(attempts)
				}
				for i := 0; i < 2500 || !seenAll() && time.Now().Before(deadline); i++ {
					for what, attempt := range attempts {
						got, err := attempt()
						switch {
						case strings.Contains(got+fmt.Sprint(err), secret):
							t.Fatalf("%s after %d attempts: got %q, %v", what, i, got, err)
						case err == nil && got != "good":
							t.Fatalf("%s: got %q", what, got)
						case err == nil:
							good[what]++
						case !isOneOf(err, Symlink, Missing, InFlux):
							t.Fatalf("%s: %v", what, err)
						default:
							refused[what]++
						}
					}
					if naive() {
						leaked++
					}
				}
				t.Logf("read %v, refused %v, a naive reader got the secret %d times", good, refused, leaked)
				if !seenAll() {
					t.Error("the race was not won and lost by every method: it shows nothing")
				}
			})
		})
	}
}

func copyFile(d *Dir, name string) (string, error) {
	var b strings.Builder
	_, err := d.CopyFile(&b, name)
	return b.String(), err
}

func readIn(d *Dir, dir, name string) (string, error) {
	sub, err := d.OpenDir(dir)
	if err != nil {
		return "", err
	}
	defer sub.Close()
	data, _, err := sub.ReadFile(name, nil)
	return string(data), err
}

func readFrom(path string, opt Options, name string) (string, error) {
	d, err := OpenDir(path, opt)
	if err != nil {
		return "", err
	}
	defer d.Close()
	data, _, err := d.ReadFile(name, nil)
	return string(data), err
}

func listIn(d *Dir, dir string) (string, error) {
	sub, err := d.OpenDir(dir)
	if err != nil {
		return "", err
	}
	defer sub.Close()
	names, err := sub.List(100)
	if err == nil && slices.Equal(names, []string{"f"}) {
		return "good", nil
	}
	return strings.Join(names, " "), err
}

// lookAt returns "good" for the file that has the size of the good one.
func lookAt(d *Dir, name string) (string, error) {
	target, _, err := d.Readlink(name)
	if err == nil || !isOneOf(err, NotSymlink) {
		return target, err
	}
	info, err := d.Lstat(name)
	if err == nil && info.Size == int64(len("good")) {
		return "good", nil
	}
	return fmt.Sprint(info), err
}

func isOneOf(err error, reasons ...Reason) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && slices.Contains(reasons, refused.Reason)
}

func TestALeaseIsBusyAtOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("f", "good")
		d := tr.open(opt)
		stop := tr.enemy("lease")
		start := time.Now()
		if _, err := d.Lstat("f"); err != nil {
			t.Errorf("Lstat of a leased file: %v", err)
		}
		_, _, err := d.ReadFile("f", nil)
		wantRefused(t, err, "f", Busy)
		_, err = copyFile(d, "f")
		wantRefused(t, err, "f", Busy)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		stop()
		if data, _, err := d.ReadFile("f", nil); err != nil || string(data) != "good" {
			t.Errorf("after the lease: %q, %v", data, err)
		}
	})
}

func TestAFIFOIsRefusedAtOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.mknod("f", unix.S_IFIFO, 0)
		tr.symlink("f", "link")
		d := tr.open(opt)
		start := time.Now()
		_, _, err := d.ReadFile("f", nil)
		wantRefused(t, err, "f", Special)
		_, err = OpenDir(tr.path("f"), opt)
		wantRefused(t, err, tr.path("f"), Special)
		_, _, err = d.ReadFile("link", nil)
		wantRefused(t, err, "link", Symlink)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestAGrowingFileEnds(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("f", "")
		d := tr.open(opt)
		tr.enemy("grow")
		refused := make(map[Reason]int)
		deadline := time.Now().Add(time.Minute)
		var buf []byte
		for i := 0; i < 500 || (refused[Size] == 0 || refused[InFlux] == 0) && time.Now().Before(deadline); i++ {
			data, info, err := d.ReadFile("f", buf)
			if refusal, ok := errors.AsType[*RefusedError](err); ok && isOneOf(err, Size, InFlux) {
				refused[refusal.Reason]++
				continue
			}
			if err != nil || int64(len(data)) != info.Size || info.Size > opt.MaxFile {
				t.Fatalf("read %d bytes of %d: %v", len(data), info.Size, err)
			}
			buf = data
		}
		if refused[Size] == 0 || refused[InFlux] == 0 {
			t.Errorf("refused %v: want some for their size and some in flux", refused)
		}
	})
}

// What was judged when it was looked at is judged again when it is open.
func TestAFileIsJudgedAsItIsRead(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("f", "good")
		d := tr.open(opt)
		tr.enemy("link")
		good, links := 0, 0
		deadline := time.Now().Add(time.Minute)
		for i := 0; i < 5000 || (good == 0 || links == 0) && time.Now().Before(deadline); i++ {
			_, info, err := d.ReadFile("f", nil)
			switch {
			case err == nil && info.Nlink == 1:
				good++
			case isOneOf(err, Links):
				links++
			case !isOneOf(err, InFlux):
				t.Fatalf("read a file with %d links: %v", info.Nlink, err)
			}
		}
		if good == 0 || links == 0 {
			t.Errorf("read %d times, refused for its links %d times: want some of both", good, links)
		}
	})
}

func TestADirectoryThatChangesIsInFlux(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		tr.file("moving-0", "")
		const staying = 500
		for i := range staying {
			tr.file(fmt.Sprintf("stays-%0150d", i), "")
		}
		d := tr.open(opt)
		tr.enemy("churn")
		influx := 0
		deadline := time.Now().Add(time.Minute)
		for i := 0; i < 50 || influx == 0 && time.Now().Before(deadline); i++ {
			names, err := d.List(1000)
			switch {
			case isOneOf(err, InFlux):
				influx++
			case err != nil:
				t.Fatal(err)
			case len(names) < staying: // the clock of a file system may be too coarse to show that one is missing
				t.Fatalf("listed %d names of %d", len(names), staying)
			}
		}
		if influx == 0 {
			t.Error("no list was in flux")
		}
	})
}

// The writer of CopyFile runs between two reads: what it does to the file happens while the file is read.
func TestAChangeWhileReadingIsInFlux(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 3*chunk/16)
	edit := func(flags int, change func(*os.File) error) func(tree) error {
		return func(tr tree) error {
			f, err := os.OpenFile(tr.path("f"), os.O_WRONLY|flags, 0)
			if err != nil {
				return err
			}
			return errors.Join(change(f), f.Close())
		}
	}
	past := time.Unix(1e9, 0)
	for what, change := range map[string]func(tree) error{
		"appended to":      edit(os.O_APPEND, func(f *os.File) error { _, err := f.Write([]byte("more")); return err }),
		"doubled":          edit(os.O_APPEND, func(f *os.File) error { _, err := f.WriteString(content); return err }),
		"truncated":        edit(0, func(f *os.File) error { return f.Truncate(chunk + 1) }),
		"emptied":          edit(os.O_TRUNC, func(f *os.File) error { return nil }),
		"rewritten behind": edit(0, func(f *os.File) error { _, err := f.WriteAt([]byte("X"), 0); return err }),
		"rewritten ahead":  edit(0, func(f *os.File) error { _, err := f.WriteAt([]byte("X"), 2*chunk); return err }),
		"rewritten, and its time put back": func(tr tree) error {
			err := edit(0, func(f *os.File) error { _, err := f.WriteAt([]byte("X"), 2*chunk); return err })(tr)
			return errors.Join(err, os.Chtimes(tr.path("f"), past, past))
		},
		"chmod":  func(tr tree) error { return os.Chmod(tr.path("f"), 0o666) },
		"chown":  func(tr tree) error { return os.Chown(tr.path("f"), stranger, stranger) },
		"linked": func(tr tree) error { return os.Link(tr.path("f"), tr.path("g")) },
		"replaced": func(tr tree) error {
			return errors.Join(os.WriteFile(tr.path("g"), nil, 0o644), os.Rename(tr.path("g"), tr.path("f")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, opt Options) {
				tr := newTree(t)
				tr.file("f", content)
				must(t, os.Chtimes(tr.path("f"), past, past))
				nextTick(t, tr)
				d := tr.open(opt)
				writes := 0
				_, err := d.CopyFile(writerFunc(func(p []byte) (int, error) {
					if writes++; writes == 1 {
						must(t, change(tr))
					}
					return len(p), nil
				}), "f")
				wantRefused(t, err, "f", InFlux)
			})
		})
	}
}

// What is read ends with what was announced, however fast the file grows.
func TestACopyNeverReadsMoreThanAnnounced(t *testing.T) {
	inBothModes(t, func(t *testing.T, opt Options) {
		tr := newTree(t)
		content := strings.Repeat("x", 3*chunk)
		tr.file("f", content)
		d := tr.open(opt)
		total := 0
		_, err := d.CopyFile(writerFunc(func(p []byte) (int, error) {
			total += len(p)
			f, err := os.OpenFile(tr.path("f"), os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString(content)
			must(t, errors.Join(err, f.Close()))
			return len(p), nil
		}), "f")
		wantRefused(t, err, "f", InFlux)
		if total > len(content)+1 {
			t.Errorf("read %d bytes of a file that announced %d", total, len(content))
		}
	})
}

// nextTick waits until a change gets a later time than the file "f" has, on file systems with a coarse clock too.
func nextTick(t *testing.T, tr tree) {
	t.Helper()
	var file, probe unix.Stat_t
	must(t, unix.Stat(tr.path("f"), &file))
	for probe.Ctim.Nano() <= file.Ctim.Nano() {
		must(t, os.WriteFile(tr.outside("probe"), nil, 0o600))
		must(t, os.Chmod(tr.outside("probe"), 0o600))
		must(t, unix.Stat(tr.outside("probe"), &probe))
	}
}
