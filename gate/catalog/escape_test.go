//go:build linux

package catalog

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAProfileIsNotWidenedByALinkInTheProject(t *testing.T) {
	w := newWorld(t, 20, strings.Replace(entry("list", "", `"x"`, `, "confine": {"read": ["/usr", "/lib", "/lib64", "/bin"], "write": ["project/out"]}`),
		`"BIN", "tool", "x"`, `"/usr/bin/touch", "out/made"`, 1))
	elsewhere := filepath.Join(w.dir, "elsewhere")
	w.must(os.Mkdir(elsewhere, 0o755))
	out := filepath.Join(w.project, "out")
	for job, target := range map[string]string{"root": "/", "parent": "..", "absolute": elsewhere} {
		w.must(os.Symlink(target, out))
		r := w.call(job, "list")
		if w.want(r, NotConfined); r.Ran || !strings.Contains(r.Error, "out of the project") {
			t.Errorf("%s: %+v", job, r)
		}
		w.must(os.Remove(out))
	}
	w.must(os.Mkdir(filepath.Join(w.project, "real"), 0o755))
	w.must(os.Symlink("real", out))
	w.want(w.call("inside", "list"), OK)
	if _, err := os.Stat(filepath.Join(w.project, "real/made")); err != nil {
		t.Error(err)
	}
}

func TestWhatIsExchangedAfterTheLookIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(real, name) }
	for _, name := range []string{"mine/project", "others/project"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	seen, _, err := see(at("mine/project"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := seen.hold(true)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, exchange := range []struct{ name, from, to string }{
		{"for a directory", "others/project", "mine/project"},
		{"the directory above", "others", "mine"},
	} {
		swap := func() {
			if err := unix.Renameat2(unix.AT_FDCWD, at(exchange.from), unix.AT_FDCWD, at(exchange.to), unix.RENAME_EXCHANGE); err != nil {
				t.Fatal(err)
			}
		}
		swap()
		if f, err := seen.hold(false); err == nil {
			f.Close()
			t.Errorf("%s: it is taken", exchange.name)
		}
		swap()
	}
	// For a link to another's.
	if err := os.Rename(at("mine"), at("away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("others", at("mine")); err != nil {
		t.Fatal(err)
	}
	if f, err := seen.hold(false); err == nil {
		f.Close()
		t.Error("a link is followed")
	}
}

func TestAPlaceOfTheOwnersIsNotReachedThroughTheLinksOfAnAgent(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a link of another user's")
	}
	dir := t.TempDir()
	link, behind := filepath.Join(dir, "link"), filepath.Join(dir, "behind")
	for _, make := range []error{os.Symlink("/usr/bin", link), os.Symlink(link+"/true", behind)} {
		if make != nil {
			t.Fatal(make)
		}
	}
	if err := rootsLinks(behind); err != nil {
		t.Errorf("root's links: %v", err)
	}
	if err := os.Lchown(link, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := rootsLinks(behind); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("a link in the middle: %v", err)
	}
	if err := rootsOwn(behind); err == nil {
		t.Error("a program behind the link of another user is root's own")
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := rootsLinks(filepath.Join(dir, "loop")); err == nil {
		t.Error("a link to itself has an end")
	}
	for _, path := range []string{"/bin/.././bin//true", "/proc/self/exe", "/"} {
		if err := rootsLinks(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// apartTool is what the test below does once it is kept apart: it tries what one tool can do to another.
func apartTool(how, pid, dir string) int {
	runtime.LockOSThread() // a domain is a thread's
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	keep := apart
	if how == "files" {
		keep = apartByFiles
	}
	if err := keep(); err != nil {
		fmt.Println(err)
		return 1
	}
	mem, err := os.OpenFile("/proc/"+pid+"/mem", os.O_RDWR, 0)
	if err == nil {
		mem.Close()
		fmt.Println("MEMORY")
	}
	if _, err := os.Readlink("/proc/" + pid + "/fd/0"); err == nil {
		fmt.Println("DESCRIPTORS")
	}
	var other int
	fmt.Sscan(pid, &other)
	if how == "signals" && unix.Kill(other, 0) == nil {
		fmt.Println("SIGNALS")
	}
	// And what it has to go on being able to do.
	if err := os.Rename(filepath.Join(dir, "a/file"), filepath.Join(dir, "b/file")); err != nil {
		fmt.Println(err)
	}
	if out, err := exec.Command("/bin/sh", "-c", "sleep 100 & kill $!").CombinedOutput(); err != nil {
		fmt.Printf("%v %s\n", err, out)
	}
	return 0
}

func TestToolsCannotReachIntoEachOther(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: becomes another user")
	}
	other := exec.Command("/usr/bin/sleep", "1000")
	other.SysProcAttr = credential()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	for _, how := range []string{"signals", "files"} {
		dir, err := os.MkdirTemp("", "gatehouse-apart-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for _, make := range []error{os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "a"), 0o777), os.Mkdir(filepath.Join(dir, "b"), 0o777),
			os.WriteFile(filepath.Join(dir, "a/file"), nil, 0o666), os.Chmod(filepath.Join(dir, "a"), 0o777), os.Chmod(filepath.Join(dir, "b"), 0o777)} {
			if make != nil {
				t.Fatal(make)
			}
		}
		program := filepath.Join(dir, "program")
		copyProgram(t, program)
		cmd := exec.Command(program, "tool", "apart", how, fmt.Sprint(other.Process.Pid), dir)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", []string{}, credential()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
	}
}

func credential() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64322, Gid: 64322}}
}

func TestACallOfManyKeysIsReadInNoTime(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"tool":"x","args":{`)
	for n := 0; b.Len() < maxCall-20; n++ {
		fmt.Fprintf(&b, `"%x":1,`, n)
	}
	b.WriteString(`"z":1}}`)
	begun := time.Now()
	if _, err := readJSON([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
