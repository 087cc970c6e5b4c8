package config

import (
	"fmt"
	"os/user"
	"strconv"
)

// UID is the user whose files and exports are believed. A name must be known to this host; a number need not be.
func (g Gate) UID() (uint32, error) {
	if numeric(g.User) {
		return parseID(g.User)
	}
	u, err := user.Lookup(g.User)
	if err != nil {
		return 0, g.noAccount(err)
	}
	return parseID(u.Uid)
}

// GID is the primary group of the gate's user.
func (g Gate) GID() (uint32, error) {
	lookup := user.Lookup
	if numeric(g.User) {
		lookup = user.LookupId
	}
	u, err := lookup(g.User)
	if err != nil {
		return 0, g.noAccount(err)
	}
	return parseID(u.Gid)
}

func (g Gate) noAccount(err error) error {
	return fmt.Errorf("gate %s: %w; create the user, or change user in warden.yaml", g.Name, err)
}

func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err
}
