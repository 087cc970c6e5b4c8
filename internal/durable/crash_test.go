//go:build linux

package durable

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victimTask names, in the environment, what the test binary does when it runs as the process that is killed. Its
// working directory is the test's.
const victimTask = "DURABLE_TEST_VICTIM"

// size is that of the files that victims write: several writes long.
const size = 256 << 10

// die ends the process as a power cut does: nothing is put in order.
func die() error { return unix.Kill(os.Getpid(), unix.SIGKILL) }

var victimTasks = map[string]func() error{
	"write for ever": func() error {
		for i := 0; ; i++ {
			if err := (Disk{}).WriteFile("f", bytes.Repeat([]byte{'a' + byte(i%26)}, size), 0o600); err != nil {
				return err
			}
			fmt.Println("written")
		}
	},
	"die half way": func() error {
		return Disk{}.PutFrom("f", 0o600, func(w io.Writer) error {
			_, err := w.Write([]byte("half"))
			return errors.Join(err, die())
		})
	},
	"die before": func() error {
		disk := Disk{Around: func(_ Step, change func() error) error { return errors.Join(die(), change()) }}
		return disk.WriteFile("f", []byte("new"), 0o600)
	},
	"die after": func() error {
		disk := Disk{Around: func(_ Step, change func() error) error { return errors.Join(change(), die()) }}
		return disk.WriteFile("f", []byte("new"), 0o600)
	},
	"hold the lock": func() error {
		if _, err := AcquireLock(context.Background(), "lock"); err != nil {
			return err
		}
		fmt.Println("locked")
		select {}
	},
}

func TestMain(m *testing.M) {
	task, ok := victimTasks[os.Getenv(victimTask)]
	if !ok {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "the victim survived:", task())
	os.Exit(1)
}

// startVictim starts a task and returns its process and its output.
func startVictim(t *testing.T, dir, task string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), victimTask+"="+task)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

func TestAKilledWriterLeavesTheOldOrTheNew(t *testing.T) {
	for task, want := range map[string]string{"die before": "old", "die half way": "old", "die after": "new"} {
		dir := t.TempDir()
		must(t, Disk{}.WriteFile(filepath.Join(dir, "f"), []byte("old"), 0o600))
		cmd, _ := startVictim(t, dir, task)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Errorf("%s: the victim was not killed: %v", task, err)
		}
		wantFile(t, filepath.Join(dir, "f"), want, 0o600)
		wantOnlyTemps(t, dir)
	}
}

func TestAWriterKilledAnywhereLeavesAWholeFile(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		cmd, out := startVictim(t, dir, "write for ever")
		for range i%3 + 1 {
			line, err := out.ReadString('\n')
			must(t, err)
			if line != "written\n" {
				t.Fatalf("the victim says %q", line)
			}
		}
		must(t, cmd.Process.Kill())
		cmd.Wait()
		wantWhole(t, filepath.Join(dir, "f"))
		wantOnlyTemps(t, dir)
	}
}

func TestReadersSeeWholeFiles(t *testing.T) {
	dir := t.TempDir()
	cmd, out := startVictim(t, dir, "write for ever")
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	for range 100 {
		wantWhole(t, filepath.Join(dir, "f"))
	}
	must(t, cmd.Process.Kill())
}

func wantWhole(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	if len(data) != size || bytes.Count(data, data[:1]) != size {
		t.Fatalf("%d bytes of %d, or of two writes", len(data), size)
	}
}

// wantOnlyTemps checks that beside "f" there is only what IsTemp recognises.
func wantOnlyTemps(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() != "f" && !IsTemp(e.Name()) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

// Where nothing can be flushed, no method claims that it was.
func TestNothingIsDoneUntilItIsFlushed(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"write", "put", "append", "rename", "remove"} {
		must(t, os.WriteFile(at(name), []byte("old"), 0o600))
	}
	disk := Disk{}
	onOwnThread(t, func(t *testing.T) {
		forbid(t, unix.EIO, unix.SYS_FSYNC, unix.SYS_SYNCFS)
		for what, err := range map[string]error{
			"WriteFile": disk.WriteFile(at("write"), []byte("new"), 0o600),
			"Append":    disk.Append(at("append"), []byte("new"), 0o600),
			"MkdirAll":  disk.MkdirAll(at("mkdir"), 0o700),
			"Rename":    disk.Rename(at("rename"), at("renamed")),
			"Symlink":   disk.Symlink("target", at("symlink")),
			"Remove":    disk.Remove(at("remove")),
			"RemoveAll": disk.RemoveAll(at("mkdir")),
			"SyncFS":    disk.SyncFS(dir),
		} {
			if !errors.Is(err, unix.EIO) {
				t.Errorf("%s: got %v, want EIO", what, err)
			}
		}
		if err := disk.Put(at("put"), []byte("new"), 0o600); err != nil {
			t.Errorf("Put flushes: %v", err)
		}
	})
	wantFile(t, at("write"), "old", 0o600) // flushed before it gets its name
	wantFile(t, at("put"), "new", 0o600)
}

// A directory that its owner may not read can be changed, but not flushed: a name in it may not last.
func TestNothingIsDoneUntilItsDirectoryIsFlushed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it becomes another user")
	}
	const user = 12345
	dir, err := os.MkdirTemp("", "durable-")
	must(t, err)
	defer os.RemoveAll(dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"write", "put", "append", "rename", "remove"} {
		must(t, os.WriteFile(at(name), []byte("old\n"), 0o600))
		must(t, os.Chown(at(name), user, user))
	}
	must(t, os.Chown(dir, user, user))
	must(t, os.Chmod(dir, 0o300))
	onOwnThread(t, func(t *testing.T) {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, user, user, user); errno != 0 {
			t.Fatal(errno)
		}
		disk := Disk{}
		for what, err := range map[string]error{
			"WriteFile": disk.WriteFile(at("write"), []byte("new"), 0o600),
			"Append":    disk.Append(at("append"), []byte("new\n"), 0o600),
			"MkdirAll":  disk.MkdirAll(at("mkdir"), 0o700),
			"Rename":    disk.Rename(at("rename"), at("renamed")),
			"Symlink":   disk.Symlink("target", at("symlink")),
			"Remove":    disk.Remove(at("remove")),
			"RemoveAll": disk.RemoveAll(at("mkdir")),
		} {
			if !errors.Is(err, unix.EACCES) {
				t.Errorf("%s: got %v, want EACCES", what, err)
			}
		}
		must(t, disk.Put(at("put"), []byte("new"), 0o600))
	})
	wantFile(t, at("write"), "new", 0o600) // it already means the new one
	wantFile(t, at("append"), "old\nnew\n", 0o600)
	wantNames(t, dir, "append", "put", "renamed", "symlink", "write")
}

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts a small file system")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	onOwnThread(t, func(t *testing.T) {
		if err := unix.Unshare(unix.CLONE_NEWNS); err == unix.EPERM {
			t.Skip("this sandbox forbids mounts")
		}
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		must(t, unix.Mount("none", dir, "tmpfs", 0, "size=64k"))
		for what, write := range writers {
			must(t, write(Disk{}, name, []byte("old"), 0o600))
			err := write(Disk{}, name, make([]byte, 100_000), 0o644)
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), tempPrefix) {
				t.Errorf("%s: got %v, want ENOSPC of %s", what, err, name)
			}
			wantFile(t, name, "old", 0o600)
			wantNames(t, dir, "f")
		}
	})
}

// onOwnThread runs f on a thread that ends with it: what f does to the thread, nobody else sees.
func onOwnThread(t *testing.T, f func(*testing.T)) {
	t.Run("thread", func(t *testing.T) {
		runtime.LockOSThread()
		f(t)
	})
}

// forbid lets system calls fail in this thread.
func forbid(t *testing.T, errno unix.Errno, calls ...uint32) {
	t.Helper()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the call
	for _, call := range calls {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must(t, unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
}
