package gate

import (
	"fmt"
	"time"
)

// A budget is the work that one decision may take: a step is one look at the disk, one name in a directory, or as much
// computing as that costs. Ordinary lines take some hundred. Where it is spent, the line is refused: a decision that takes
// longer than its caller waits would be none. Lines that are judged inside of others take from the same budget. Clocks are
// the second guard, for a disk that is slow (maxTime). The zero of a *budget has no end.
type budget struct {
	left  int
	asked int
	until time.Time
}

const (
	maxTime  = 5 * time.Second // who waits for a hook says less
	maxWork  = 150_000
	openCost = 20     // what opening a directory costs
	maxWords = 20_000 // of one line
)

// spend takes steps from the budget and reports whether it still holds.
func (b *budget) spend(steps int) bool {
	if b == nil {
		return true
	}
	b.left -= steps
	if b.asked++; b.asked%32 == 0 && b.left >= 0 && time.Now().After(b.until) {
		b.left = -1
	}
	return b.left >= 0
}

// over reports whether no more work may be done for the request.
func (j *judge) over(steps int) bool {
	return !j.view.budget.spend(steps) || j.ctx.Err() != nil
}

// bounded refuses what took more work than a decision may.
func (j *judge) bounded() {
	if j.deep == 0 && j.view.budget.left < 0 {
		j.reasons = append(j.reasons, Reason{Stage: StageShell, Call: -1, Rule: "limit",
			Text: fmt.Sprintf("to judge this takes more than %d steps or %v: too many files, words or commands", maxWork, maxTime),
			Hint: "split the line, or name fewer files"})
	}
}

// maxReasons bounds what is said about one request.
const maxReasons = 100
