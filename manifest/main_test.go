//go:build linux

package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// enemy is the user who owns what root reads in these tests. Nobody needs to know them.
const enemy = 61234

// TestMain runs the test binary as a child of a test, if the test says so.
func TestMain(m *testing.M) {
	if role := os.Getenv("MANIFEST_TEST_CHILD"); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child does what a test wants done in another process.
func child(role string, args []string) error {
	ctx := context.Background()
	switch role {
	case "publish": // LIVE EXPORT FATE
		p := testPublisher(args[0], args[1])
		p.Disk = fateful(args[2])
		_, err := p.Publish(ctx, time.Now())
		return err
	case "restore": // GENERATION LIVE FATE
		g, err := OpenGeneration(args[0], testLimits)
		if err != nil {
			return err
		}
		_, err = Restore(ctx, fateful(args[2]), g, testSource(args[1]), false)
		return err
	case "lease": // FILE: hold a write lease until killed
		f, err := os.OpenFile(args[0], os.O_RDWR, 0)
		if err != nil {
			return err
		}
		signal.Ignore(unix.SIGIO)
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			return err
		}
		fmt.Println("held")
		for {
			unix.Pause()
		}
	case "swap": // A B C: exchange what A and B name until killed, by way of C
		fmt.Println("swapping")
		for {
			if err := errors.Join(os.Rename(args[0], args[2]), os.Rename(args[1], args[0]), os.Rename(args[2], args[1])); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown role %q", role)
	}
}

// command is the test binary in a role, as the given user.
func command(t *testing.T, uid int, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if uid != os.Geteuid() { // its directory may be closed to others
		self = shared(t, self)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "MANIFEST_TEST_CHILD="+role)
	cmd.Stderr = os.Stderr
	if uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	return cmd
}

// start starts cmd, waits for its first line, and ends it with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Fatalf("%s does not start: %v", cmd, err)
	}
}

// shared copies a program to where everybody can run it.
func shared(t *testing.T, program string) string {
	t.Helper()
	data, err := os.ReadFile(program)
	must(t, err)
	name := filepath.Join(openDir(t), "child")
	must(t, os.WriteFile(name, data, 0o755))
	return name
}

// openDir is a temporary directory that other users can enter.
func openDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

// errInjected is the error of a step that a test lets fail.
var errInjected = errors.New("injected")

// fateful is a disk on which one step ends badly. A fate is "" or "HOW N": at step N the process is killed before or
// after it took place, or an error is returned without or after it.
func fateful(fate string) durable.Disk {
	var how string
	var at, count atomic.Int64
	var n int64
	fmt.Sscan(fate, &how, &n)
	at.Store(n)
	return durable.Disk{Around: func(_ durable.Step, change func() error) error {
		if count.Add(1) != at.Load() {
			return change()
		}
		switch how {
		case "kill-before":
			kill()
		case "kill-after":
			change()
			kill()
		case "fail-before":
			return errInjected
		case "fail-after":
			return errors.Join(change(), errInjected)
		}
		return change()
	}}
}

func kill() {
	unix.Kill(os.Getpid(), unix.SIGKILL)
	unix.Pause()
}

var testLimits = Limits{Entries: 1000, File: 1 << 20, Total: 16 << 20}

func testSource(live string) Source {
	return Source{Live: []Live{{Name: "policy", Root: live}}, Owner: uint32(os.Geteuid()), Limits: testLimits}
}

func testPublisher(live, export string) *Publisher {
	return &Publisher{Gate: "claude", Host: "agent-1", Source: testSource(live), Export: export}
}

// A tree describes files: a name that ends in / is a directory, a value that begins with -> a link, any other value a
// file's content. Modes are 0755 and 0644.
type tree map[string]string

// plant makes the files of a tree below dir, which it makes too.
func plant(t testing.TB, dir string, files tree) {
	t.Helper()
	mkdir := func(name string) {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(dir)
	for name, content := range files {
		full := dir + "/" + name // not cleaned: names are as odd as the test wants them
		if target, ok := strings.CutPrefix(content, "->"); ok {
			mkdir(filepath.Dir(full))
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if strings.HasSuffix(name, "/") {
			mkdir(full)
			continue
		}
		mkdir(filepath.Dir(full))
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// give makes dir and all below it the enemy's.
func give(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(name, enemy, enemy))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it acts as two users")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
