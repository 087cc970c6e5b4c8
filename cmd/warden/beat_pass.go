package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/peer"
)

// A donePass is the last pass over all gates that came to its end, whatever it found. The pass itself has no network;
// what is said of it outside is said by warden beat.
type donePass struct {
	Schema string       `json:"schema"`
	At     time.Time    `json:"at"`
	Clock  peer.Reading `json:"clock"`
}

const donePassSchema = "gatehouse/pass/v1"

func (p donePass) id() string { return fmt.Sprintf("%s+%d", p.Clock.BootID, p.Clock.Monotonic) }

func (s *site) donePassFile() string { return filepath.Join(s.peersDir(), "pass.json") }

// passDone notes that a pass over all gates came to its end, where somebody outside is to know it, and wakes the unit
// that tells them.
func (g *globals) passDone(s *site) error {
	if s.config.Peers == nil && s.config.Ping == "" {
		return nil
	}
	clock, err := s.clock()
	if err != nil {
		return err
	}
	data, err := json.Marshal(donePass{donePassSchema, time.Now().UTC(), clock})
	if err != nil {
		return err
	}
	if err := s.makePeersDir(); err != nil {
		return err
	}
	if err := s.warden.Disk.WriteSealed(s.donePassFile(), append(data, '\n'), 0o600); err != nil {
		return err
	}
	return g.wakeBeat()
}

// wakeBeat asks gatehouse-peers.service to run, by the file that its path unit waits for. A host without these units has
// no such directory.
func (g *globals) wakeBeat() error {
	if os.Geteuid() != 0 {
		return nil
	}
	err := durable.Disk{}.WriteFile(filepath.Join(g.runtimeDir(), "beat"), nil, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lastPass returns the last pass that came to its end, nil for none. One that cannot be read is none: the next makes it
// good.
func (s *site) lastPass() (*donePass, error) {
	data, err := durable.ReadSealed(s.donePassFile())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := new(donePass)
	if err := json.Unmarshal(data, p); err != nil || p.Schema != donePassSchema {
		return nil, nil
	}
	return p, nil
}
