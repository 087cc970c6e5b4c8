package systemd

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"
)

func TestOnCalendarSaysWhatCronSays(t *testing.T) {
	for schedule, want := range map[string][]string{
		"@hourly":                      {"*-*-* *:00:00 UTC"},
		"@weekly":                      {"Sun *-*-* 00:00:00 UTC"},
		"@yearly":                      {"*-01-01 00:00:00 UTC"},
		"*/20 * * * *":                 {"*-*-* *:00,20,40:00 UTC"},
		"5 9-17 * * mon-fri":           {"Mon..Fri *-*-* 09..17:05:00 UTC"},
		"0 0 1,15 * ?":                 {"*-*-01,15 00:00:00 UTC"},
		"30 4 1 * sun":                 {"Sun *-*-* 04:30:00 UTC", "*-*-01 04:30:00 UTC"},
		"0 0 13 * sun-sat":             {"*-*-* 00:00:00 UTC"}, // either, and one of them always
		"0 0 * * 0-6":                  {"*-*-* 00:00:00 UTC"},
		"0 0 30 2 *,1":                 nil,
		"0 0 30 2 1":                   {"Mon *-02-* 00:00:00 UTC"}, // the day of the month never comes, the other does
		"0 12 */2 JAN,jul *":           {"*-01,07-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 12:00:00 UTC"},
		"7/10 5/6 * * *":               {"*-*-* 05,11,17,23:07,17,27,37,47,57:00 UTC"},
		"@every 1h":                    {"*-*-* *:00:00 UTC"},
		"@every 30m":                   {"*-*-* *:00,30:00 UTC"},
		"@every 90s":                   {"*-*-* *:00,03,06,09,12,15,18,21,24,27,30,33,36,39,42,45,48,51,54,57:00 UTC", "*-*-* *:01,04,07,10,13,16,19,22,25,28,31,34,37,40,43,46,49,52,55,58:30 UTC"},
		"@every 90m":                   {"*-*-* 00,03,06,09,12,15,18,21:00:00 UTC", "*-*-* 01,04,07,10,13,16,19,22:30:00 UTC"},
		"@every 24h":                   {"*-*-* 00:00:00 UTC"},
		"@every 168h":                  {"Mon *-*-* 00:00:00 UTC"},
		"@every 7m":                    nil,
		"@every 48h":                   nil,
		"@every 64s":                   nil, // it divides a day, but in hundreds of values
		"@every 30s":                   nil,
		"@reboot":                      nil,
		"CRON_TZ=Europe/Berlin @daily": nil,
		"0 0 31 4,6 *":                 nil,
		"60 * * * *":                   nil,
		"* * * *":                      nil,
		"0 0 * * 7":                    nil,
		"":                             nil,
		",":                            nil,
	} {
		c, err := parseCalendar(schedule)
		got := c.values
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v\n%s", schedule, err, diff)
		}
	}
}

func TestARefusedIntervalNamesThoseThatWork(t *testing.T) {
	for interval, want := range map[string]string{"7m": "@every 6m or @every 8m,", "48h": "@every 24h,", "11h": "@every 8h or @every 12h,"} {
		if _, err := parseCalendar("@every " + interval); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("@every %s: %v; want %q", interval, err, want)
		}
	}
}

func TestNoTwoRunsAreCloserThanTheGap(t *testing.T) {
	for schedule, want := range map[string]time.Duration{
		"@hourly": time.Hour, "@daily": oneDay, "* * * * *": time.Minute, "0,50 * * * *": 10 * time.Minute,
		"0 1,3 * * *": 2 * time.Hour, "@every 90m": 90 * time.Minute,
	} {
		if c, err := parseCalendar(schedule); err != nil || c.gap != want {
			t.Errorf("%q: %v, %v; want %v", schedule, c.gap, err, want)
		}
	}
}

// TestSystemdAndCronComeUpTogether draws schedules and asks both.
func TestSystemdAndCronComeUpTogether(t *testing.T) {
	const runs = 12
	rapid.Check(t, func(t *rapid.T) {
		line := drawLine(t)
		base := time.Unix(rapid.Int64Range(1.7e9, 2e9).Draw(t, "base"), 0).UTC()
		schedule, err := cron.ParseStandard(line)
		c, ours := parseCalendar(line)
		values := c.values
		if err != nil {
			if ours == nil {
				t.Fatalf("%q is no schedule (%v), and we say %q", line, err, values)
			}
			return
		}
		var want []string
		for at := schedule.Next(base); len(want) < runs && !at.IsZero(); at = schedule.Next(at) {
			want = append(want, at.Format(time.DateTime))
		}
		if len(want) == 0 {
			if ours == nil {
				t.Fatalf("%q never comes up, and we say %q", line, values)
			}
			return
		}
		if ours != nil {
			t.Fatalf("%q: %v", line, ours)
		}
		if got := elapses(t, base, runs, values); !slices.Equal(got[:min(len(got), len(want))], want) {
			t.Fatalf("%q is %q\nsystemd %q\ncron    %q", line, values, got, want)
		}
	})
}

func TestAnIntervalIsKeptThroughTheDay(t *testing.T) {
	base := time.Date(2026, 11, 30, 22, 59, 59, 0, time.UTC)
	for _, interval := range []string{"1m", "90s", "8m", "30m", "45m", "90m", "3h", "24h", "168h"} {
		d, err := time.ParseDuration(interval)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseCalendar("@every " + interval)
		values := c.values
		if err != nil {
			t.Errorf("@every %s: %v", interval, err)
			continue
		}
		got := elapses(t, base, 30, values)
		for i, at := range got[1:30] {
			last, _ := time.Parse(time.DateTime, got[i])
			next, _ := time.Parse(time.DateTime, at)
			if next.Sub(last) != d {
				t.Errorf("@every %s: %q: %v after %v", interval, values, next, last)
			}
		}
	}
}

// elapses asks systemd when timers with these values elapse, the first runs of each, in order and each moment once.
func elapses(t rapid.TB, base time.Time, runs int, values []string) []string {
	args := []string{"calendar", fmt.Sprintf("--iterations=%d", runs), "--base-time=" + base.Format(time.DateTime) + " UTC"}
	cmd := exec.Command("systemd-analyze", append(args, values...)...)
	cmd.Env = []string{"TZ=UTC", "LC_ALL=C", "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	var all []string
	for _, found := range regexp.MustCompile(`(?:Next elapse|Iter[a-z.]* #\d+): \w+ ([-0-9]+ [:0-9]+) UTC`).FindAllSubmatch(out, -1) {
		all = append(all, string(found[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// drawLine writes a cron line, now and then one that is none.
func drawLine(t *rapid.T) string {
	words := make([]string, len(cronFields))
	for i, f := range cronFields {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, f.name) {
			parts = append(parts, drawPart(t, f))
		}
		words[i] = strings.Join(parts, ",")
	}
	return strings.Join(words, " ")
}

func drawPart(t *rapid.T, f cronField) string {
	number := func(label string) string {
		n := rapid.IntRange(f.low, f.high).Draw(t, label)
		if f.names != nil && rapid.Bool().Draw(t, "by name") {
			return f.names[n-f.low]
		}
		return fmt.Sprint(n)
	}
	var part string
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0, 1:
		part = rapid.SampledFrom([]string{"*", "*", "?"}).Draw(t, "any")
	case 2, 3:
		part = number("one")
	case 4:
		part = number("first") + "-" + number("last")
	default:
		return rapid.SampledFrom([]string{"*-3", "1-", "-1", "", "1-2-3", "*/0", "+2", "99", "x", "2/3/4"}).Draw(t, "odd")
	}
	if rapid.IntRange(0, 3).Draw(t, "stepped") == 0 {
		part += fmt.Sprintf("/%d", rapid.IntRange(1, 40).Draw(t, "step"))
	}
	return part
}
