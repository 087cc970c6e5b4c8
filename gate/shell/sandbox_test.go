package shell

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A sandbox runs lines in a real bash that can do no harm: in namespaces of its own, without a network, as a user who owns
// nothing, below a root of which only the throw-away directory /w can be written, with little of everything. Programs are
// stand-ins that note how they were called, and so does bash for every name that it does not find; next to them there are
// only the wrappers that are under test.
type sandbox struct {
	dir   string // what the lines see as /w; they start in /w/t
	cmd   *exec.Cmd
	lines io.WriteCloser
	done  *bufio.Reader
}

// sandboxOptions are what a sandbox looks like to Parse.
var sandboxOptions = Options{Dir: "/w/t", Home: "/home"}

// sandboxWrappers are the programs that lines in a sandbox have, as far as the machine has them.
const sandboxWrappers = "bash sh dash env timeout nice nohup setsid stdbuf xargs find cat flock ionice chrt taskset setarch " +
	"prlimit time chronic linux64 true false echo printf busybox script"

// sandboxSetup is run by root in the new namespaces; $1 is the directory for /w.
const sandboxSetup = `set -e
root=$1/root
mkdir "$root"
mount -t tmpfs -o size=16m,mode=755 none "$root"
cd "$root"
mkdir usr etc home stub w proc dev
mount --bind /usr usr && mount -o remount,bind,ro usr
for d in bin sbin lib lib32 lib64 libx32; do
	if [ -L "/$d" ]; then cp -P "/$d" "$d"; elif [ -d "/$d" ]; then mkdir "$d"; mount --bind "/$d" "$d"; mount -o remount,bind,ro "$d"; fi
done
mount -t proc none proc
for d in null zero full; do : > "dev/$d"; mount --bind "/dev/$d" "dev/$d"; done
ln -s /proc/self/fd dev/fd
cp -r "$1/stub/." stub
mount --bind "$1/w" w
mount -o remount,ro "$root"
exec chroot "$root" /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --no-new-privs \
	/usr/bin/env -i PATH=/stub HOME=/home LC_ALL=C.UTF-8 \
	"BASH_FUNC_command_not_found_handle%%=() { builtin printf '%s\\0' \$# \"\$PWD\" \"\$@\" >>/w/notes; return 127; }" \
	/bin/bash --norc /stub/driver
`

// sandboxDriver runs one line after the other. Descriptor 9 is held by all that a line starts, so that it can be waited for.
const sandboxDriver = `while IFS= builtin read -r -d '' line; do
	cd /w/t
	IFS= builtin read -r -d '' none < <(
		ulimit -S -c 0; ulimit -t 1; ulimit -f 2048; ulimit -v 1000000; ulimit -u 400
		exec bash -c -- "$line" 9>&1 >/w/out 2>&1 </dev/null
	)
	echo 2>/dev/null
done
`

const sandboxStub = `#!/bin/sh
printf '%s\0' "$(($#+1))" "$PWD" "${0##*/}" "$@" >>/w/notes
`

// newSandbox starts a sandbox below dir, which must not be used for anything else.
func newSandbox(dir string) (*sandbox, error) {
	for _, d := range []string{"w/t", "stub"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	for name, end := range map[string]string{"r": "", "r2": "", "q": "exit 1\n", "p": "printf '%s\\n' \"$*\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, "stub", name), []byte(sandboxStub+end), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "stub/driver"), []byte(sandboxDriver), 0o644); err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(sandboxWrappers) {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, "stub", name)); err != nil && !os.IsExist(err) {
				return nil, err
			}
		}
	}
	s := &sandbox{dir: filepath.Join(dir, "w")}
	if err := errors.Join(os.Chmod(s.dir, 0o777), s.clean()); err != nil {
		return nil, err
	}
	s.cmd = exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts",
		"sh", "-c", sandboxSetup, "sh", dir)
	s.cmd.Stderr = os.Stderr
	var err error
	if s.lines, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.done = bufio.NewReader(out)
	return s, s.cmd.Start()
}

func (s *sandbox) stop() {
	s.lines.Close()
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// sandboxFiles are what is in /w/t when a line starts; directories end in a slash.
var sandboxFiles = []string{"a.txt", "b.txt", "d/", "d/c.txt", "d/e/", "x/"}

// clean makes /w/t what it should be.
func (s *sandbox) clean() error {
	top := filepath.Join(s.dir, "t")
	var found []string
	filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != top {
			path = path[len(top)+1:]
			if d.IsDir() {
				path += "/"
			}
			found = append(found, path)
		}
		return nil
	})
	if slices.Sort(found); !slices.Equal(found, sandboxFiles) {
		if err := os.RemoveAll(top); err != nil {
			return err
		}
		if err := errors.Join(os.Mkdir(top, 0o777), os.Chmod(top, 0o777)); err != nil {
			return err
		}
		for _, path := range sandboxFiles {
			at := filepath.Join(top, path)
			if strings.HasSuffix(path, "/") {
				if err := errors.Join(os.Mkdir(at, 0o777), os.Chmod(at, 0o777)); err != nil {
					return err
				}
			} else if err := os.WriteFile(at, []byte(path+"\n"), 0o444); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"notes", "out"} {
		path := filepath.Join(s.dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Chmod(path, 0o666)); err != nil {
			return err
		}
	}
	return nil
}

var errHangs = errors.New("the line does not end")

// run gives the calls that bash makes when it runs line, in so long a time at most.
func (s *sandbox) run(line string, limit time.Duration) (calls []ran, output string, err error) {
	if strings.IndexByte(line, 0) >= 0 {
		return nil, "", errors.New("a NUL cannot be passed to bash")
	}
	if err := s.clean(); err != nil {
		return nil, "", err
	}
	if _, err := io.WriteString(s.lines, line+"\x00"); err != nil {
		return nil, "", err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.done.ReadByte()
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(limit):
		err = errHangs
	}
	if err != nil {
		return nil, "", err
	}
	notes, err := os.ReadFile(filepath.Join(s.dir, "notes"))
	if err != nil {
		return nil, "", err
	}
	out, _ := os.ReadFile(filepath.Join(s.dir, "out"))
	calls, ok := readNotes(notes)
	if !ok {
		return nil, "", errors.New("the line wrote into the notes itself")
	}
	return calls, string(out), nil
}

func readNotes(notes []byte) (calls []ran, ok bool) {
	fields := strings.Split(string(bytes.TrimSuffix(notes, []byte{0})), "\x00")
	for len(fields) > 2 {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 1 || n > len(fields)-2 {
			return nil, false
		}
		calls = append(calls, ran{dir: fields[1], argv: fields[2 : 2+n]})
		fields = fields[2+n:]
	}
	return calls, len(fields) == 1 && fields[0] == "" || len(fields) == 0
}

// A bashRunner keeps a sandbox, and replaces one that a line has spoiled.
type bashRunner struct {
	sync.Mutex
	dir   string
	n     int
	at    *sandbox
	limit time.Duration
}

func newBashRunner(tb testing.TB) *bashRunner {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("needs root: lines are run in namespaces of their own")
	}
	dir, err := os.MkdirTemp("", "shell")
	if err != nil {
		tb.Fatal(err)
	}
	b := &bashRunner{dir: dir, limit: time.Minute}
	tb.Cleanup(func() {
		if b.at != nil {
			b.at.stop()
		}
		os.RemoveAll(dir)
	})
	calls, out, err := b.run("r a 'b c'; nosuch d")
	if err != nil || len(calls) != 2 {
		tb.Fatalf("the sandbox does not work: %q %q %v", calls, out, err)
	}
	b.limit = 5 * time.Second // the fuzzer gives up after ten; what takes longer says nothing
	return b
}

func (b *bashRunner) run(line string) (calls []ran, output string, err error) {
	b.Lock()
	defer b.Unlock()
	if b.at == nil {
		b.n++
		dir := filepath.Join(b.dir, strconv.Itoa(b.n))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, "", err
		}
		if b.at, err = newSandbox(dir); err != nil {
			return nil, "", err
		}
	}
	calls, output, err = b.at.run(line, b.limit)
	if err != nil {
		b.at.stop()
		b.at = nil
	}
	return calls, output, err
}
