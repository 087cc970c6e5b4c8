package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gatehouse/gate"
)

// Below state/flags, beside what is known: what is to be known, which everybody may read, and what came of asking.
const (
	wantedFile   = "wanted.json"
	triedFile    = "tried.json"
	wantedSchema = "gatehouse/wanted-flags/v1"
	triedSchema  = "gatehouse/tried-flags/v1"
	maxWanted    = 2000 // commands; an allow list that is longer is none
)

// wanted lists the commands whose flags the accepted gates need, sorted, so that a program comes before its
// subcommands.
type wanted struct {
	Schema   string          `json:"schema"`
	Commands []wantedCommand `json:"commands"`
}

type wantedCommand struct {
	Path string   `json:"path"`
	Sub  []string `json:"sub,omitempty"`
	File string   `json:"file"` // changes when the program does
}

func (c *wantedCommand) key() string { return strings.Join(append([]string{c.Path}, c.Sub...), " ") }

func (w *wanted) marshal() ([]byte, error) {
	data, err := json.MarshalIndent(w, "", " ")
	return append(data, '\n'), err
}

func (w *wanted) digest() string {
	data, err := w.marshal()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// tried is what came of the last run for a list.
type tried struct {
	Schema   string            `json:"schema"`
	Wanted   string            `json:"wanted"` // digest of the list
	Problems map[string]string `json:"problems,omitempty"`
}

// wantedFlags reads the accepted gates. A program counts where only root can change it: of others root says nothing.
func (s *site) wantedFlags() (*wanted, error) {
	list := &wanted{Schema: wantedSchema, Commands: []wantedCommand{}}
	seen := make(map[string]bool)
	for _, g := range s.gates {
		compiled, err := os.ReadFile(filepath.Join(s.config.State, "accepted", g.Name, "compiled"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		commands, err := gate.Commands(compiled)
		if err != nil {
			continue // of another release; the pass compiles it anew, or reports why it cannot
		}
		for _, words := range commands {
			if len(words) == 0 {
				continue
			}
			path := rootsProgramNamed(words[0])
			if path == "" {
				continue
			}
			for n := range len(words) { // the program, and each subcommand on the way
				c := wantedCommand{Path: path, Sub: slices.Clone(words[1 : n+1]), File: fileMark(path)}
				if !seen[c.key()] && len(list.Commands) < maxWanted {
					seen[c.key()] = true
					list.Commands = append(list.Commands, c)
				}
			}
		}
	}
	slices.SortFunc(list.Commands, func(a, b wantedCommand) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), slices.Compare(a.Sub, b.Sub))
	})
	return list, nil
}

// rootsProgramNamed is the program that a name means on a system's own path, empty where there is none or where
// somebody but root could change it.
func rootsProgramNamed(name string) string {
	paths := []string{name}
	if !strings.Contains(name, "/") {
		paths = nil
		for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			if onlyRoots(path) != nil {
				return ""
			}
			return path
		}
	}
	return ""
}

func fileMark(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d %d %d %d %d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
}

// wantFlags writes down what is to be known, and asks gatehouse-flags.service to find out what nobody has tried to yet.
// A host without the units has no directory to ask in.
func (g *globals) wantFlags(s *site) error {
	if os.Geteuid() != 0 {
		return nil
	}
	list, err := s.wantedFlags()
	if err != nil {
		return err
	}
	if len(list.Commands) == 0 {
		if _, err := os.Stat(filepath.Join(s.flagsDir(), wantedFile)); err != nil {
			return nil
		}
	}
	data, err := list.marshal()
	if err != nil {
		return err
	}
	path := filepath.Join(s.flagsDir(), wantedFile)
	if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, data) {
		if err := s.warden.Disk.MkdirAll(s.flagsDir(), 0o755); err != nil {
			return err
		}
		if err := s.warden.Disk.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	if s.triedFlags().Wanted == list.digest() {
		return nil
	}
	err = s.warden.Disk.WriteFile(filepath.Join(g.runtimeDir(), "unlearnt"), nil, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readWanted reads the list that wantFlags wrote.
func (s *site) readWanted() (*wanted, error) {
	data, err := os.ReadFile(filepath.Join(s.flagsDir(), wantedFile))
	if err != nil {
		return nil, err
	}
	list := new(wanted)
	if err := json.Unmarshal(data, list); err != nil || list.Schema != wantedSchema {
		return nil, fmt.Errorf("read %s: it is no list of wanted flags", filepath.Join(s.flagsDir(), wantedFile))
	}
	return list, nil
}

// triedFlags returns what came of the last run, nothing if there was none.
func (s *site) triedFlags() tried {
	var t tried
	data, err := os.ReadFile(filepath.Join(s.flagsDir(), triedFile))
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil || t.Schema != triedSchema {
		return tried{}
	}
	return t
}

// leave writes what others read after a command that may have changed how a gate stands: the index, and the list of
// programs whose flags are to be known.
func (g *globals) leave(s *site) error { return errors.Join(s.writeIndex(), g.wantFlags(s)) }
