package main

import (
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/config"
	"gatehouse/systemd"
)

// peersOfHost describes what the unit that speaks to other hosts needs.
func peersOfHost(c *config.Config, h *systemd.Host) {
	h.Peers = c.Peers != nil || c.Ping != ""
	secrets := []config.Secret{c.Ping.Secret()}
	if p := c.Peers; p != nil {
		secrets = append(secrets, p.Key)
		if p.Exchange.NATS != nil {
			secrets = append(secrets, p.Exchange.NATS.Seed)
		} else {
			h.PeerPaths = append(h.PeerPaths, p.Exchange.Directory)
		}
	}
	for _, s := range secrets {
		name, ok := strings.CutPrefix(string(s), "credential:")
		known := func(c systemd.Credential) bool { return c.Name == name }
		if ok && !slices.ContainsFunc(h.Credentials, known) && !slices.ContainsFunc(h.PeerCredentials, known) {
			h.PeerCredentials = append(h.PeerCredentials, systemd.Credential{Name: name, Path: filepath.Join(credentials, name)})
		}
	}
}
