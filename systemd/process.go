package systemd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A process is what the kernel says of one.
type process struct {
	pid, parent int
	uid         uint32 // real
	ticks       uint64 // start, in hundredths of a second since boot: with pid and boot the identity of the process
	forked      bool   // runs no program of its own: its memory is older than its start
	image       string // differs after an execve, unless the process sees to it; empty where the kernel does not let us know
	lineage     []int  // of a forked one: the processes that it descends from, as far as they are alive
	dead        bool   // a zombie, which holds nothing
	thread      int    // besides the first one, if any: it may have ended
	groups      []string
}

// start is how long after boot the process began. User space counts in hundredths on every Linux.
func (p *process) start() time.Duration { return time.Duration(p.ticks) * (time.Second / 100) }

// errOdd is of a process that does not let itself be looked at, as one whose control group has a longer name than fits.
var errOdd = errors.New("it cannot be looked at")

// processes lists the live processes whose control group is one that belongs selects, by their first thread. One that
// cannot be looked at is left out: whether it belongs is for the control groups to say.
func processes(ctx context.Context, proc string, belongs func(group string) bool) ([]process, error) {
	dir, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", proc, err)
	}
	if !slices.Contains(names, "1") {
		return nil, fmt.Errorf("%s does not show the processes of others; the unit that runs this must not set ProtectProc=", proc)
	}
	var found []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p, err := readProcess(proc, pid, belongs); err == nil && p != nil {
			found = append(found, *p)
		}
	}
	return found, nil
}

// readProcess returns nil for a process in no group that belongs selects, and for a dead one. Errors are gone or errOdd.
func readProcess(proc string, pid int, belongs func(group string) bool) (*process, error) {
	p, err := readProcessIn(filepath.Join(proc, strconv.Itoa(pid)), belongs)
	if p != nil {
		p.pid = pid
	}
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("process %d: %w: %w", pid, errOdd, err)
	}
	return p, err
}

func readProcessIn(dir string, belongs func(group string) bool) (*process, error) {
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil && (belongs != nil || gone(err)) {
		return nil, err
	}
	paths := groupPaths(groups)
	if belongs != nil && !slices.ContainsFunc(paths, belongs) {
		return nil, nil
	}
	before, err := readStat(dir)
	if err != nil {
		return nil, err
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return nil, err
	}
	// What was read in between is of this process if it is still the same.
	p, err := readStat(dir)
	if err != nil {
		return nil, err
	}
	if p.ticks != before.ticks {
		return nil, fs.ErrNotExist
	}
	if p.dead {
		return nil, nil
	}
	p.groups = paths
	uid, err := statusNumber(status, "Uid:")
	if err != nil {
		return nil, err
	}
	p.uid = uint32(uid)
	return p, nil
}

// readThread returns the process of a thread that is in a group which belongs selects, or nil.
func readThread(proc string, thread int, belongs func(group string) bool) (*process, error) {
	dir := filepath.Join(proc, strconv.Itoa(thread))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if gone(err) {
		return nil, err
	}
	pid := 0
	if err == nil {
		pid, err = statusNumber(status, "Tgid:")
	}
	if err != nil {
		return nil, fmt.Errorf("thread %d: %w: %w", thread, errOdd, err)
	}
	if pid == thread {
		return readProcess(proc, pid, belongs)
	}
	groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil && !gone(err) {
		err = fmt.Errorf("thread %d: %w: %w", thread, errOdd, err)
	}
	paths := groupPaths(groups)
	if err != nil || !slices.ContainsFunc(paths, belongs) {
		return nil, err
	}
	p, err := readProcess(proc, pid, nil)
	if p != nil {
		p.groups, p.thread = append(p.groups, paths...), thread
	}
	return p, err
}

// lineage lists the living processes that p descends from, nearest first. An orphan's parent is the nearest living
// ancestor that takes in orphans, so each of them is one.
func lineage(proc string, p *process) (pids []int) {
	for range 128 {
		if p.parent <= 1 {
			break
		}
		parent, err := readStat(filepath.Join(proc, strconv.Itoa(p.parent)))
		if err != nil || parent.ticks > p.ticks { // it has ended, and another one has its number
			break
		}
		pids = append(pids, p.parent)
		p = parent
	}
	return pids
}

func readStat(dir string) (*process, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil, err
	}
	p, err := parseStat(stat)
	if err != nil {
		return nil, fmt.Errorf("%s/stat: %w", dir, err)
	}
	return p, nil
}

// forkNoExec is the kernel's PF_FORKNOEXEC.
const forkNoExec = 0x40

// parseStat reads /proc/PID/stat. The second field is a name that the process chose and may hold anything; it ends at
// the last parenthesis.
func parseStat(stat []byte) (*process, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return nil, errors.New("not what the kernel writes")
	}
	fields := strings.Fields(string(stat[end+1:])) // the first one is field 3
	if len(fields) < 26 {
		return nil, fmt.Errorf("only %d fields", len(fields))
	}
	field := func(n int) string { return fields[n-3] }
	number := func(n int) uint64 {
		value, err := strconv.ParseUint(field(n), 10, 64)
		if err != nil {
			value = 0
		}
		return value
	}
	p := &process{parent: int(number(4)), forked: number(9)&forkNoExec != 0}
	var err error
	if p.ticks, err = strconv.ParseUint(field(22), 10, 64); err != nil || p.ticks > 1<<50 {
		return nil, fmt.Errorf("a start of %q", field(22))
	}
	// Of a process whose first thread has ended while others run, the state is that of a zombie all the same.
	p.dead = field(3) == "X" || field(3) == "Z" && number(20) <= 1
	if number(28) != 0 { // without the right to know, the addresses are 0 and 1
		p.image = field(26) + "-" + field(28)
	}
	return p, nil
}

// statusNumber reads the first number of a line of /proc/PID/status.
func statusNumber(status []byte, name string) (int, error) {
	for line := range bytes.Lines(status) {
		if numbers, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if fields := bytes.Fields(numbers); len(fields) > 0 {
				return strconv.Atoi(string(fields[0]))
			}
		}
	}
	return 0, fmt.Errorf("its status has no %s", name)
}

// groupPaths are the control groups in which systemd places units: of the unified hierarchy, and of systemd's own one
// where there are both or only that.
func groupPaths(cgroup []byte) (paths []string) {
	for line := range strings.Lines(string(cgroup)) {
		line = strings.TrimSuffix(line, "\n")
		hierarchy, rest, _ := strings.Cut(line, ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if hierarchy == "0" && controllers == "" || controllers == "name=systemd" {
			paths = append(paths, strings.TrimSuffix(path, " (deleted)"))
		}
	}
	return paths
}

// inSystemUnit reports whether group belongs to a unit of the system manager: the first part that is no slice.
func inSystemUnit(group, unit string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(group, "/"), "/") {
		if !strings.HasSuffix(part, ".slice") {
			return part == groupName(part, unit)
		}
	}
	return false
}

// inUserUnit reports whether group lies below the manager's own and has a part with the name of the unit. The user may
// make groups of any name at any depth there, so all of them count.
func inUserUnit(group, manager, unit string) bool {
	below, ok := strings.CutPrefix(group, strings.TrimSuffix(manager, "/")+"/")
	if !ok || manager == "" {
		return false
	}
	for part := range strings.SplitSeq(below, "/") {
		if part == groupName(part, unit) {
			return true
		}
	}
	return false
}

// groupName is the unit's name as a directory: systemd puts an underscore before names that cgroupfs could take for its
// own (such as memory.service).
func groupName(part, unit string) string {
	if strings.HasPrefix(part, "_") {
		return "_" + unit
	}
	return unit
}
