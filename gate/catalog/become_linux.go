package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// becoming is what the stage says when nothing is left but to become the tool. Whoever ends without it was not the tool:
// a Go program that gets no thread or no memory ends itself, with the exit status 2.
const becoming = "\n"

// become confines this process as the order says and becomes the tool. It returns only if that could not be done, and
// then the tool has not run.
func become() (Code, error) {
	runtime.LockOSThread() // what is given up is the thread's, and the thread becomes the tool
	if err := closeOthers(); err != nil {
		return NotConfined, err
	}
	text, err := io.ReadAll(io.LimitReader(os.NewFile(orderDescriptor, "order"), 64<<20))
	if err != nil {
		return Fault, fmt.Errorf("read the order: %w", err)
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return Fault, fmt.Errorf("read the order: %w", err)
	}
	if err := o.enter(); err != nil {
		return NoDirectory, wayIn(err, o.Strict)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return NotConfined, fmt.Errorf("give up new privileges: %w", err)
	}
	switch {
	case o.Confined:
		err = o.confine()
	case o.Apart:
		err = apart()
	}
	if err != nil {
		return NotConfined, wayIn(err, o.Strict)
	}
	if err := o.Program.still(o.Argv[0]); err != nil {
		return ExecutableChanged, err
	}
	// Last, since this program may need more than the tool is given.
	if err := o.Limits.apply(); err != nil {
		return NotConfined, err
	}
	if _, err := unix.Write(reportDescriptor, []byte(becoming)); err != nil {
		return Fault, fmt.Errorf("say that the tool begins: %w", err)
	}
	err = syscall.Exec(o.Argv[0], o.Argv, o.Env)
	code := ExecutableMissing
	if errors.Is(err, fs.ErrPermission) && o.Confined {
		code = NotConfined
		err = fmt.Errorf("%w: confine.read has to list where the program and its interpreter lie", err)
	}
	return code, fmt.Errorf("run %s: %w", o.Argv[0], err)
}

// enter makes the directory of the order this process's own.
func (o *order) enter() error {
	dir, err := o.Dir.hold(o.Strict)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Fchdir(int(dir.Fd())); err != nil {
		return &os.PathError{Op: "chdir", Path: o.Dir.Path, Err: err}
	}
	return nil
}

// closeOthers makes the tool find no descriptors but its three, whatever the caller of the gate had open.
func closeOthers() error {
	err := unix.CloseRange(orderDescriptor, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) { // a kernel before 5.11
		return err
	}
	list, err := os.ReadDir("/proc/self/fd")
	for _, d := range list {
		if fd, err := strconv.Atoi(d.Name()); err == nil && fd >= orderDescriptor {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// apply lowers the limits of this process; one that is lower already stays.
func (l Limits) apply() error {
	for _, limit := range []struct {
		name     string
		resource int
		most     uint64
	}{
		{"cpu_seconds", unix.RLIMIT_CPU, l.CPUSeconds},
		{"memory_bytes", unix.RLIMIT_AS, l.Memory},
		{"file_bytes", unix.RLIMIT_FSIZE, l.FileSize},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
		{"open_files", unix.RLIMIT_NOFILE, l.Descriptors},
	} {
		if limit.most == 0 {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(limit.resource, &now); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
		most := unix.Rlimit{Cur: min(limit.most, now.Cur), Max: min(limit.most, now.Max)}
		if err := unix.Setrlimit(limit.resource, &most); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// needsABI is the version of Landlock that holds what a tool's profile says: before the third a program could empty files
// that it may only read, and the fourth knows connections.
func (c *Confine) needsABI() int {
	if c.Connect != nil {
		return 4
	}
	return 3
}

// supported reports an error if this kernel cannot hold a profile as it is written. Nothing less is ever put up with.
func (c *Confine) supported() error {
	abi, err := landlocksys.LandlockGetABIVersion()
	if err != nil || abi < c.needsABI() {
		return failed(NotConfined, "this kernel's Landlock is of version %d, and the tool's confine needs %d", max(abi, 0), c.needsABI())
	}
	return nil
}

// confine puts this thread under Landlock. Beyond files and connections, where the kernel knows how, processes outside can
// no longer be signalled nor reached through abstract sockets.
func (o *order) confine() error {
	profile := Confine{Connect: o.Connect}
	if o.TCP && profile.Connect == nil {
		profile.Connect = []uint16{}
	}
	if err := profile.supported(); err != nil {
		return err
	}
	rules, held, err := o.fileRules()
	defer closeAll(held)
	if err != nil {
		return err
	}
	for _, port := range o.Connect {
		rules = append(rules, landlock.ConnectTCP(port))
	}
	config, err := o.handled()
	if err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	fd, flags, err := config.NewRulesetFD(rules...)
	if err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	defer unix.Close(fd)
	if err := landlocksys.LandlockRestrictSelf(fd, flags); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	return nil
}

// handled says what Landlock is to hold: what is not named here stays as it was. It has no word for "any port", so that
// connections are only named where the profile lists ports.
func (o *order) handled() (*landlock.Config, error) {
	abi, err := landlocksys.LandlockGetABIVersion()
	if err != nil {
		return nil, err
	}
	config := landlock.Config{HandledAccessFS: 1<<15 - 1} // the third version's
	if abi >= 5 {
		config.HandledAccessFS |= landlocksys.AccessFSIoctlDev
	}
	if o.TCP {
		config.HandledAccessNet = landlocksys.AccessNetBindTCP | landlocksys.AccessNetConnectTCP
	}
	if abi >= 6 {
		config.Scoped = landlocksys.ScopeAbstractUnixSocket | landlocksys.ScopeSignal
	}
	return &config, nil
}

// fileRules names places by descriptors, which have to stay open until the rules are in force.
func (o *order) fileRules() (rules []landlock.Rule, held []*os.File, err error) {
	rules = []landlock.Rule{landlock.RWFiles(os.DevNull)}
	add := func(places []spot, file, tree func(...string) landlock.FSRule) error {
		for _, place := range places {
			f, err := place.hold(o.Strict)
			if err != nil {
				return fmt.Errorf("confine: %w", err)
			}
			held = append(held, f)
			info, err := f.Stat()
			if err != nil {
				return fmt.Errorf("confine: %w", err)
			}
			if info.IsDir() {
				rules = append(rules, tree(byDescriptor(f)))
			} else {
				rules = append(rules, file(byDescriptor(f)))
			}
		}
		return nil
	}
	err = errors.Join(add(o.Read, landlock.ROFiles, landlock.RODirs), add(o.Write, landlock.RWFiles, landlock.RWDirs))
	return rules, held, err
}
