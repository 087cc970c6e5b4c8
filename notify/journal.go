package notify

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/go-systemd/v22/journal"
)

// A Journal writes one entry of the systemd journal for each notice. Where there is no journal it writes one line of
// key=value pairs for each instead, and that counts as sent.
type Journal struct{ fallback io.Writer }

// NewJournal returns a sink that writes to the journal, or else to fallback (standard error, say).
func NewJournal(fallback io.Writer) *Journal { return &Journal{fallback} }

// Name implements Sink.
func (*Journal) Name() string { return "journal" }

// messageID is the journal's MESSAGE_ID of a state. It never changes: people and catalogues search for it.
func messageID(s State) string {
	switch s {
	case Opened:
		return "fd8f2ba3efdd4be29e2e7630bd4cabd4"
	case Changed:
		return "f7fa615455294d00a0942122c3742d03"
	case Closed:
		return "b1b01edc3e5744798cdfaba21004ca23"
	default:
		return "ccfa56f3bb024c55a8eb5f5d8d80c3b6"
	}
}

// Send implements Sink.
func (j *Journal) Send(ctx context.Context, m Message) error {
	enabled := journal.Enabled()
	for i := range m.Notices {
		n := &m.Notices[i]
		if !enabled {
			if _, err := io.WriteString(j.fallback, logfmt(n, &m)); err != nil {
				return err
			}
			continue
		}
		// The socket blocks while the journal does not read.
		done := make(chan error, 1)
		go func() { done <- journal.Send(strings.Join(n.text(&m), "\n"), priority(n), fields(n, &m)) }()
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("write to the journal: %w", err)
			}
		case <-ctx.Done():
			return fmt.Errorf("write to the journal: %w", ctx.Err())
		}
	}
	return nil
}

func priority(n *Notice) journal.Priority {
	switch {
	case n.State == Closed:
		return journal.PriNotice
	case n.Severity >= 10:
		return journal.PriCrit
	case n.Severity >= 8:
		return journal.PriErr
	default:
		return journal.PriWarning
	}
}

func fields(n *Notice, m *Message) map[string]string {
	return map[string]string{
		"MESSAGE_ID":             messageID(n.State),
		"SYSLOG_IDENTIFIER":      "gatehouse",
		"GATEHOUSE_GATE":         n.Gate,
		"GATEHOUSE_HOST":         m.Host,
		"GATEHOUSE_KIND":         n.Kind,
		"GATEHOUSE_SUBJECT":      n.Subject,
		"GATEHOUSE_STATE":        string(n.State),
		"GATEHOUSE_SEVERITY":     strconv.Itoa(n.Severity),
		"GATEHOUSE_FINGERPRINT":  n.Fingerprint,
		"GATEHOUSE_CHANGES":      strconv.Itoa(n.ChangesTotal),
		"GATEHOUSE_COMMAND":      n.Command,
		"GATEHOUSE_NOTICE_ID":    n.ID,
		"GATEHOUSE_NOTICE_BATCH": m.ID,
	}
}

// logfmt is the journal entry on one line, with the keys in lower case and without their prefix.
func logfmt(n *Notice, m *Message) string {
	values := fields(n, m)
	delete(values, "SYSLOG_IDENTIFIER")
	values["PRIORITY"] = strconv.Itoa(int(priority(n)))
	line := "msg=" + strconv.Quote(n.title(m.Host)+": "+strings.Join(n.whole(), "; "))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		if value == "" || strings.ContainsAny(value, " =\"\\") {
			value = strconv.Quote(value)
		}
		line += " " + strings.ToLower(strings.TrimPrefix(key, "GATEHOUSE_")) + "=" + value
	}
	return line + "\n"
}
