package manifest

import (
	"errors"
	"strings"

	"gatehouse/internal/safefs"
)

// InFlux reports whether the entry only kept changing while it was read.
func (r *Refusal) InFlux() bool { return strings.HasPrefix(r.Reason, phrase(safefs.InFlux)) }

// IsInFlux reports whether err says only that something changed, or was leased, while it was read: the next try may
// succeed.
func IsInFlux(err error) bool { return isRefused(err, safefs.InFlux) || isRefused(err, safefs.Busy) }

// IsHostile reports whether err is about what an agent's user put into the export or the live tree, and not about a
// fault of this process or machine.
func IsHostile(err error) bool {
	var refused *safefs.RefusedError
	return errors.Is(err, ErrInvalid) || errors.As(err, &refused)
}

// IsUnread reports whether err only says that something was not read, and nothing of what it is: it kept changing, or the
// disk, the kernel or this process failed.
func IsUnread(err error) bool {
	refused, ok := errors.AsType[*safefs.RefusedError](err)
	return !ok || refused.Reason == safefs.Unreadable || IsInFlux(err)
}
