package call

import (
	"strconv"
	"strings"
)

// A unit is a pipeline in a plain script, or an assignment, which has no stages.
type unit struct {
	op      string // what stands before it: "" ";" && ||
	last    bool   // it is the last one of its list
	stages  []stage
	only    []int // the statuses that it can have, nil: any
	negated bool  // there is a "!" before it: its status is 1 if it succeeds, else 0

	// The shell's options while it runs, and what it does to them.
	shellOptions
	sets []string // the words of set
	ends bool     // it is exit

	// What follow finds.
	known  Known
	status *int
	mayEnd bool // the script's status can be that of this unit
}

// A stage is a command of a pipeline: the call itself, those in its words before it, and those that it runs after it.
type stage struct{ from, call, to int }

// shellOptions are those that decide what runs after a failure.
type shellOptions struct{ errexit, pipefail bool }

// set takes options from a word such as -euo or +e, and reports whether the next word is the name of an option.
func (o *shellOptions) set(word string) (takes bool) {
	on := word[0] == '-'
	if strings.HasPrefix(word, "--") {
		return false
	}
	if strings.Contains(word, "e") {
		o.errexit = on
	}
	return strings.Contains(word, "o")
}

func (o *shellOptions) name(on bool, name string) {
	switch name {
	case "errexit":
		o.errexit = on
	case "pipefail":
		o.pipefail = on
	}
}

// A point is where a script can be between two units.
type point struct {
	failed bool // the status so far is not 0
	ended  bool // the script has ended
	by     int  // the unit whose status it is, -1: none has run
}

// A step is one way to get past a unit.
type step struct {
	from, to point
	ran      bool
}

// mostUnits bounds the work of follow, which grows with the square of their number.
const mostUnits = 200

// follow finds what is known of units, on all the ways through them that end with status. It reports false where there
// is no such way, or no telling.
func follow(units []*unit, o shellOptions, status *int) bool {
	if len(units) > mostUnits || !setOptions(units, o) {
		return false
	}
	outside := status != nil && *status > 128
	ways := make([][]step, len(units))
	at := map[point]bool{{by: -1}: true}
	for i, u := range units {
		next := map[point]bool{}
		for from := range at {
			for _, to := range u.steps(i, from, outside) {
				ways[i] = append(ways[i], to)
				next[to.to] = true
			}
		}
		at = next
	}
	end := map[point]bool{}
	for p := range at {
		if fits(units, p, status) {
			end[p] = true
			if p.by >= 0 {
				units[p.by].mayEnd = true
			}
		}
	}
	if len(end) == 0 {
		return false
	}
	mayEnd := 0
	for i := len(units) - 1; i >= 0; i-- {
		before := map[point]bool{}
		var ran, skipped, failed, succeeded bool
		for _, w := range ways[i] {
			if !end[w.to] {
				continue
			}
			before[w.from] = true
			ran = ran || w.ran
			skipped = skipped || !w.ran
			failed = failed || w.ran && w.to.failed
			succeeded = succeeded || w.ran && !w.to.failed
		}
		end = before
		units[i].conclude(ran, skipped, failed, succeeded)
		if units[i].mayEnd {
			mayEnd++
		}
	}
	for _, u := range units {
		if mayEnd == 1 && u.mayEnd && u.known == Ran && status != nil && *status >= 0 {
			u.status = status
		}
	}
	return true
}

func (u *unit) conclude(ran, skipped, failed, succeeded bool) {
	u.known = MaybeRan
	switch {
	case !skipped:
		u.known = Ran
	case !ran:
		u.known = DidNotRun
	}
	switch {
	case u.known != Ran:
	case len(u.only) == 1:
		u.status = &u.only[0]
	case !failed && succeeded:
		u.status = new(int)
	case failed && !succeeded && u.negated:
		u.status = new(1)
	}
}

// steps are the ways past u, the unit i, from a point. With outside, the script may have been ended while u ran.
func (u *unit) steps(i int, from point, outside bool) []step {
	if from.ended || u.op == "&&" && from.failed || u.op == "||" && !from.failed {
		return []step{{from, from, false}}
	}
	var out []step
	for _, failed := range []bool{false, true} {
		if !u.can(failed, from) {
			continue
		}
		to := point{failed, u.ends || failed && u.errexit && u.last && !u.negated, i}
		out = append(out, step{from, to, true})
		if outside && failed && !to.ended {
			to.ended = true
			out = append(out, step{from, to, true})
		}
	}
	return out
}

func (u *unit) can(fail bool, from point) bool {
	if u.ends && u.only == nil { // exit without a number
		return fail == from.failed
	}
	for _, n := range u.only {
		if (n != 0) == fail {
			return true
		}
	}
	return u.only == nil
}

// fits reports whether a script that came to its end at p can have status.
func fits(units []*unit, p point, status *int) bool {
	if status == nil {
		return true
	}
	if p.failed != (*status != 0) {
		return false
	}
	if p.by < 0 || units[p.by].only == nil || *status <= 0 {
		return true
	}
	for _, n := range units[p.by].only {
		if n == *status {
			return true
		}
	}
	return false
}

// setOptions follows set through units. It reports false where that depends on what runs.
func setOptions(units []*unit, o shellOptions) bool {
	for i, u := range units {
		u.last = i+1 == len(units) || units[i+1].op == ";"
		u.shellOptions = o
		if u.sets == nil {
			continue
		}
		if u.op == "&&" || u.op == "||" {
			return false
		}
		for w := 0; w < len(u.sets); w++ {
			word := u.sets[w]
			if word == "--" || word == "" || word[0] != '-' && word[0] != '+' {
				break
			}
			if o.set(word) && w+1 < len(u.sets) {
				w++
				o.name(word[0] == '-', u.sets[w])
			}
		}
	}
	return true
}

// statuses are those that a command can have by its very name, nil: any.
func statuses(c *Call) []int {
	switch c.Argv[0] {
	case "true", ":":
		return []int{0}
	case "false":
		return []int{1}
	case "exit":
		if len(c.Argv) == 2 && len(c.Meta.DynamicArgs) == 0 {
			if n, err := strconv.Atoi(c.Argv[1]); err == nil {
				return []int{n & 0xff}
			}
		}
	}
	return nil
}
