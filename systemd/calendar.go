package systemd

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A calendar is a schedule as systemd says it: the values of OnCalendar= that come up exactly when the schedule does, in
// UTC. Where a cron line restricts both the day of the month and the day of the week, cron takes either, which needs two
// values.
type calendar struct {
	values []string
	gap    time.Duration // no two runs are closer; it may be less than the least distance
}

// parseCalendar reads a cron line of five fields, or a descriptor such as @hourly, as github.com/robfig/cron does.
//
// "@every D" counts from the start of a process, and a calendar knows no such moment; it is read as aligned to
// midnight. An interval that does not divide a day, or a week, is therefore refused: the days would not be alike.
func parseCalendar(schedule string) (calendar, error) {
	if schedule == "" {
		return calendar{}, fmt.Errorf("an empty schedule; write @hourly, or five cron fields")
	}
	if strings.Contains(schedule, "TZ=") {
		return calendar{}, fmt.Errorf("schedule %q names a time zone; schedules are in UTC", schedule)
	}
	if rest, ok := strings.CutPrefix(schedule, "@every "); ok {
		c, err := everyCalendar(rest)
		if err != nil {
			return calendar{}, fmt.Errorf("schedule %q: %w", schedule, err)
		}
		return c, nil
	}
	line, ok := cronDescriptors[schedule]
	if !ok && schedule[0] == '@' {
		return calendar{}, fmt.Errorf("schedule %q: there is no such descriptor; there are %s and @every", schedule,
			strings.Join(slices.Sorted(maps.Keys(cronDescriptors)), ", "))
	}
	if !ok {
		line = schedule
	}
	c, err := lineCalendar(line)
	if err != nil {
		return calendar{}, fmt.Errorf("schedule %q: %w", schedule, err)
	}
	return c, nil
}

var cronDescriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// lineCalendar reads five cron fields.
func lineCalendar(line string) (calendar, error) {
	words := strings.Fields(line)
	if len(words) != len(cronFields) {
		return calendar{}, fmt.Errorf("%d fields; there are %d: minute, hour, day of the month, month, day of the week",
			len(words), len(cronFields))
	}
	var sets [5]cronSet
	for i, word := range words {
		var err error
		if sets[i], err = cronFields[i].parse(word); err != nil {
			return calendar{}, fmt.Errorf("%s %q: %w", cronFields[i].name, word, err)
		}
	}
	minute, hour, day, month, weekday := sets[0], sets[1], sets[2], sets[3], sets[4]
	weekday.bits = weekday.bits>>1 | weekday.bits&1<<6 // cron's week begins on Sunday, systemd's on Monday
	clock := fmt.Sprintf("%s:%s:00 UTC", cronFields[1].say(hour), cronFields[0].say(minute))
	c := calendar{gap: leastGap(minute, 60, time.Minute)}
	if c.gap == time.Hour {
		c.gap = leastGap(hour, 24, time.Hour)
	}
	byDate := fmt.Sprintf("*-%s-%s %s", cronFields[3].say(month), cronFields[2].say(day), clock)
	byWeekday := fmt.Sprintf("%s *-%s-* %s", cronFields[4].say(weekday), cronFields[3].say(month), clock)
	everyDay := strings.HasPrefix(byWeekday, "* ") // all seven, by name
	byWeekday = strings.TrimPrefix(byWeekday, "* ")
	switch {
	case weekday.any && !everHappens(month, day):
		return calendar{}, fmt.Errorf("it never comes up: no such month has such a day")
	case weekday.any:
		c.values = []string{byDate}
	case day.any, everyDay:
		c.values = []string{byWeekday}
	default:
		if c.values = []string{byWeekday}; everHappens(month, day) {
			c.values = append(c.values, byDate)
		}
	}
	return c, nil
}

// A cronField is one column of a cron line.
type cronField struct {
	name      string
	low, high int
	names     []string // of the numbers from low on
	spoken    []string // in OnCalendar=, if it takes no numbers
}

var cronFields = [5]cronField{
	{name: "minute", low: 0, high: 59},
	{name: "hour", low: 0, high: 23},
	{name: "day of the month", low: 1, high: 31},
	{name: "month", low: 1, high: 12,
		names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of the week", low: 0, high: 6,
		names:  []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"},
		spoken: []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}},
}

// A cronSet is the numbers that a field matches, and whether it was written as "any".
type cronSet struct {
	bits uint64
	any  bool
}

func (s cronSet) has(n int) bool { return s.bits&(1<<n) != 0 }

// parse reads lists of numbers, names, ranges and steps.
func (f cronField) parse(word string) (cronSet, error) {
	var s cronSet
	for part := range strings.SplitSeq(word, ",") {
		if part == "" {
			continue // cron overlooks it as well
		}
		span, stepped, hasStep := strings.Cut(part, "/")
		first, last, ranged := strings.Cut(span, "-")
		low, high, step := f.low, f.high, 1
		any := first == "*" || first == "?"
		var err error
		if hasStep {
			if step, err = cronNumber(stepped); err != nil || step == 0 {
				return cronSet{}, fmt.Errorf("%q is no step", stepped)
			}
		}
		if !any {
			if low, err = f.number(first); err != nil {
				return cronSet{}, err
			}
			if ranged {
				if high, err = f.number(last); err != nil {
					return cronSet{}, err
				}
			} else if !hasStep {
				high = low
			}
			if high < low {
				return cronSet{}, fmt.Errorf("%q ends before it begins", span)
			}
		} // what follows the star of "*-5" counts for nothing
		for n := low; n <= high; n += step {
			s.bits |= 1 << n
		}
		s.any = s.any || any && step == 1
	}
	if s.bits == 0 {
		return cronSet{}, fmt.Errorf("it names nothing")
	}
	return s, nil
}

func (f cronField) number(word string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(word)); i >= 0 {
		return f.low + i, nil
	}
	n, err := cronNumber(word)
	if err != nil || n < f.low || f.high < n {
		return 0, fmt.Errorf("%q is not from %d to %d", word, f.low, f.high)
	}
	return n, nil
}

func cronNumber(word string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(word, "+"), 10, 63)
	return int(min(n, 1<<31)), err
}

// say writes a set as OnCalendar= has it: * for all, runs as a..b, all else as a list.
func (f cronField) say(s cronSet) string {
	var parts []string
	for n := f.low; n <= f.high; n++ {
		if !s.has(n) {
			continue
		}
		end := n
		for end < f.high && s.has(end+1) {
			end++
		}
		switch {
		case n == f.low && end == f.high:
			return "*"
		case end-n < 2: // two are a list
			parts = append(parts, f.word(n))
		default:
			parts = append(parts, f.word(n)+".."+f.word(end))
			n = end
		}
	}
	return strings.Join(parts, ",")
}

func (f cronField) word(n int) string {
	if f.spoken != nil {
		return f.spoken[n-f.low]
	}
	return fmt.Sprintf("%02d", n)
}

// everHappens reports whether one of the months ever has one of the days.
func everHappens(month, day cronSet) bool {
	for m := 1; m <= 12; m++ {
		const leapYear = 2024
		length := time.Date(leapYear, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if month.has(m) && bits.TrailingZeros64(day.bits) <= length {
			return true
		}
	}
	return false
}

// leastGap is the least distance of two members on a dial of size steps.
func leastGap(s cronSet, size int, step time.Duration) time.Duration {
	least, last, first := size, -1, bits.TrailingZeros64(s.bits)
	for n := first; n < size; n++ {
		if s.has(n) {
			if last >= 0 {
				least = min(least, n-last)
			}
			last = n
		}
	}
	return time.Duration(min(least, first+size-last)) * step
}

const (
	oneDay  = 24 * time.Hour
	oneWeek = 7 * oneDay
	// mostValues bounds how many values stand for one interval.
	mostValues = 24
)

// everyCalendar is an interval that begins with each day.
func everyCalendar(text string) (calendar, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return calendar{}, err
	}
	if d = d.Truncate(time.Second); d < time.Minute {
		return calendar{}, fmt.Errorf("it is less than a minute")
	}
	if d == oneWeek {
		return calendar{[]string{"Mon *-*-* 00:00:00 UTC"}, d}, nil
	}
	if oneDay%d == 0 {
		if values := dailyValues(d); len(values) <= mostValues {
			return calendar{values, d}, nil
		}
	}
	var near []string
	for m := min(d, oneDay) / time.Minute; m >= 1; m-- {
		if oneDay%(m*time.Minute) == 0 {
			near = append(near, shortDuration(m*time.Minute))
			break
		}
	}
	for m := d/time.Minute + 1; m <= oneDay/time.Minute; m++ {
		if oneDay%(m*time.Minute) == 0 {
			near = append(near, shortDuration(m*time.Minute))
			break
		}
	}
	return calendar{}, fmt.Errorf("a timer can repeat only what divides a day; write @every %s, or use warden serve",
		strings.Join(near, " or @every "))
}

// dailyValues says every d from midnight on, which divides a day: the times of the day are grouped by second, then by what
// hours they come in.
func dailyValues(d time.Duration) []string {
	type moment struct{ minute, second int }
	hours := make(map[moment]cronSet)
	for t := time.Duration(0); t < oneDay; t += d {
		m := moment{int(t/time.Minute) % 60, int(t/time.Second) % 60}
		s := hours[m]
		s.bits |= 1 << int(t/time.Hour)
		hours[m] = s
	}
	type group struct {
		second int
		hours  uint64
	}
	minutes := make(map[group]cronSet)
	for m, h := range hours {
		g := group{m.second, h.bits}
		s := minutes[g]
		s.bits |= 1 << m.minute
		minutes[g] = s
	}
	values := make([]string, 0, len(minutes))
	for g, m := range minutes {
		values = append(values, fmt.Sprintf("*-*-* %s:%s:%02d UTC", cronFields[1].say(cronSet{bits: g.hours}), cronFields[0].say(m), g.second))
	}
	slices.Sort(values)
	return values
}

// shortDuration writes a duration without its zero parts.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
