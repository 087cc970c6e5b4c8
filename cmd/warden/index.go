package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gatehouse/config"
	"gatehouse/reconcile"
)

// writeIndex tells gate what is in force for whom. It is written from the state of every gate after each command that
// may have changed one, so that a run that was cut short is made good by the next.
func (s *site) writeIndex() error {
	index := config.Index{Schema: config.IndexSchema, Host: s.config.Host, WrittenAt: time.Now().UTC()}
	for _, g := range s.config.Gates {
		i := slices.IndexFunc(s.gates, func(r reconcile.Gate) bool { return r.Name == g.Name })
		if s.gates[i].Problem != nil {
			continue // there is nobody whom it could be in force for
		}
		status, err := s.warden.Status(s.gates[i])
		entry := config.IndexGate{
			Gate: g.Name, UID: s.users[g.Name], User: g.User, Decide: g.Decide, Export: g.Export,
			Live: g.Live, Limits: g.Limits, Interval: g.Interval, Result: string(reconcile.Error),
		}
		if err == nil {
			entry.Result, entry.Fingerprint = string(status.Files()), status.Fingerprint
			if status.Restorable {
				entry.Restore = &config.RestoreRequest{From: status.Tree, To: status.Accepted, At: status.Since}
			}
		}
		if tree, err := s.warden.AcceptedTree(s.gates[i]); err == nil && tree != "" {
			entry.Accepted, entry.Tree = filepath.Join(s.config.State, "accepted", g.Name), tree
		}
		index.Gates = append(index.Gates, entry)
	}
	data, err := index.Marshal()
	if err != nil {
		return fmt.Errorf("write %s: %w", s.config.Index, err)
	}
	if err := s.warden.Disk.MkdirAll(filepath.Dir(s.config.Index), 0o755); err != nil {
		return err
	}
	return s.warden.Disk.WriteFile(s.config.Index, data, 0o644)
}
