package main

import (
	"fmt"
	"os"
	"path/filepath"

	"gatehouse/config"
	"gatehouse/gate"
)

// open opens the gate as commands for people do: a named policy, then the environment, then what is in force.
func (g *globals) open(policy string) (*gate.Gate, error) { return g.openNamed("--policy", policy) }

// openNamed opens the gate for a flag that names a policy.
func (g *globals) openNamed(flag, policy string) (*gate.Gate, error) {
	if policy != "" {
		if _, err := os.Stat(policy); err != nil {
			return nil, fmt.Errorf("%s takes a directory or a gate.yaml: %w", flag, err)
		}
		var err error
		if policy, err = filepath.Abs(policy); err != nil {
			return nil, err
		}
	}
	o := gate.Options{Index: g.index, UID: uint32(os.Getuid()), Policy: policy, Home: g.streams.Getenv("HOME"), Getenv: g.lookupEnv}
	if policy == "" {
		policy = g.streams.Getenv("GATEHOUSE_POLICY")
	}
	if policy != "" {
		o.Flags = []string{filepath.Join(g.flagsPolicy(policy), "flags")}
	}
	return gate.Open(o)
}

// lookupEnv is the environment of the caller; a variable that is set to nothing counts as not set.
func (g *globals) lookupEnv(name string) (string, bool) {
	value := g.streams.Getenv(name)
	return value, value != ""
}

// provenance says in one line which policy decides, and what is to be known about it.
func provenance(p gate.Provenance) string {
	text := "policy " + p.Dir
	if p.Mode == "none" || p.Mode == "" {
		text = "no policy"
		if p.Dir != "" {
			text += " at " + p.Dir
		}
	}
	switch {
	case p.Mode == "accepted":
		text += fmt.Sprintf(": root's accepted copy of gate %s, tree %.12s", p.Gate, p.Tree)
	case p.Gate != "" && p.Decide == config.DecideLive:
		text += fmt.Sprintf(": the live files of gate %s, as root's index lets them decide", p.Gate)
	}
	if p.Differs {
		text += "; the live files differ from it"
		if p.Change != "" {
			text += " (" + p.Change + ")"
		}
		if p.Decide == config.DecideAccepted {
			text += " and do not count until they are accepted"
		}
	}
	return text
}
