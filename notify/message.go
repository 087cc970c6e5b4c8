package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// A Message is what one sink is sent in one run: everything that is new to it, the worst first.
type Message struct {
	ID      string    `json:"id"` // n-…; the same for the same notices
	Host    string    `json:"host"`
	At      time.Time `json:"sent_at"` // of the first attempt
	Notices []Notice  `json:"messages"`
}

// A State says what a notice announces.
type State string

// The states.
const (
	Opened   State = "open"     // the subject is open, with these changes
	Changed  State = "changed"  // these changes have come to those announced
	Closed   State = "closed"   // the subject is no longer open
	Flapping State = "flapping" // it changes too often to announce each change
)

// A Notice is what there is to say about one record as of a revision. Its texts are quoted.
type Notice struct {
	ID       string `json:"id"` // record#revision
	Record   string `json:"record"`
	Revision int    `json:"revision"`
	State    State  `json:"state"`
	Event           // Changes holds the new ones, at most 500
	// ChangesTotal counts the new changes, Open all that are open.
	ChangesTotal int       `json:"changes_total"`
	Open         int       `json:"open"`
	OpenedAt     time.Time `json:"opened_at"`
	ClearedAt    time.Time `json:"cleared_at,omitzero"`
	Why          string    `json:"why,omitempty"`
	Unannounced  bool      `json:"unannounced,omitempty"` // closed, and never announced while it was open
}

// newMessage makes the message of the notices. Its id depends on the host too, since many hosts share a channel, and on
// when the episodes opened, since numbers begin anew where a state directory is lost.
func newMessage(host string, at time.Time, notices []Notice) Message {
	slices.SortStableFunc(notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.Gate, b.Gate))
	})
	h := sha256.New()
	fmt.Fprintf(h, "gatehouse/notice/v1 %q", host)
	for _, n := range notices {
		fmt.Fprintf(h, " %q %d", n.ID, n.OpenedAt.UnixNano())
	}
	return Message{ID: "n-" + hex.EncodeToString(h.Sum(nil)[:10]), Host: quote(host), At: at, Notices: notices}
}

// weight orders notices: what is over weighs less than all that is open.
func (n *Notice) weight() int {
	if n.State == Closed {
		return n.Severity - 1<<20
	}
	return n.Severity
}

// Limits of the text of one notice.
const (
	shownChanges = 20
	shownDetail  = 40
)

// title says in one line what the notice is about.
func (n *Notice) title(host string) string {
	state := map[State]string{Opened: "new", Changed: "more", Closed: "over", Flapping: "flapping"}[n.State]
	if n.Title != "" {
		return fmt.Sprintf("%s: %s (%s)", host, n.Title, state)
	}
	return fmt.Sprintf("gate %s on %s: %s (%s)", n.Gate, host, n.Kind, state)
}

// whole is the body with a line for what is left out of it.
func (n *Notice) whole() []string {
	lines, left := n.body()
	if left > 0 {
		lines = append(lines, more(left, "line"))
	}
	return lines
}

// body is what there is to read, line by line, without title and command, and how many lines of the detail are left out.
func (n *Notice) body() (lines []string, left int) {
	if n.State != Closed || n.Unannounced {
		lines = append(lines, n.Summary)
	}
	if n.State == Closed {
		lines = append(lines, "cleared "+clock(n.ClearedAt)+": "+n.Why)
	}
	if n.Unannounced {
		lines = append(lines, "open since "+clock(n.OpenedAt)+", announced only now")
	}
	var texts []string
	for _, c := range n.Changes {
		if c.Text != "" && c.Text != n.Summary {
			texts = append(texts, c.Text)
		}
	}
	if len(texts) > 0 {
		head := count(n.ChangesTotal, "change") + ":"
		switch {
		case n.State == Changed:
			head = fmt.Sprintf("%s, %d open:", count(n.ChangesTotal, "new change"), n.Open)
		case n.State == Closed && !n.Unannounced:
			head = count(n.ChangesTotal, "change") + " that had not been announced:"
		}
		lines = append(lines, head)
		for _, text := range texts[:min(len(texts), shownChanges)] {
			lines = append(lines, "  "+text)
		}
		if left := n.ChangesTotal - shownChanges; left > 0 {
			lines = append(lines, "  "+more(left, "change"))
		}
	}
	shown := n.Detail[:min(len(n.Detail), shownDetail)]
	return append(lines, shown...), max(n.DetailTotal-len(shown), 0)
}

// footer identifies the notice, so that a repeat is recognised as one.
func (n *Notice) footer(m *Message) string {
	footer := fmt.Sprintf("notice %s · message %s", n.ID, m.ID)
	if n.Fingerprint != "" {
		footer = shortFingerprint(n.Fingerprint) + " · " + footer
	}
	return footer
}

// text is the whole notice for people, the title first and the command on a line of its own.
func (n *Notice) text(m *Message) []string {
	lines := []string{n.title(m.Host)}
	for _, line := range n.whole() {
		lines = append(lines, "  "+line)
	}
	if n.Command != "" {
		lines = append(lines, "", "    "+n.Command, "")
	}
	return append(lines, "  "+n.footer(m))
}

// shortFingerprint is how people name a drift.
func shortFingerprint(fingerprint string) string {
	return "d-" + fingerprint[:min(len(fingerprint), 12)]
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
