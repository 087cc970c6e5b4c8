package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The user that agents run as in the scripts, in the namespace's own /etc/passwd.
const (
	agentName = "gh-agent"
	agentID   = 31337
)

// TestMain makes a place for the programs, and as root moves into a mount namespace of its own, where /etc may be changed: the
// place of root's index is fixed, and the scripts need a user.
func TestMain(m *testing.M) {
	if os.Getenv("GATEHOUSE_TEST_INSIDE_SYSTEMD") != "" || os.Getenv("GATEHOUSE_TEST_SOCKET") != "" {
		os.Exit(m.Run()) // a machine has all this to itself, and a service stands in the namespace of its test
	}
	if os.Geteuid() == 0 && os.Getenv("GATEHOUSE_TEST_NAMESPACE") == "" {
		os.Exit(withPrograms(inNamespace))
	}
	if os.Getenv("GATEHOUSE_TEST_NAMESPACE") != "" {
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, "furnish the namespace:", err)
			os.Exit(1)
		}
	}
	if os.Getenv(builtDir) == "" {
		os.Exit(withPrograms(m.Run))
	}
	os.Exit(m.Run())
}

// inNamespace runs this test binary again in a new mount namespace.
func inNamespace() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Most of what runs in parallel is machines, which wait more than they work.
	cmd := exec.Command(self, append([]string{"-test.parallel=4"}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), "GATEHOUSE_TEST_NAMESPACE=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState == nil {
			fmt.Fprintln(os.Stderr, "new mount namespace:", err)
		}
		return 1
	}
	return 0
}

// furnish puts layers over what an installation writes, which vanish with the namespace, an agent's account into them,
// and hides a systemd that runs on this machine.
func furnish() error {
	const layers = "/mnt"
	if err := syscall.Mount("tmpfs", layers, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, dir := range []string{"/etc", "/usr/local", "/var/lib", "/srv"} {
		upper, work := filepath.Join(layers, dir, "upper"), filepath.Join(layers, dir, "work")
		for _, d := range []string{upper, work} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		if err := syscall.Mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+upper+",workdir="+work); err != nil {
			return fmt.Errorf("overlay on %s: %w", dir, err)
		}
	}
	if _, err := os.Lstat("/run/systemd/system"); err == nil {
		if err := syscall.Mount("tmpfs", "/run/systemd", "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}
	for file, line := range map[string]string{
		"/etc/passwd": fmt.Sprintf("%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n", agentName, agentID, agentID),
		"/etc/group":  fmt.Sprintf("%s:x:%d:\n", agentName, agentID),
	} {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if _, err := f.WriteString(line); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return os.RemoveAll("/etc/gatehouse")
}

// build returns a directory with the programs, as they are installed. They are linked once for all tests.
func build(t testing.TB) string {
	t.Helper()
	dir, err := programsOnce()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var programsOnce = sync.OnceValues(func() (string, error) {
	dir := os.Getenv(builtDir) // not t.TempDir: it is shared, and the agent's user must get there
	if dir == "" {
		return "", errors.New("TestMain has made no directory for the programs")
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/", "gatehouse/cmd/warden", "gatehouse/cmd/gate", "gatehouse/cmd/gate-mcp", "gatehouse/cmd/warden-exchange") // all that the package has
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

// builtDir is the variable that names the directory of the programs.
const builtDir = "GATEHOUSE_TEST_PROGRAMS"

// withPrograms runs the tests with a directory for the programs, which is gone afterwards.
func withPrograms(run func() int) int {
	dir, err := os.MkdirTemp("", "gatehouse-bin-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(os.Chmod(dir, 0o755), os.Setenv(builtDir, dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// TestScripts runs what a user types, with the real programs, as two users.
func TestScripts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: the scripts act as two users")
	}
	t.Parallel() // to machines that other tests wait for; what changes this namespace as well came before
	bin := build(t)
	testscript.RunT(oneByOne{t}, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               func(env *testscript.Env) error { return setUp(env, bin) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agent":     asAgent,
			"drift":     driftID,
			"decides":   writeDecision,
			"fails":     couldNotTell,
			"notices":   countNotices,
			"slackwill": scriptSlack,
			"publishes": forgePublication,
		},
	})
}

// oneByOne keeps scripts from running side by side: there is one /etc/gatehouse.
type oneByOne struct{ *testing.T }

func (t oneByOne) Parallel() {}

func (t oneByOne) Run(name string, run func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { run(oneByOne{t}) })
}

func (t oneByOne) Verbose() bool { return testing.Verbose() }
