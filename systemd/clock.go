package systemd

import (
	"errors"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// maxStep is by how much two clocks may disagree before one of them counts as set. It is below the tolerance.
const maxStep = time.Second

// A clock is the present on three clocks. The two that count from boot differ by the time that the machine slept.
type clock struct {
	real       time.Time
	mono, boot time.Duration
}

func readClock() (clock, error) { return readClockBy(unix.ClockGettime) }

// readClockBy reads the three as of one moment: one after the other, and again while too much time went by in between. On
// a machine that is too busy for that, what took the least time counts.
func readClockBy(get func(id int32, at *unix.Timespec) error) (best clock, err error) {
	const enough, tries = time.Millisecond, 50
	least := time.Duration(math.MaxInt64)
	for try := 0; try < tries && least > enough; try++ {
		var boot, real, mono, after unix.Timespec
		err := errors.Join(get(unix.CLOCK_BOOTTIME, &boot), get(unix.CLOCK_REALTIME, &real), get(unix.CLOCK_MONOTONIC, &mono),
			get(unix.CLOCK_BOOTTIME, &after))
		if err != nil {
			return clock{}, err
		}
		if took := time.Duration(after.Nano() - boot.Nano()); took < least {
			least = took
			best = clock{time.Unix(real.Unix()).UTC(), time.Duration(mono.Nano()), time.Duration(boot.Nano())}
		}
	}
	return best, nil
}

// at is the wall time of a moment that lies boot after the machine's start, as the clock is set now.
func (c clock) at(boot time.Duration) time.Time { return c.real.Add(boot - c.boot) }

// set says by how much the clock was set since s: exactly 0 unless it was, for both clocks run alike. A sleep looks as if
// it was set forward; what may be one counts as one.
func (c clock) set(s stamp) time.Duration {
	by := c.real.Sub(s.real) - (c.mono - s.mono)
	slept := c.boot - c.mono
	switch {
	case by < -maxStep:
		return by
	case by > slept+maxStep:
		return by - slept
	default:
		return 0
	}
}

// setSince is set for a moment that is also known by the clock that counts sleep, so that no doubt is left.
func (c clock) setSince(real time.Time, boot time.Duration) time.Duration {
	if by := c.real.Sub(real) - (c.boot - boot); by.Abs() > maxStep {
		return by
	}
	return 0
}

// earliest is the earliest moment, since boot, that s can be: how much of its sleep a machine had before is not noted.
// steady is since when the wall clock is known to run as it does now, and does count the sleep.
func (c clock) earliest(s stamp, steady time.Duration) time.Duration {
	slept := c.boot - c.mono
	if slept < maxStep/100 || s.mono < steady {
		return s.mono
	}
	return min(max(c.boot-c.real.Sub(s.real), s.mono), s.mono+slept)
}
