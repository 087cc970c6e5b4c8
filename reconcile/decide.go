package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoDrift means that an id stands for no open drift, or for more than one.
var ErrNoDrift = errors.New("no such drift")

// A Drift is an open drift and the gate that has it.
type Drift struct {
	Gate   Gate
	Report Report
	state  *state
}

// Find returns the open drift that id stands for: a fingerprint or 8 digits or more of its beginning, with or without
// "d-", or the name of the gate. An empty id stands for the only one there is.
func (w *Warden) Find(gates []Gate, id string) (*Drift, error) {
	var open []Drift
	for _, g := range gates {
		s, err := w.loadState(g.Name)
		if err != nil {
			return nil, err
		}
		if s.Report != nil && s.Report.Fingerprint != "" {
			open = append(open, Drift{g, *s.Report, s})
		}
	}
	return pick(open, id)
}

func pick(open []Drift, id string) (*Drift, error) {
	if id == "" {
		switch len(open) {
		case 0:
			return nil, fmt.Errorf("%w: none is open", ErrNoDrift)
		case 1:
			return &open[0], nil
		default:
			return nil, fmt.Errorf("%w: %d are open, name one: %s", ErrNoDrift, len(open), list(open))
		}
	}
	for i := range open {
		if open[i].Gate.Name == id {
			return &open[i], nil
		}
	}
	prefix, err := fingerprintPrefix(id)
	if err != nil {
		return nil, err
	}
	var found []Drift
	for _, d := range open {
		if strings.HasPrefix(d.Report.Fingerprint, prefix) {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 1 && found[0].state != nil && found[0].state.shared(found[0].Report.Fingerprint, prefix):
		return nil, fmt.Errorf("%w: %s is also the beginning of an earlier drift; the one that is open is %s", ErrNoDrift, id,
			found[0].state.driftID(found[0].Report.Fingerprint))
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %s is the beginning of more than one: %s", ErrNoDrift, id, list(found))
	case len(open) == 0:
		return nil, fmt.Errorf("%w: %s is not open, and no other is", ErrNoDrift, id)
	default:
		return nil, fmt.Errorf("%w: %s is not open; open now: %s", ErrNoDrift, id, list(open))
	}
}

// fingerprintPrefix takes the kind off an id and checks what is left.
func fingerprintPrefix(id string) (string, error) {
	digits := strings.ToLower(id)
	if kind, rest, ok := strings.Cut(digits, "-"); ok {
		switch kind {
		case "d":
			digits = rest
		case "c":
			return "", fmt.Errorf("%s is a decision of the gate; a drift's id begins with d-", id)
		case "a":
			return "", fmt.Errorf("%s is an acceptance; a drift's id begins with d-", id)
		}
	}
	if strings.Trim(digits, "0123456789abcdef") != "" || digits == "" || len(digits) > 64 {
		return "", fmt.Errorf("%q is no drift: give 8 or more digits of its fingerprint, as \"warden status\" shows it", id)
	}
	if len(digits) < 8 {
		return "", fmt.Errorf("%q is too short: give 8 or more digits of the fingerprint", id)
	}
	return digits, nil
}

func list(drifts []Drift) string {
	texts := make([]string, len(drifts))
	for i, d := range drifts {
		texts[i] = fmt.Sprintf("%s (gate %s)", DriftID(d.Report.Fingerprint), d.Gate.Name)
	}
	return strings.Join(texts, ", ")
}

// Reject records that a person saw the drift and does not want it. It stays a finding.
func (w *Warden) Reject(ctx context.Context, g Gate, fingerprint string, d Decision) (*Pass, error) {
	pass := new(Pass)
	err := w.locked(ctx, func() error {
		s, err := w.loadState(g.Name)
		if err != nil {
			return err
		}
		if s.Report == nil || s.Report.Fingerprint != fingerprint {
			return fmt.Errorf("reject %s: gate %s moved on; run \"warden status\"", DriftID(fingerprint), g.Name)
		}
		if s.Report.Has(Diverged) {
			return fmt.Errorf("reject %s: gate %s has diverged; run \"warden deploy %s\" first", DriftID(fingerprint), g.Name, g.Name)
		}
		if s.Rejected == nil {
			s.Rejected = make(map[string]rejection)
		}
		now := w.Now().UTC()
		s.Rejected[fingerprint] = rejection{Why: d.Why, By: d.By, At: now}
		if err := w.saveState(s); err != nil {
			return err
		}
		err = w.record(Event{At: now, Gate: g.Name, Action: "reject", Fingerprint: fingerprint, Tree: s.Report.Tree, By: d.By, Why: d.Why})
		if err != nil {
			return err
		}
		return w.again(ctx, g, pass)
	})
	return pass, err
}

// HoldNotices pauses the notices of g until a time, or ends a pause where until is zero.
func (w *Warden) HoldNotices(ctx context.Context, g Gate, until time.Time, d Decision) error {
	return w.locked(ctx, func() error {
		s, err := w.loadState(g.Name)
		if err != nil {
			return err
		}
		if until.IsZero() && !s.paused(w.Now()) {
			return fmt.Errorf("gate %s is not paused", g.Name)
		}
		event := Event{At: w.Now().UTC(), Gate: g.Name, Action: "pause", By: d.By, Why: d.Why}
		s.Pause = &Pause{Until: until.UTC(), Why: d.Why, By: d.By}
		if until.IsZero() {
			s.Pause, event.Action = nil, "resume"
		}
		if err := w.saveState(s); err != nil {
			return err
		}
		return w.record(event)
	})
}
