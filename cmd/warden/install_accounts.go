package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
)

// callService takes the calls of catalogued tools.
const callService = "gatehouse-call.service"

// serviceGroup is the group of both users of the service: what is opened to it, the service can look at, and its tools can
// work with.
const serviceGroup = "gatehouse"

// A serviceAccount is a user that a unit runs as.
type serviceAccount struct{ name, home, why, keeps string }

func serviceAccounts() []serviceAccount {
	return []serviceAccount{
		{"gatehouse", "/var/lib/gatehouse-call", "takes calls of catalogued tools, and counts them where no agent can write", "the steps of jobs and the log of their calls"},
		{"gatehouse-tools", "/var/lib/gatehouse-tools", "runs the tools, which may run what an agent wrote", "what tools kept in their home directory"},
	}
}

// planAccounts makes the users of the service. It has units of its own, so that a host without systemd does without.
func (in *installation) planAccounts(_ context.Context, p *plan) error {
	if in.systemctl.path == "" {
		return nil
	}
	var unknownGroup user.UnknownGroupError
	if _, err := user.LookupGroup(serviceGroup); errors.As(err, &unknownGroup) {
		p.add(step{what: "make the system group " + serviceGroup, why: "of the service that takes calls, and of its tools",
			do: func(ctx context.Context) error { return runAccounts(ctx, "groupadd", "--system", serviceGroup) }})
	} else if err != nil {
		return err
	}
	for _, a := range serviceAccounts() {
		for _, gate := range in.config.Gates {
			if ownerName(in.users[gate.Name].uid) == a.name {
				return fmt.Errorf("gate %s: its user is %s, as whom calls are counted or tools are run; run the agent as a user of its own", gate.Name, a.name)
			}
		}
		there, err := user.Lookup(a.name)
		var unknown user.UnknownUserError
		switch {
		case err == nil && there.Uid == "0":
			return fmt.Errorf("the user %s is root; it has to be a user of its own", a.name)
		case err == nil:
		case errors.As(err, &unknown):
			p.add(step{what: "make the system user " + a.name, why: a.why,
				do: func(ctx context.Context) error {
					return runAccounts(ctx, "useradd", "--system", "--gid", serviceGroup, "--no-create-home", "--home-dir", a.home,
						"--shell", "/usr/sbin/nologin", a.name)
				}})
		default:
			return err
		}
	}
	return nil
}

func runAccounts(ctx context.Context, name string, args ...string) error {
	path := systemProgram(name)
	if path == "" {
		return fmt.Errorf("there is no %s on this host; make the group and the users yourself, or install the package passwd or shadow-utils", name)
	}
	_, err := runSystem(ctx, path, args...)
	return err
}

// planRestart has a service that runs go by its new unit file. Calls that are under way are cancelled.
func (in *installation) planRestart(ctx context.Context, p *plan) {
	if !in.systemctl.running {
		return
	}
	known, err := in.systemctl.show(ctx, []string{callService}, "ActiveState")
	if err == nil && known[callService]["ActiveState"] != "active" {
		return
	}
	p.add(step{what: "systemctl try-restart " + callService, why: "it runs as its unit file was before",
		do: func(ctx context.Context) error { return in.systemctl.run(ctx, "try-restart", callService) }})
}
