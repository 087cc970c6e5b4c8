//go:build linux

package manifest

import (
	"strings"
	"testing"
)

func TestValidPath(t *testing.T) {
	long := strings.Repeat("x", maxPart)
	deep := "p" + strings.Repeat("/d", maxDepth-1)
	for _, path := range []string{
		"policy", "p-1_x/gate.yaml", "policy/.git/config", "policy/.gitignore", "policy/ ", "policy/-rf", "policy/:(top)x",
		"policy/\u202efdp.exe", "policy/ünï", "policy/" + long, deep, "policy/...", "policy/..x", "policy/a\\b", "policy/\ufffd",
	} {
		if err := ValidPath(path); err != nil {
			t.Errorf("%q is refused: %v", path, err)
		}
	}
	for _, path := range []string{
		"", "/", "/etc/passwd", "Policy/x", "_p/x", "-p/x", ".policy/x", "pol.icy/x", "..", ".", "policy/", "policy//x",
		"policy/.", "policy/./x", "policy/..", "policy/../x", "policy/x/..", "policy/x\x00", "policy/x\ny", "policy/\x1b[2J",
		"policy/\x7f", "policy/\u0085", "policy/\xff", "policy/\xed\xa0\x80", "policy/x" + long, deep + "/d",
		"policy/" + strings.Repeat("%", 86), "policy" + strings.Repeat("/"+long, 15),
		strings.Repeat("p", maxName+1),
	} {
		if ValidPath(path) == nil {
			t.Errorf("%q is accepted", path)
		}
	}
}

func TestValidGateAndHost(t *testing.T) {
	for _, name := range []string{"claude", "0", "a-b_c9", strings.Repeat("g", 64)} {
		if err := ValidGate(name); err != nil {
			t.Errorf("gate %q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", "Claude", "-a", "_a", "a.b", "a/b", "..", "a b", "a\n", "é", strings.Repeat("g", 65)} {
		if ValidGate(name) == nil {
			t.Errorf("gate %q is accepted", name)
		}
	}
	if err := ValidHost("agent-1.example"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"", "a b", "a\n", "é", strings.Repeat("h", 254)} {
		if ValidHost(name) == nil {
			t.Errorf("host %q is accepted", name)
		}
	}
}
