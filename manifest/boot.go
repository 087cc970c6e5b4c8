package manifest

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// BootID returns the identity of this boot, in the kernel's form. $GATEHOUSE_BOOT_ID counts before the kernel: our unit
// files set it to what systemd itself sees (%b), since their hardening takes away the mount by which a container has a
// boot id of its own, and a process in a unit would give another one than a process at a shell.
func BootID() (string, error) {
	if given := os.Getenv("GATEHOUSE_BOOT_ID"); given != "" {
		if id, err := hex.DecodeString(given); err != nil || len(id) != 16 || strings.ToLower(given) != given {
			return "", fmt.Errorf("$GATEHOUSE_BOOT_ID is %.40q and not 32 hex digits, as %%b of a unit file is", given)
		}
		return strings.Join([]string{given[:8], given[8:12], given[12:16], given[16:20], given[20:]}, "-"), nil
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}
