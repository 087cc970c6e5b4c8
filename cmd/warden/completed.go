package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/systemd"
)

// What is remembered of runs, below the state directory.
const (
	runsDir    = "runs"
	lastConfig = "warden.yaml" // as the last completed pass read it; it holds no secrets
)

// A run is a pass of a unit that came to its end: all that it found is in the outbox.
type run struct {
	Schema       string    `json:"schema"`
	Unit         string    `json:"unit"`
	InvocationID string    `json:"invocation_id"`
	Code         int       `json:"code"` // that the process is about to exit with
	At           time.Time `json:"at"`
}

const runSchema = "gatehouse/run/v1"

// announced reports whether a failure is nothing but the exit code of this very run.
func (r run) announced(o systemd.Outcome) bool {
	return r.Code == cli.Unknown && r.InvocationID != "" && r.InvocationID == o.InvocationID && o.ExitedWith(r.Code)
}

func runFile(state, unit string) string { return filepath.Join(state, runsDir, unit+".json") }

func readRun(state, unit string) (r run, err error) {
	data, err := durable.ReadSealed(runFile(state, unit))
	if err != nil {
		return run{}, err
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Schema != runSchema || r.Unit != unit {
		return run{}, fmt.Errorf("read %s: %w", runFile(state, unit), durable.ErrCorrupt)
	}
	return r, nil
}

// completed is the last step of a pass that came to its end, whatever it found: all of that is in the outbox, so the
// exit code needs no notice of its own. Under a unit of warden install it notes the run and the configuration, and ends
// the notices about runs that failed and were followed by a good one. A long-running service gives 0 for each of its
// passes: that it ends is never the result of one. In any case it asks the unit that has the network to send.
func (g *globals) completed(ctx context.Context, s *site, code int) error {
	unit := g.streams.Getenv("GATEHOUSE_UNIT")
	if !unitName.MatchString(unit) {
		return g.handOver()
	}
	now := time.Now().UTC()
	err := errors.Join(
		s.noteRun(run{runSchema, unit, g.streams.Getenv("INVOCATION_ID"), code, now}),
		s.noteConfig(g.config),
		g.clearFailures(ctx, s, unit, now),
	)
	if err != nil {
		return fmt.Errorf("after the pass: %w", err)
	}
	return g.handOver()
}

func (s *site) noteRun(r run) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := s.warden.Disk.MkdirAll(filepath.Join(s.config.State, runsDir), 0o700); err != nil {
		return err
	}
	return s.warden.Disk.WriteSealed(runFile(s.config.State, r.Unit), append(data, '\n'), 0o600)
}

// noteConfig keeps a copy of the configuration that works.
func (s *site) noteConfig(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kept := filepath.Join(s.config.State, runsDir, lastConfig)
	if _, err := config.Parse(path, data); err != nil {
		return nil // edited since this pass began
	}
	if old, err := os.ReadFile(kept); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return s.warden.Disk.WriteFile(kept, data, 0o600)
}

// clearFailures ends the notices about runs that failed: that of the unit which has just made a good one, and those of
// units of which systemd says that they are well again. That it cannot be asked leaves them open.
func (g *globals) clearFailures(ctx context.Context, s *site, unit string, now time.Time) error {
	var errs []error
	for _, outbox := range g.outboxes(s) {
		open, _ := outbox.Open("") // a record that cannot be read is named by the delivery
		cleared := false
		for _, record := range open {
			if record.Kind != kindFailed {
				continue
			}
			if failed := strings.TrimPrefix(record.Subject, unsaved); failed != unit {
				outcome, err := systemd.LastOutcome(ctx, failed)
				if err != nil || !outcome.GoodSince(record.OpenedAt) {
					continue
				}
			}
			errs = append(errs, outbox.Clear(kindFailed, record.Gate, record.Subject, "a later run was good", now))
			cleared = true
		}
		if cleared {
			delivery, err := outbox.Deliver(ctx, time.Now, s.paused)
			errs = append(errs, err)
			g.printDelivery(delivery)
		}
	}
	return errors.Join(errs...)
}

// handOver asks gatehouse-notify.service to send, by the file that its path unit waits for. A host without these units
// has no such directory.
func (g *globals) handOver() error {
	if os.Geteuid() != 0 {
		return nil
	}
	err := durable.Disk{}.WriteFile(filepath.Join(g.runtimeDir(), "unsent"), nil, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
