//go:build linux && (amd64 || arm64)

package flags

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// confine gives up, for the process and for good, everything that showing a help text does not need, and becomes the
// program args[0] with the arguments args[1:]. It is for a process that was started for nothing else; it returns only if
// something cannot be given up, and then the program has not run.
//
// Given up are: writing to any file but /dev/null and changing what is known of one, sockets of every kind, signals to
// others, capabilities, new namespaces, and more than a few seconds of processor time. Landlock and seccomp both hold for
// all that the program starts.
func confine(args []string) error {
	runtime.LockOSThread() // the filter and the capabilities are the thread's, and the thread becomes the program
	if len(args) == 0 {
		return errors.New("confine: no program named")
	}
	for _, limit := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_CPU, uint64(runLimit.Seconds())},
		{unix.RLIMIT_NOFILE, 256},
		{unix.RLIMIT_DATA, 4 << 30},
		{unix.RLIMIT_MEMLOCK, 0},
	} {
		if err := lower(limit.resource, limit.most); err != nil {
			return fmt.Errorf("confine: limit %d: %w", limit.resource, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine: no new privileges: %w", err)
	}
	// Truncating an open path is held by the third version on; before that a program could empty what it may read.
	if abi, err := landlocksys.LandlockGetABIVersion(); err != nil || abi < 3 {
		return fmt.Errorf("confine: this kernel's Landlock is of version %d, 3 is needed; save the help text yourself and use --help-text", max(abi, 0))
	}
	if err := restrictFiles(); err != nil {
		return fmt.Errorf("confine: landlock: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("confine: capabilities: %w", err)
	}
	if err := filterSyscalls(); err != nil {
		return fmt.Errorf("confine: seccomp: %w", err)
	}
	return &os.PathError{Op: "exec", Path: args[0], Err: syscall.Exec(args[0], args, os.Environ())}
}

// restrictFiles holds this thread only: the library's own way stops every thread of the process, which is no use to a
// process that is about to become another.
func restrictFiles() error {
	fd, flags, err := landlock.V7.BestEffort().NewRulesetFD(landlock.RODirs("/"), landlock.RWFiles("/dev/null"))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return landlocksys.LandlockRestrictSelf(fd, flags)
}

// lower sets a limit, and leaves one alone that is lower already.
func lower(resource int, most uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return err
	}
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: min(most, now.Cur), Max: min(most, now.Max)})
}

// dropCapabilities makes root's child an ordinary process that happens to be called root.
func dropCapabilities() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL && err != unix.EPERM {
			return err
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}

// filterSyscalls makes the calls in denied fail with EPERM, for every program that the thread becomes or starts.
func filterSyscalls() error {
	const (
		archAt, numberAt, argumentAt = 4, 0, 16
		load                         = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal                        = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast                      = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		bitSet                       = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		verdict                      = unix.BPF_RET | unix.BPF_K
		deny                         = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		absent                       = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	filter := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: auditArch, Jt: 1},
		{Code: verdict, K: deny},
		{Code: load, K: numberAt},
		{Code: atLeast, K: 0x40000000, Jf: 1}, // the x32 numbers of amd64
		{Code: verdict, K: deny},
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, // its flags are out of reach; libraries fall back to clone
		{Code: verdict, K: absent},
		{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		{Code: load, K: argumentAt},
		{Code: bitSet, K: unix.CLONE_NEWUSER, Jf: 1},
		{Code: verdict, K: deny},
		{Code: verdict, K: unix.SECCOMP_RET_ALLOW},
	}
	for _, number := range append(denied[:], deniedHere[:]...) {
		filter = append(filter,
			unix.SockFilter{Code: equal, K: uint32(number), Jf: 1},
			unix.SockFilter{Code: verdict, K: deny})
	}
	filter = append(filter, unix.SockFilter{Code: verdict, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// denied are the system calls that reach beyond the process and that Landlock does not hold.
var denied = [...]int{
	unix.SYS_SOCKET, unix.SYS_IO_URING_SETUP,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_VM_READV, unix.SYS_PIDFD_GETFD,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETPRIORITY,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
}
