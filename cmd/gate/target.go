package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/config"
	"gatehouse/internal/spelling"
	"gatehouse/manifest"
)

// A target is a gate that the caller may publish and restore.
type target struct {
	gate     string
	host     string
	export   string
	accepted string // directory of the accepted generation
	source   manifest.Source
	restore  *config.RestoreRequest
}

// targets returns the caller's gates: the named ones, or all of them.
func (g *globals) targets(names []string) ([]target, error) {
	all, from, err := g.all()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no gate for uid %d", from, os.Getuid())
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []target
	for _, name := range names {
		i := slices.IndexFunc(all, func(t target) bool { return t.gate == name })
		if i < 0 {
			return nil, unknownGate(name, all, from)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// all returns every gate of the caller, and the file that says so.
func (g *globals) all() (gates []target, from string, err error) {
	uid := uint32(os.Getuid())
	index, err := config.ReadIndex(g.index)
	switch {
	case err == nil:
		if listed := index.ForUID(uid); len(listed) > 0 {
			if g.config != "" {
				return nil, "", fmt.Errorf("--config cannot be used here: %s lists the gates of uid %d", g.index, uid)
			}
			for _, e := range listed {
				gates = append(gates, target{gate: e.Gate, host: index.Host, export: e.Export, accepted: e.Accepted, restore: e.Restore,
					source: manifest.Source{Live: e.Live, Owner: uid, Limits: e.Limits}})
			}
			return gates, g.index, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", err
	}
	path := g.config
	if path == "" {
		path = g.streams.Getenv("GATEHOUSE_CONFIG")
	}
	if path == "" {
		path = config.DefaultPath
	}
	c, err := config.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%w; there is no warden on this host, so name its configuration with --config", err)
	}
	if err != nil {
		return nil, "", err
	}
	for _, e := range c.Gates {
		if owner, err := e.UID(); err != nil || owner != uid {
			continue
		}
		gates = append(gates, target{gate: e.Name, host: c.Host, export: e.Export, accepted: filepath.Join(c.State, "accepted", e.Name),
			source: manifest.Source{Live: e.Live, Owner: uid, Limits: e.Limits}})
	}
	return gates, path, nil
}

func unknownGate(name string, all []target, from string) error {
	var names []string
	for _, t := range all {
		names = append(names, t.gate)
	}
	hint := "yours: " + strings.Join(names, ", ")
	if nearest := spelling.Nearest(name, names); nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	return fmt.Errorf("%s has no gate %q for you; %s (a gate that is new in warden.yaml is listed after the next pass of the warden)",
		from, name, hint)
}
