//go:build linux

package manifest

import (
	"os"
	"strings"
	"testing"
)

func TestBootIDIsTheSameHoweverItIsGiven(t *testing.T) {
	kernel, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(kernel))
	for _, given := range []string{"", strings.ReplaceAll(want, "-", "")} {
		t.Setenv("GATEHOUSE_BOOT_ID", given)
		if got, err := BootID(); err != nil || got != want {
			t.Errorf("given %q: %q, %v; want %q", given, got, err, want)
		}
	}
	for _, given := range []string{"x", want, strings.Repeat("G", 32), strings.Repeat("A", 32), strings.Repeat("a", 30)} {
		t.Setenv("GATEHOUSE_BOOT_ID", given)
		if got, err := BootID(); err == nil {
			t.Errorf("%q is taken for %q", given, got)
		}
	}
}
