package flags

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// deniedHere is empty: this processor has no older spellings.
var deniedHere = [...]int{}
