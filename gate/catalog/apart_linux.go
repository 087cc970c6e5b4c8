package catalog

import (
	"fmt"

	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// apart takes the processes of other tools out of reach, which have the same user: a process under Landlock can neither
// trace those outside of its own domain nor look into or change their memory, and from the sixth version on it cannot
// signal them. What it may do with files stays as it is. A kernel without Landlock is put up with: there one tool can
// disturb another.
func apart() error {
	abi, err := landlocksys.LandlockGetABIVersion()
	if err != nil || abi < 2 {
		return nil
	}
	if abi < 6 {
		return apartByFiles()
	}
	fd, err := landlocksys.LandlockCreateRuleset(&landlocksys.RulesetAttr{Scoped: landlocksys.ScopeSignal}, 0)
	if err != nil {
		return fmt.Errorf("keep the tool apart: %w", err)
	}
	return enforce(fd)
}

// apartByFiles makes a domain which allows everything that it is asked about: one has to be asked about something. Moving
// files from one directory to another is named since it would else be forbidden.
func apartByFiles() error {
	const access = landlocksys.AccessFSRefer | landlocksys.AccessFSMakeBlock
	fd, err := landlocksys.LandlockCreateRuleset(&landlocksys.RulesetAttr{HandledAccessFS: access}, 0)
	if err != nil {
		return fmt.Errorf("keep the tool apart: %w", err)
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(root)
		err = landlocksys.LandlockAddPathBeneathRule(fd, &landlocksys.PathBeneathAttr{AllowedAccess: access, ParentFd: root}, 0)
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("keep the tool apart: %w", err)
	}
	return enforce(fd)
}

func enforce(fd int) error {
	defer unix.Close(fd)
	if err := landlocksys.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("keep the tool apart: %w", err)
	}
	return nil
}
