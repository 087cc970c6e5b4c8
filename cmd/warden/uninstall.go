package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/systemd"
)

type uninstallOptions struct{ dryRun, force bool }

func newUninstallCommand(g *globals) *cobra.Command {
	var opts uninstallOptions
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the passes of this host and take its unit files away; nothing else goes",
		Long: `Stop and disable the units that warden install made, and remove their files. A unit file that somebody edited is
kept, unless --force is given.

The configuration, the state, the repository and the exports stay. So does root's index of gates: gate goes on judging
by what was accepted last, only that nobody watches it any more.`,
		Example: `  warden uninstall --dry-run
  warden uninstall`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUninstall(cmd.Context(), g, opts) },
	}
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "print every step, and change nothing; exit with 1 if something would change")
	cmd.Flags().BoolVar(&opts.force, "force", false, "remove edited unit files as well")
	return cmd
}

func runUninstall(ctx context.Context, g *globals, opts uninstallOptions) error {
	if os.Geteuid() != 0 && !opts.dryRun {
		return errors.New("uninstall changes this host; run it as root, or see with --dry-run what it would do")
	}
	in := &installation{globals: g, path: g.config, systemctl: findSystemctl()}
	plan, err := in.planRemoval(ctx, opts.force)
	if err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	w := g.streams.Out
	switch {
	case len(plan.steps) == 0:
		plan.showKept(w)
		fmt.Fprintln(w, "nothing to remove")
		return nil
	case opts.dryRun:
		plan.show(w)
		fmt.Fprintf(w, "\n%s would be taken; nothing was changed\n", count(len(plan.steps), "step"))
		return cli.Exit(cli.No)
	}
	if err := plan.carryOut(ctx, w); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	in.showWhatStays()
	return nil
}

// planRemoval disables what starts passes, removes the files, and only then stops a pass that is under way: by then
// systemd has forgotten that somebody is to be told of a pass that did not end well.
func (in *installation) planRemoval(ctx context.Context, force bool) (*plan, error) {
	p := new(plan)
	files, err := unitFilesOf(systemd.UnitDir)
	if err != nil {
		return nil, err
	}
	var remove []string
	touched := false // something of ours is there, so what runs by it is to be stopped
	for _, path := range files {
		switch _, whose, err := readUnit(path); {
		case err != nil:
			return nil, err
		case whose == ours, whose == edited && force:
			remove = append(remove, path)
			touched = true
		case whose == edited:
			p.keep("%s: %s; remove it yourself, or with --force", path, whose)
			touched = true
		case whose == masked: // for the next installation to respect
		default:
			p.keep("%s: %s", path, whose)
		}
	}
	var running []string
	if touched && in.systemctl.path != "" {
		if running, err = in.planDisable(ctx, p, files); err != nil {
			return nil, err
		}
	}
	for _, path := range remove {
		p.add(step{what: "remove " + path, do: func(context.Context) error { return in.removeUnitFile(path) }})
	}
	if len(remove) > 0 && in.systemctl.running {
		p.add(step{what: "systemctl daemon-reload", why: "systemd forgets the units",
			do: func(ctx context.Context) error { return in.systemctl.run(ctx, "daemon-reload") }})
	}
	for _, unit := range running {
		p.add(step{what: "systemctl stop " + unit, why: "it is under way",
			do: func(ctx context.Context) error {
				if err := in.systemctl.run(ctx, "stop", unit); err != nil {
					return err
				}
				return in.systemctl.run(ctx, "reset-failed", "gatehouse-*") // a pass that is stopped counts as failed
			}})
	}
	return p, nil
}

// planDisable disables the units of these files and their instances, stops those that start others, and returns the
// services that run.
func (in *installation) planDisable(ctx context.Context, p *plan, files []string) (services []string, err error) {
	var units []string
	for _, path := range files {
		if name := filepath.Base(path); filepath.Dir(path) == systemd.UnitDir && !strings.Contains(name, "@.") {
			units = append(units, name)
		}
	}
	links, err := filepath.Glob(filepath.Join(systemd.UnitDir, "*.wants", "gatehouse-*"))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		units = append(units, filepath.Base(link))
	}
	running := make(map[string]bool)
	if in.systemctl.running {
		active, err := in.systemctl.loaded(ctx, "--state=active,activating,reloading,deactivating")
		if err != nil {
			return nil, err
		}
		for _, unit := range active {
			running[unit] = true
			units = append(units, unit)
		}
	}
	slices.Sort(units)
	for _, unit := range slices.Compact(units) {
		if state := in.systemctl.enabled(ctx, unit); state == "enabled" || state == "enabled-runtime" {
			p.add(step{what: "systemctl disable " + unit, why: "no boot starts it any more",
				do: func(ctx context.Context) error { return in.systemctl.run(ctx, "disable", "--quiet", unit) }})
		}
		switch {
		case !running[unit]:
		case strings.HasSuffix(unit, ".service"):
			services = append(services, unit)
		case !strings.HasSuffix(unit, ".slice"):
			p.add(step{what: "systemctl stop " + unit, why: "it starts nothing any more",
				do: func(ctx context.Context) error { return in.systemctl.run(ctx, "stop", unit) }})
		}
	}
	return services, nil
}

func (in *installation) showWhatStays() {
	w := in.globals.streams.Out
	fmt.Fprintln(w, "\nWhat stays:")
	line := func(path, what string) { fmt.Fprintf(w, "  %-36s  %s\n", path, what) }
	line(in.path, "the configuration")
	c, err := config.Load(in.path)
	if err == nil {
		line(c.Index, "root's index: gate goes on judging by what was accepted last")
		line(c.State, "the state, with the accepted copies")
		line(c.Repository, "the repository: who accepted what, and when")
		for _, g := range c.Gates {
			line(g.Export, "the export of gate "+g.Name)
		}
	}
	if self, err := os.Executable(); err == nil {
		line(self, "this program, and gate beside it")
	}
	fmt.Fprintln(w, "\nNobody watches the gates of this host any more. To go back: warden install")
}
