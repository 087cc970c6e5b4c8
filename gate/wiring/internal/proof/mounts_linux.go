package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Cases that fill a disk or write an administrator's files mount what they need, in a mount namespace that ends with
// this program: the machine's own /etc is never written.

// inside is the variable that says that this is the process in the namespace.
const inside = "GATEHOUSE_PROOF_INSIDE"

// private runs this program again in a mount namespace, and returns how that ended. done is false if it cannot, or if
// this is the one that runs there.
func private() (code int, done bool) {
	if os.Geteuid() != 0 || os.Getenv(inside) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "proof: no mount namespace of its own:", err)
		return 0, false
	}
	_ = cmd.Wait() // its status says it
	return cmd.ProcessState.ExitCode(), true
}

// mounts are those of one case.
type mounts struct{ places []string }

func (m *mounts) mount(source, place, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, place, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s: %w", place, err)
	}
	m.places = append(m.places, place)
	return nil
}

// end takes the mounts away, the last one first.
func (m *mounts) end() error {
	var all error
	for i := len(m.places) - 1; i >= 0; i-- {
		all = errors.Join(all, syscall.Unmount(m.places[i], syscall.MNT_DETACH))
	}
	return all
}

// fullDisk mounts a small disk where the gate keeps its state, and fills it.
func (m *mounts) fullDisk(h home) error {
	state := h.home + "/.local/state/gatehouse"
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	if err := m.mount("tmpfs", state, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		return err
	}
	f, err := os.Create(state + "/ballast")
	if err != nil {
		return err
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return f.Close()
}

// administrator gives the case an /etc and a /var/lib of its own.
func (m *mounts) administrator(dir string) error {
	if err := os.MkdirAll(dir+"/etc", 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", "/etc/.", dir+"/etc").CombinedOutput(); err != nil {
		return fmt.Errorf("copy /etc: %w: %s", err, out)
	}
	if err := m.mount(dir+"/etc", "/etc", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return m.mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755")
}
