package page

import "time"

// What is shown at most. The page stays of a size that a telephone can take, whatever a fleet or an agent does; what is
// left out is counted and the command that shows it is named.
const (
	maxName  = 160 // characters
	maxText  = 600
	maxLine  = 400 // of a diff
	maxGates = 40  // gates of this host, and groups of the fleet, that are shown in full
	maxCalm  = 100 // rows of what is well
	maxItems = 20  // of a finding, and findings of a gate

	maxDiffs     = 20  // files of a gate
	maxDiffLines = 200 // of a file

	maxHosts     = 8   // names that stand in a group at once
	maxMoreHosts = 400 // names that it unfolds

	maxRows = 60 // of the other tables

	// Of the whole page.
	pageDiffLines = 2000
	pageHosts     = 4000
	pageText      = 1 << 20 // bytes of foreign texts; what comes after that many is shown shorter
	shortText     = 24
)

// A maker makes one page: it puts times into words as they are when the page is made, and keeps what is left of the
// limits.
type maker struct {
	now                time.Time
	lines, hosts, text int
}

// plain makes a foreign text harmless and bounded.
func (m *maker) plain(text string, most int) string {
	if m.text <= 0 {
		most = min(most, shortText)
	}
	shown := plain(text, most)
	m.text -= len(shown)
	return shown
}

// named is plain for what has to be seen even where it is empty.
func (m *maker) named(text string, most int) string {
	if text == "" {
		return `""`
	}
	return m.plain(text, most)
}

// few is how long a list may be that could hold most.
func (m *maker) few(most int) int {
	if m.text <= 0 {
		return min(most, 2)
	}
	return most
}

// take takes up to want from left.
func take(left *int, want int) int {
	got := min(*left, want)
	*left -= got
	return got
}
