package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/config"
	"gatehouse/systemd"
)

// host describes this host to what makes its unit files.
func (in *installation) host() systemd.Host {
	c := in.config
	h := systemd.Host{
		Warden: in.programs.warden, Gate: in.programs.gate,
		Config: in.path, Schedule: c.Schedule, State: c.State, Repository: c.Repository, Index: c.Index,
		Network: c.Notify.Slack != nil || c.Notify.Webhook != nil,
	}
	for _, name := range credentialNames(c) {
		h.Credentials = append(h.Credentials, systemd.Credential{Name: name, Path: filepath.Join(credentials, name)})
	}
	peersOfHost(c, &h)
	for _, g := range c.Gates {
		gate := systemd.HostGate{Name: g.Name, User: g.User, Export: g.Export}
		for _, l := range g.Live {
			gate.Live = append(gate.Live, l.Root)
		}
		if gid, err := g.GID(); err == nil {
			h.Groups = append(h.Groups, fmt.Sprint(gid))
		}
		gate.AskUser = slices.ContainsFunc(g.LoadedBy, func(by config.LoadedBy) bool { return by.Scope == config.ScopeUser })
		h.Gates = append(h.Gates, gate)
	}
	slices.Sort(h.Groups)
	h.Groups = slices.Compact(h.Groups)
	return h
}

// credentialNames lists the secrets that systemd has to hand to the passes.
func credentialNames(c *config.Config) []string {
	var secrets []config.Secret
	if c.Notify.Slack != nil {
		secrets = append(secrets, c.Notify.Slack.Token)
	}
	if c.Notify.Webhook != nil {
		secrets = append(secrets, c.Notify.Webhook.Secret)
	}
	var names []string
	for _, s := range secrets {
		if name, ok := strings.CutPrefix(string(s), "credential:"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// planUnits writes the unit files, takes away those that the configuration no longer asks for, and enables and starts
// what makes the passes.
func (in *installation) planUnits(ctx context.Context, p *plan) error {
	if in.systemctl.path == "" {
		return nil
	}
	files, err := systemd.Units(in.host())
	if err != nil {
		return err
	}
	if err := onlyRoots(systemd.UnitDir); err != nil {
		return err
	}
	changed, serves := false, false
	for _, f := range files {
		s, kept, err := in.unitFile(f)
		if err != nil {
			return err
		}
		if s != nil {
			p.add(*s)
			changed = true
			serves = serves || filepath.Base(f.Path) == callService
		}
		if kept != "" {
			p.keep("%s", kept)
		}
	}
	gone, err := in.planGone(ctx, p, files)
	if err != nil {
		return err
	}
	if err := in.planRunning(ctx, p, files, changed || gone); err != nil {
		return err
	}
	if serves {
		in.planRestart(ctx, p)
	}
	return nil
}

// unitFile returns the step that a unit file takes, or why it is left alone.
func (in *installation) unitFile(f systemd.File) (*step, string, error) {
	there, whose, err := readUnit(f.Path)
	if err != nil {
		return nil, "", err
	}
	s := &step{
		what: "write " + f.Path, data: f.Data, mode: f.Mode,
		do: func(context.Context) error {
			if err := in.disk.MkdirAll(filepath.Dir(f.Path), anybody); err != nil {
				return err
			}
			return in.disk.WriteFile(f.Path, f.Data, f.Mode)
		},
	}
	switch {
	case whose == nobodys:
		return s, "", nil
	case bytes.Equal(there, f.Data):
		return nil, "", nil
	case whose == masked:
		return nil, fmt.Sprintf("%s: %s", f.Path, whose), nil
	case whose == ours:
		s.what, s.why = "replace "+f.Path, "the configuration, the programs or the release changed since it was written"
		return s, "", nil
	default:
		return nil, fmt.Sprintf("%s: %s; to get ours back: rm %[1]s; warden install", f.Path, whose), nil
	}
}

// planGone takes away what earlier runs made for gates that are no longer configured.
func (in *installation) planGone(ctx context.Context, p *plan, files []systemd.File) (gone bool, err error) {
	wanted := make(map[string]bool)
	instances := make(map[string]bool)
	for _, f := range files {
		wanted[f.Path] = true
		for _, unit := range f.Units {
			instances[unit] = true
		}
	}
	links, err := filepath.Glob(filepath.Join(systemd.UnitDir, "*.wants", "gatehouse-*@*"))
	if err != nil {
		return false, err
	}
	for _, link := range links {
		unit := filepath.Base(link)
		if instances[unit] || strings.Contains(unit, "@.") {
			continue
		}
		gone = true
		p.add(step{what: "disable " + unit, why: "the configuration has no such gate any more",
			do: func(ctx context.Context) error { return in.systemctl.disable(ctx, unit) }})
	}
	ourFiles, err := unitFilesOf(systemd.UnitDir)
	if err != nil {
		return false, err
	}
	for _, path := range ourFiles {
		_, whose, err := readUnit(path)
		if err != nil {
			return false, err
		}
		if wanted[path] || whose != ours {
			continue
		}
		gone = true
		p.add(step{what: "remove " + path, why: "nothing in the configuration asks for it any more",
			do: func(context.Context) error { return in.removeUnitFile(path) }})
	}
	return gone, nil
}

// removeUnitFile removes a file and the directory for drop-ins that held only it.
func (in *installation) removeUnitFile(path string) error {
	if err := in.disk.Remove(path); err != nil {
		return err
	}
	if dir := filepath.Dir(path); dir != systemd.UnitDir {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			return in.disk.Remove(dir)
		}
	}
	return nil
}

// serveUnit makes the passes on a host whose operator enabled it, in place of the timer.
const serveUnit = "gatehouse-serve.service"

// replaced reports that a unit is not wanted where serve makes the passes.
func replaced(unit string, serve bool) bool {
	return serve && unit == "gatehouse-reconcile.timer"
}

// planRunning makes systemd read what changed, and enables and starts what is not enabled or does not run yet.
func (in *installation) planRunning(ctx context.Context, p *plan, files []systemd.File, changed bool) error {
	serve := in.systemctl.enabled(ctx, serveUnit) == "enabled"
	var enable, start []string
	for _, f := range files {
		for _, unit := range f.Units {
			if replaced(unit, serve) {
				if in.systemctl.enabled(ctx, unit) == "enabled" {
					p.add(step{what: "systemctl disable " + unit, why: serveUnit + " is enabled, and makes the passes",
						do: func(ctx context.Context) error { return in.systemctl.disable(ctx, unit) }})
				}
				continue
			}
			if f.Enable {
				switch state := in.systemctl.enabled(ctx, unit); state {
				case "enabled", "enabled-runtime", "static", "alias", "indirect", "generated", "linked":
				case "masked", "masked-runtime":
					continue // which was said of its file
				default:
					enable = append(enable, unit)
				}
			}
			if f.Start && in.systemctl.running && !in.noStart {
				start = append(start, unit)
			}
		}
	}
	if in.systemctl.running {
		known, err := in.systemctl.show(ctx, unitNames(files), "ActiveState", "NeedDaemonReload")
		if err != nil {
			return err
		}
		for _, unit := range unitNames(files) {
			changed = changed || known[unit]["NeedDaemonReload"] == "yes"
		}
		start = slices.DeleteFunc(start, func(unit string) bool { return known[unit]["ActiveState"] == "active" })
		if changed {
			p.add(step{what: "systemctl daemon-reload", why: "systemd reads unit files only when it is told to",
				do: func(ctx context.Context) error { return in.systemctl.run(ctx, "daemon-reload") }})
		}
	}
	for _, unit := range enable {
		args, why := []string{"enable", "--quiet", unit}, "it comes up with every boot"
		if i := slices.Index(start, unit); i >= 0 {
			start = slices.Delete(start, i, i+1)
			args, why = append(args, "--now"), "from now on and with every boot"
		}
		p.add(step{what: "systemctl enable " + unit, why: why,
			do: func(ctx context.Context) error { return in.systemctl.run(ctx, args...) }})
	}
	for _, unit := range start {
		p.add(step{what: "systemctl start " + unit, why: "it is enabled, and does not run",
			do: func(ctx context.Context) error { return in.systemctl.run(ctx, "start", unit) }})
	}
	in.planFirstPublication(p)
	return nil
}

// planFirstPublication has each gate published that never was, so that the first pass has something to look at.
func (in *installation) planFirstPublication(p *plan) {
	if !in.systemctl.running || in.noStart {
		return
	}
	for _, gate := range in.config.Gates {
		missing := slices.ContainsFunc(liveRoots(gate), func(root string) bool { _, err := os.Stat(root); return err != nil })
		_, err := os.Lstat(filepath.Join(gate.Export, "manifest.json"))
		if missing || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		unit := "gatehouse-publish@" + gate.Name + ".service"
		p.add(step{what: "systemctl start " + unit, why: "the first publication, for the first pass to look at",
			do: func(ctx context.Context) error { return in.systemctl.run(ctx, "start", unit) }})
	}
}

func liveRoots(gate config.Gate) []string {
	var roots []string
	for _, l := range gate.Live {
		roots = append(roots, l.Root)
	}
	return roots
}

// unitNames lists the units that are enabled or started, once each.
func unitNames(files []systemd.File) []string {
	var units []string
	for _, f := range files {
		units = append(units, f.Units...)
		if name := filepath.Base(f.Path); !strings.Contains(name, "@.") && filepath.Dir(f.Path) == systemd.UnitDir {
			units = append(units, name)
		}
	}
	slices.Sort(units)
	return slices.Compact(units)
}
