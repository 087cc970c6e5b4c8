//go:build linux

package safefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// enemyTask names, in the environment, what the test binary does when it runs as the enemy's own process.
const enemyTask = "SAFEFS_TEST_ENEMY"

func TestMain(m *testing.M) {
	task, ok := enemyTasks[os.Getenv(enemyTask)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := runEnemy(task); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An enemyTask prepares in the tree, which is the working directory, and returns what to do over and over, if
// anything, while the test runs.
var enemyTasks = map[string]func() (func() error, error){
	// Holds a write lease on the file "f".
	"lease": func() (func() error, error) {
		fd, err := unix.Open("f", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
		return nil, err
	},
	// Swaps the directory "x" with a link to root's secrets, and the file "y" with a link to the secret.
	"swap": func() (func() error, error) {
		return func() error {
			if err := unix.Renameat2(unix.AT_FDCWD, "x", unix.AT_FDCWD, "link-x", unix.RENAME_EXCHANGE); err != nil {
				return err
			}
			return unix.Renameat2(unix.AT_FDCWD, "y", unix.AT_FDCWD, "link-y", unix.RENAME_EXCHANGE)
		}, nil
	},
	// Replaces "x" and "y" with links and back, with moments where there is nothing.
	"replace": func() (func() error, error) {
		return func() error {
			for _, name := range []string{"x", "y"} {
				for _, step := range [][2]string{{name, "old"}, {"link-" + name, name}, {name, "link-" + name}, {"old", name}} {
					if err := os.Rename(step[0], step[1]); err != nil {
						return err
					}
				}
			}
			return nil
		}, nil
	},
	// Lets the file "f" grow for ever, but for the disk's sake.
	"grow": func() (func() error, error) {
		f, err := os.OpenFile("f", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return nil, err
		}
		block := make([]byte, 8192)
		return func() error {
			if end, err := f.Seek(0, io.SeekEnd); err != nil || end > 8<<20 {
				return f.Truncate(0)
			}
			_, err := f.Write(block)
			return err
		}, nil
	},
	// Makes and removes a second link to the file "f".
	"link": func() (func() error, error) {
		return func() error { return errors.Join(os.Link("f", "g"), os.Remove("g")) }, nil
	},
	// Moves a file about in the directory.
	"churn": func() (func() error, error) {
		i := 0
		return func() error {
			i++
			return os.Rename(fmt.Sprintf("moving-%d", (i-1)%2), fmt.Sprintf("moving-%d", i%2))
		}, nil
	},
}

// runEnemy runs a task until standard input ends.
func runEnemy(prepare func() (func() error, error)) error {
	step, err := prepare()
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	fmt.Println("ready")
	for step != nil {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := step(); err != nil {
			return err
		}
	}
	<-stop
	return nil
}

// enemy starts a process with the enemy's uid in the tree and waits until it is at work. The process ends with the
// test, or when the function returned is called.
func (tr tree) enemy(task string) (stop func()) {
	tr.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = tr.dir
	cmd.Env = append(os.Environ(), enemyTask+"="+task)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: enemy, Gid: enemy, NoSetGroups: true},
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(tr.t, err)
	out, err := cmd.StdoutPipe()
	must(tr.t, err)
	must(tr.t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		tr.t.Fatalf("the enemy does not start: %q, %v, %v", line, err, cmd.Wait())
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		in.Close()
		if err := cmd.Wait(); err != nil {
			tr.t.Errorf("the enemy gave up: %v", err)
		}
	}
	tr.t.Cleanup(stop)
	return stop
}

// secrets puts a secret of root's beside the tree, and into the tree links to it.
func (tr tree) secrets() {
	tr.t.Helper()
	must(tr.t, os.MkdirAll(tr.outside("secrets"), 0o700))
	must(tr.t, os.WriteFile(tr.outside("secrets/f"), []byte(secret), 0o600))
	must(tr.t, os.WriteFile(tr.outside("secrets/"+secretName), nil, 0o600))
	tr.symlink(tr.outside("secrets"), "link-x")
	tr.symlink(filepath.Join("..", "secrets", "f"), "link-y")
}

// secretName is a file beside the secret; not even its name may come back.
const secretName = "root's secret name"
