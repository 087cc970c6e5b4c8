package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// BenchmarkMemory reports the peak resident size of whole processes, by wait4: a publication, a pass that finds all its
// files new, their acceptance, and a pass that finds nothing. What is less than "help" cannot be told apart from it: a
// process starts with the size of the one that started it. The programs are linked as they are shipped.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench Memory -benchtime 1x ./cmd/warden
func BenchmarkMemory(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root: it acts as two users")
	}
	bin := build(b)
	for _, size := range []struct {
		name         string
		files, bytes int
	}{{"100 files", 100, 4 << 10}, {"10 000 files", 10_000, 4 << 10}, {"one file of 900 MB", 1, 900e6}} {
		b.Run(size.name, func(b *testing.B) {
			for b.Loop() {
				furnishHost(b, size.files, size.bytes)
				run := func(id uint32, want int, metric string, words ...string) []byte {
					cmd := exec.Command(filepath.Join(bin, words[0]), words[1:]...)
					cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "GIT_AUTHOR_NAME=Operator", "GIT_AUTHOR_EMAIL=operator@example.org"}
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
					out, err := cmd.CombinedOutput()
					if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
						b.Fatalf("%v: %v\n%s", words, err, out)
					}
					b.ReportMetric(float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, metric+"-MiB")
					return out
				}
				run(0, 0, "help", "warden", "--help")
				run(agentID, 0, "publish", "gate", "publish")
				drift := regexp.MustCompile(`d-[0-9a-f]{12}`).Find(run(0, 1, "drift", "warden", "reconcile"))
				run(0, 0, "accept", "warden", "accept", string(drift), "--yes")
				run(0, 0, "pass", "warden", "reconcile")
			}
		})
	}
}

// furnishHost makes this a host whose agent has so many files of so many bytes, all different.
func furnishHost(b *testing.B, files, size int) {
	host := b.TempDir()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.Chmod(filepath.Dir(host), 0o755))
	must(os.Chmod(host, 0o755))
	for _, dir := range []string{"live", "export"} {
		must(os.Mkdir(filepath.Join(host, dir), 0o755))
		must(os.Chown(filepath.Join(host, dir), agentID, agentID))
	}
	for i := range files {
		path := filepath.Join(host, "live", fmt.Sprintf("f%05d", i))
		file, err := os.Create(path)
		must(err)
		fmt.Fprintln(file, i)
		_, err = io.CopyN(file, endless{}, int64(size)) // little at a time: a process counts what the one that starts it had
		must(errors.Join(err, file.Close()))
		must(os.Chown(path, agentID, agentID))
	}
	out, err := exec.Command("git", "init", "-q", "-b", "main", filepath.Join(host, "repo")).CombinedOutput()
	if err != nil {
		b.Fatalf("git init: %v: %s", err, out)
	}
	must(os.RemoveAll("/etc/gatehouse"))
	must(os.Mkdir("/etc/gatehouse", 0o755))
	must(os.WriteFile("/etc/gatehouse/warden.yaml", fmt.Appendf(nil, `version: 1
host: agent-1
repository: %[1]s/repo
state: %[1]s/state
gates:
  - name: claude
    user: %[2]s
    export: %[1]s/export
    live:
      - {name: files, root: %[1]s/live}
    limits: {entries: 20000, file: 1GiB, total: 2GiB}
notify: {journal: false}
`, host, agentName), 0o644))
}

// endless is a text without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	return copy(b, bytes.Repeat([]byte("abcdefg\n"), len(b)/8+1)), nil
}
