package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"gatehouse/exchange"
)

// A hostFile is hosts/NAME.json.
type hostFile struct {
	Host  string    `json:"host"`
	Key   string    `json:"nkey"`
	Added time.Time `json:"added"`
}

// NewKey makes an nkey for a host: the seed is the host's own, the public part is what Add takes.
func NewKey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if seed, err = pair.Seed(); err != nil {
		return nil, "", err
	}
	public, err = pair.PublicKey()
	return seed, public, err
}

// Add lets a host in. One that is there gets the new key, and its old one counts no more: that is how keys are rotated.
func (h *Home) Add(host Host, now time.Time) error {
	if err := host.check(); err != nil {
		return err
	}
	hosts, err := h.Hosts()
	if err != nil {
		return err
	}
	for _, other := range hosts {
		if other.Key == host.Key && other.Name != host.Name {
			return fmt.Errorf("the key %s is that of the host %q already", host.Key, other.Name)
		}
	}
	data, err := json.Marshal(hostFile{host.Name, host.Key, now.UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return h.disk.WriteFile(h.path("hosts", host.Name+".json"), append(data, '\n'), 0o644)
}

// Remove lets a host in no more.
func (h *Home) Remove(name string) error {
	if err := exchange.CheckHost(name); err != nil {
		return err
	}
	file := h.path("hosts", name+".json")
	switch _, err := os.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no host %q in %s", name, h.path("hosts"))
	case err != nil:
		return err
	}
	return h.disk.Remove(file)
}

// Hosts reads all hosts. One bad file refuses them all: who is let in is never a guess.
func (h *Home) Hosts() ([]Host, error) {
	entries, err := os.ReadDir(h.path("hosts"))
	if err != nil {
		return nil, err
	}
	var hosts []Host
	keys := make(map[string]string)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") { // not finished, by this program or by the one that copies
			continue
		}
		name, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok {
			return nil, fmt.Errorf("%s is not HOST.json; move it away", h.path("hosts", entry.Name()))
		}
		var f hostFile
		err := readJSON(h.path("hosts", entry.Name()), &f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		host := Host{f.Host, f.Key}
		if err := host.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", h.path("hosts", entry.Name()), err)
		}
		if host.Name != name {
			return nil, fmt.Errorf("%s: it names the host %q", h.path("hosts", entry.Name()), host.Name)
		}
		if other, twice := keys[host.Key]; twice {
			return nil, fmt.Errorf("the hosts %q and %q have one key", other, host.Name)
		}
		keys[host.Key] = host.Name
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func (h Host) check() error {
	if err := exchange.CheckHost(h.Name); err != nil {
		return err
	}
	if !nkeys.IsValidPublicUserKey(h.Key) {
		return fmt.Errorf("%q is no public nkey of a user; it begins with U", h.Key)
	}
	return nil
}

// State is a digest of what a node reads from its home, by the times of the files. It tells whether to reload.
func (h *Home) State(node string) (string, error) {
	var b strings.Builder
	note := func(name string) error {
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, info.Name(), info.Size(), info.ModTime().UnixNano())
		return nil
	}
	entries, err := os.ReadDir(h.path("hosts"))
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		if err := note(h.path("hosts", entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	err = note(h.path("nodes", node, "node.pem"))
	return b.String(), err
}
