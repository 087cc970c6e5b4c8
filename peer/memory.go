package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// A Reading is the reader's own clock: the time since boot without suspends, and which boot that is.
type Reading struct {
	BootID    string        `json:"boot_id"`
	Monotonic time.Duration `json:"monotonic"`
}

// ReadClock reads the clock of this host.
func ReadClock(bootID string) (Reading, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Reading{}, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return Reading{bootID, time.Duration(now.Nano())}, nil
}

// since is how long ago an earlier reading was. It is not known across boots, nor where the clock is not the same.
func (r Reading) since(earlier Reading) (time.Duration, bool) {
	if r.BootID != earlier.BootID || r.Monotonic < earlier.Monotonic {
		return 0, false
	}
	return r.Monotonic - earlier.Monotonic, true
}

const memorySchema = "gatehouse/peers/v1"

// A Memory is what a reader keeps from one look to the next. The zero Memory has never looked.
type Memory struct {
	Schema string                   `json:"schema"`
	Read   Reading                  `json:"read"`   // the last look
	Seen   Reading                  `json:"seen"`   // the last one that reached the exchange
	Gap    bool                     `json:"gap"`    // since Seen, a look did not reach it
	Blind  time.Duration            `json:"blind"`  // for how long the exchange cannot be reached
	Reason string                   `json:"reason"` // why not
	Hosts  map[string]*Acquaintance `json:"hosts"`
	Splits map[string]time.Duration `json:"splits"` // by gate: for how long hosts do not agree
	Open   map[string]opened        `json:"open"`   // findings, by kind and subject
	// Findings and Strange are what the last look led to, for whoever wants to see it without a look.
	Findings []Finding         `json:"findings"`
	Strange  []string          `json:"strange"` // hosts that leave heartbeats and are not in the inventory
	Alerts   map[string]*alert `json:"alerts"`  // by id
	Said     map[string]said   `json:"said"`    // by this host, of alerts that it told
	Drop     []string          `json:"drop"`    // records of notices of which nothing more is to be sent
}

// An Acquaintance is what is remembered of a host.
type Acquaintance struct {
	Key         string        `json:"key"`         // that it was known by
	Beat        *Heartbeat    `json:"beat"`        // the last one that was believed
	Digest      string        `json:"digest"`      // of the statement that was believed
	Boots       []string      `json:"boots"`       // before that of Beat
	Quiet       time.Duration `json:"quiet"`       // looked at since Beat, or since it is watched
	Maintenance time.Duration `json:"maintenance"` // that it announced without a break, as far as it was looked at
	Silent      bool          `json:"silent"`
	Fault       Kind          `json:"fault"` // of what lies there now
	FaultReason string        `json:"fault_reason"`
	FaultDigest string        `json:"fault_digest"`
	Unread      string        `json:"unread,omitempty"` // why what lies there now could not be read
}

// opened is a finding that was there at the last look.
type opened struct {
	Alert string        `json:"alert"`
	For   time.Duration `json:"for"`
}

// clone copies what a look may change.
func (m Memory) clone() Memory {
	next := m
	next.Schema = memorySchema
	next.Hosts = make(map[string]*Acquaintance, len(m.Hosts))
	for name, a := range m.Hosts {
		c := *a
		next.Hosts[name] = &c
	}
	next.Splits = make(map[string]time.Duration, len(m.Splits))
	for gate, lasted := range m.Splits {
		next.Splits[gate] = lasted
	}
	next.Open = make(map[string]opened, len(m.Open))
	for subject, o := range m.Open {
		next.Open[subject] = o
	}
	next.Alerts = make(map[string]*alert, len(m.Alerts))
	for id, a := range m.Alerts {
		c := *a
		c.Heard = maps.Clone(a.Heard)
		next.Alerts[id] = &c
	}
	next.Said = make(map[string]said, len(m.Said))
	for id, s := range m.Said {
		next.Said[id] = s
	}
	next.Drop = slices.Clone(m.Drop)
	return next
}

// LoadMemory reads the memory that Save wrote to dir. There being none is the zero Memory. What is there and cannot be
// trusted is an error that wraps durable.ErrCorrupt, and the zero Memory: whoever goes on with that begins with fresh
// grace, and may say again what was said.
func LoadMemory(dir string) (Memory, error) {
	data, err := durable.ReadSealed(memoryFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return Memory{}, nil
	}
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	if err := json.Unmarshal(data, &m); err != nil || m.Schema != memorySchema {
		return Memory{}, fmt.Errorf("read %s: %w", memoryFile(dir), durable.ErrCorrupt)
	}
	for _, a := range m.Hosts {
		if a == nil {
			return Memory{}, fmt.Errorf("read %s: %w", memoryFile(dir), durable.ErrCorrupt)
		}
	}
	for _, a := range m.Alerts {
		if a == nil {
			return Memory{}, fmt.Errorf("read %s: %w", memoryFile(dir), durable.ErrCorrupt)
		}
	}
	return m, nil
}

// Save writes the memory below dir, which only root can read.
func (m *Memory) Save(disk durable.Disk, dir string) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	return disk.WriteSealed(memoryFile(dir), data, 0o600)
}

func (m *Memory) encode() ([]byte, error) {
	m.Schema = memorySchema
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("remember what was seen of other hosts: %w", err)
	}
	return append(data, '\n'), nil
}

func memoryFile(dir string) string { return filepath.Join(dir, "memory.json") }

// Forget makes the next heartbeat of a host count whatever its number is. It reports whether the host was known.
func (m *Memory) Forget(host string) bool {
	_, known := m.Hosts[host]
	delete(m.Hosts, host)
	return known
}
