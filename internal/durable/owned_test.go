package durable

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// grant lets nobody do with a directory what the bits say, as setfacl does it.
func grant(dir string, bits uint16) error {
	const owner, user, group, mask, other, noID = 0x01, 0x02, 0x04, 0x10, 0x20, 0xffffffff
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, bits uint16
		id        uint32
	}{{owner, 7, noID}, {user, bits, nobody}, {group, 5, noID}, {mask, bits, noID}, {other, 5, noID}} {
		acl = binary.LittleEndian.AppendUint16(acl, e.tag)
		acl = binary.LittleEndian.AppendUint16(acl, e.bits)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	return unix.Setxattr(dir, "system.posix_acl_access", acl, 0)
}

// asNobody runs a program as the user who must not be able to change anything.
func asNobody(args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd.Run()
}

func TestOwnedNamesWhoeverCanWrite(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	for name, give := range map[string]func(dir string) error{
		"its owner":              func(dir string) error { return os.Chown(dir, nobody, -1) },
		"everybody":              func(dir string) error { return os.Chmod(dir, 0o777) },
		"a group":                func(dir string) error { return errors.Join(os.Chown(dir, -1, nobody), os.Chmod(dir, 0o775)) },
		"an access control list": func(dir string) error { return grant(dir, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "dir")
			child := filepath.Join(dir, "child")
			if err := os.MkdirAll(child, 0o755); err != nil {
				t.Fatal(err)
			}
			check := func() (owned, above error) {
				info, err := os.Lstat(dir)
				if err != nil {
					t.Fatal(err)
				}
				return Owned(dir, info), OwnedAbove(child)
			}
			if err := errors.Join(check()); err != nil {
				t.Fatalf("as it was made: %v", err)
			}
			if err := give(dir); err != nil {
				t.Fatal(err)
			}
			owned, above := check()
			if owned == nil || !strings.Contains(owned.Error(), dir) {
				t.Errorf("got error %v", owned)
			}
			if above == nil || !strings.Contains(above.Error(), "in the place of "+child) {
				t.Errorf("above: got error %v", above)
			}
			if err := errors.Join(os.Chmod(top, 0o755), os.Chmod(filepath.Dir(top), 0o755)); err != nil {
				t.Fatal(err)
			}
			if err := asNobody("mv", child, child+"2"); err != nil {
				t.Errorf("the kernel lets nobody do it: %v", err)
			}
		})
	}
	t.Run("harmless", func(t *testing.T) {
		top := t.TempDir()
		dir := filepath.Join(top, "dir")
		if err := errors.Join(os.Mkdir(dir, 0o755), grant(dir, 5), os.Chmod(top, 0o777|os.ModeSticky)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(dir)
		if err := errors.Join(err, Owned(dir, info), OwnedAbove(dir)); err != nil {
			t.Errorf("a list of who may read, in a sticky directory: %v", err)
		}
		if err := os.Chown(top, nobody, -1); err != nil {
			t.Fatal(err)
		}
		if err := OwnedAbove(dir); err == nil {
			t.Error("the owner of a sticky directory can rename what is in it")
		}
	})
	t.Run("a link above", func(t *testing.T) {
		top := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(top, "dir"), 0o755), os.Symlink("dir", filepath.Join(top, "link"))); err != nil {
			t.Fatal(err)
		}
		if err := OwnedAbove(filepath.Join(top, "link", "child")); err == nil || !strings.Contains(err.Error(), "no directory") {
			t.Errorf("got error %v", err)
		}
	})
}
