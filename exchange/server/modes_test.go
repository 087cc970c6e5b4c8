package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/durable"
)

// Whoever can write to a home lets hosts in, and whoever reads its secrets is a node, or the operator.
func TestAHomeThatOthersCanChangeOrReadIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		mode os.FileMode
		want string
	}{
		"others can write to it":             {"", 0o757, "chmod go-w"},
		"a group can write to it":            {"", 0o770, "chmod go-w"},
		"others can add hosts":               {"hosts", 0o777, "chmod go-w"},
		"others can swap a node's directory": {"nodes", 0o777, "chmod go-w"},
		"others can swap a node's seed":      {"nodes/ex1", 0o777, "chmod go-w"},
		"others can read the CA's key":       {"authority/ca.key", 0o644, "chmod 600"},
		"a group can read a node's seed":     {"nodes/ex1/admin.seed", 0o640, "chmod 600"},
		"others can read a node's key":       {"nodes/ex1/node.pem", 0o604, "chmod 600"},
		"others can change the nodes":        {"exchange.json", 0o666, "chmod go-w"},
		"others can change the CA":           {"ca.pem", 0o666, "chmod go-w"},
	} {
		t.Run(name, func(t *testing.T) {
			_, dir := home(t, plan(t))
			if _, err := Open(durable.Disk{}, dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, c.path), c.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(durable.Disk{}, dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open: %v; want %q", err, c.want)
			}
		})
	}
}

func TestAHomeInWhichADirectoryIsALinkIsRefused(t *testing.T) {
	_, dir := home(t, plan(t))
	hosts := filepath.Join(dir, "hosts")
	if err := os.Rename(hosts, dir+".hosts"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+".hosts", hosts); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(durable.Disk{}, dir); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("Open: %v", err)
	}
}

// A directory that somebody prepared is none to put keys into.
func TestInitRefusesADirectoryThatOthersCanWriteTo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(dir, "authority"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "authority"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(durable.Disk{}, dir, plan(t), time.Now()); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("Init: %v", err)
	}
}
