package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"gatehouse/config"
)

// checkSchedule reports a schedule that means nothing, and one that is so rare that a gate would be overdue before its
// next publication is due.
func checkSchedule(c *config.Config, now time.Time) error {
	schedule, err := parseSchedule(c.Schedule, now)
	if err != nil {
		return err
	}
	gap := longestGap(schedule, now.UTC())
	var errs []error
	for _, g := range c.Gates {
		if gap <= 2*g.Interval {
			continue
		}
		errs = append(errs, fmt.Errorf("%q lets up to %s pass between two publications, and gate %s is overdue after twice its interval of %s; "+
			"give the gate \"interval: %s\", or choose a schedule that comes up more often",
			c.Schedule, inWords(gap), g.Name, inWords(g.Interval), inWords(min(gap, longestInterval))))
	}
	return errors.Join(errs...)
}

const longestInterval = 365 * 24 * time.Hour // that a configuration may have

// longestGap returns the longest time between two runs in the next year, or among the next few thousand: enough to see
// the nights and the weekends of a schedule that often comes up.
func longestGap(schedule cron.Schedule, now time.Time) time.Duration {
	const year, most = 367 * 24 * time.Hour, 10_000
	longest := time.Duration(0)
	at := schedule.Next(now)
	for n := 0; n < most && at.Sub(now) < year; n++ {
		next := schedule.Next(at)
		if next.IsZero() {
			break
		}
		longest = max(longest, next.Sub(at))
		at = next
	}
	return longest
}

// inWords is a duration as the configuration takes it, without units that are 0.
func inWords(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
