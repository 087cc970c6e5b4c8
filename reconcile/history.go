package reconcile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// An Event is something that a person decided about a gate.
type Event struct {
	At          time.Time `json:"at"`
	Gate        string    `json:"gate"`
	Action      string    `json:"action"` // accept, reject, deploy, rollback, pause, resume, accept-log, grant, revoke
	Fingerprint string    `json:"fingerprint,omitempty"`
	Tree        string    `json:"tree,omitempty"`
	Replaces    string    `json:"replaces,omitempty"`
	Commit      string    `json:"commit,omitempty"`
	By          string    `json:"by"`
	Why         string    `json:"why,omitempty"`
	ID          string    `json:"id,omitempty"` // of an acceptance; one that was cut short may be recorded twice

	// Of an exception.
	Grant    string    `json:"grant,omitempty"` // its id
	Decision string    `json:"decision,omitempty"`
	Subject  string    `json:"subject,omitempty"`
	Call     string    `json:"call,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

func (w *Warden) historyPath() string { return filepath.Join(w.State, "history.jsonl") }

func (w *Warden) record(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("record %s of gate %s: %w", e.Action, e.Gate, err)
	}
	return w.Disk.Append(w.historyPath(), append(line, '\n'), 0o600)
}

// History returns the recorded events, oldest first; of one gate, or of all for an empty name.
func (w *Warden) History(gate string) ([]Event, error) {
	file, err := os.Open(w.historyPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var events []Event
	seen := make(map[string]bool)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a line that a crash cut short
		}
		if e.ID != "" && seen[e.ID] || gate != "" && e.Gate != gate {
			continue
		}
		seen[e.ID] = true
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", w.historyPath(), err)
	}
	return events, nil
}
