package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/internal/durable"
)

func TestCheckStateRefusesWhatOthersCanChange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	const nobody = 65534
	for name, change := range map[string]func(dir string) error{
		"its owner":  func(dir string) error { return os.Chown(dir, nobody, -1) },
		"everybody":  func(dir string) error { return os.Chmod(dir, 0o773) },
		"its group":  func(dir string) error { return errors.Join(os.Chown(dir, -1, nobody), os.Chmod(dir, 0o771)) },
		"not a link": func(dir string) error { return errors.Join(os.Remove(dir), os.Symlink("/", dir)) },
	} {
		for _, below := range []string{"", "state", "not/there"} {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.Mkdir(dir, 0o711); err != nil {
				t.Fatal(err)
			}
			state := filepath.Join(dir, below)
			if err := CheckState(state); err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			if err := CheckState(state); err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s, %q: got error %v", name, below, err)
			}
		}
	}
}

// Who can write the state can put another accepted copy in the place of root's.
func TestNothingIsReconciledInAStateThatAGroupCanWrite(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
	h := newHost(t, newReceiver(t).URL)
	h.publish()
	h.accept()
	w, err := h.warden(durable.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chown(filepath.Join(w.State, "accepted"), -1, 65534), os.Chmod(filepath.Join(w.State, "accepted"), 0o775)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reconcile(t.Context(), []Gate{h.gate()}); err == nil || !strings.Contains(err.Error(), "group 65534") {
		t.Errorf("got error %v", err)
	}
}
