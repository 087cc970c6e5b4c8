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
	u, err := g.account()
	if err != nil {
		return 0, err
	}
	return parseID(u.Gid)
}

// Home is the home directory of the gate's user, as the account database has it.
func (g Gate) Home() (string, error) {
	u, err := g.account()
	if err != nil {
		return "", err
	}
	if absolute(u.HomeDir) != "" {
		return "", fmt.Errorf("gate %s: the home directory %q of user %s is no clean absolute path", g.Name, u.HomeDir, g.User)
	}
	return u.HomeDir, nil
}

func (g Gate) account() (*user.User, error) {
	lookup := user.Lookup
	if numeric(g.User) {
		lookup = user.LookupId
	}
	u, err := lookup(g.User)
	if err != nil {
		return nil, g.noAccount(err)
	}
	return u, nil
}

func (g Gate) noAccount(err error) error {
	return fmt.Errorf("gate %s: %w; create the user, or change user in warden.yaml", g.Name, err)
}

func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err
}
