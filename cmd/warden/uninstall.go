package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/systemd"
)

type uninstallOptions struct{ dryRun, force, packaged bool }

func newUninstallCommand(g *globals) *cobra.Command {
	var opts uninstallOptions
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the passes of this host and take its unit files away",
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
	cmd.Flags().BoolVar(&opts.packaged, "package", false, "say what stays when the programs go as well; for the package's own scripts")
	cmd.Flags().Lookup("package").Hidden = true
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
		plan.show(w, false)
		fmt.Fprintf(w, "\n%s would be taken; nothing was changed\n", count(len(plan.steps), "step"))
		return cli.Exit(cli.No)
	}
	if err := plan.carryOut(ctx, w); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	in.showWhatStays(opts.packaged)
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
	var remove, stop []string
	for _, path := range files {
		_, whose, err := readUnit(path)
		switch {
		case err != nil:
			return nil, err
		case whose == ours, whose == edited && force:
			remove = append(remove, path)
		case whose == edited:
			p.keep("%s: %s; remove it yourself, or with --force", path, whose)
		case whose == masked: // for the next installation to respect
			continue
		default:
			p.keep("%s: %s", path, whose)
			continue
		}
		if name := filepath.Base(path); filepath.Dir(path) == systemd.UnitDir && !strings.Contains(name, "@.") {
			stop = append(stop, name)
		}
	}
	underWay := false
	if in.systemctl.path != "" {
		if underWay, err = in.planDisable(ctx, p, stop); err != nil {
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
	if underWay {
		p.add(step{what: "stop what is under way", why: "nothing of ours runs any more", do: in.stopAll})
	}
	return p, nil
}

// planDisable disables these units and the instances of templates, stops those that start others, and reports whether a
// service runs, or may by the time the others are stopped.
func (in *installation) planDisable(ctx context.Context, p *plan, units []string) (underWay bool, err error) {
	links, err := filepath.Glob(filepath.Join(systemd.UnitDir, "*.wants", "gatehouse-*"))
	if err != nil {
		return false, err
	}
	for _, link := range links {
		if unit := filepath.Base(link); !strangers(unit) {
			units = append(units, unit)
		}
	}
	var running []string
	if in.systemctl.running {
		if running, err = in.active(ctx); err != nil {
			return false, err
		}
	}
	units = append(units, running...)
	slices.Sort(units)
	for _, unit := range slices.Compact(units) {
		if state := in.systemctl.enabled(ctx, unit); state == "enabled" || state == "enabled-runtime" {
			p.add(step{what: "systemctl disable " + unit, why: "no boot starts it any more",
				do: func(ctx context.Context) error { return in.systemctl.run(ctx, "disable", "--quiet", unit) }})
		}
		if slices.Contains(running, unit) && !strings.HasSuffix(unit, ".service") {
			p.add(step{what: "systemctl stop " + unit, why: "it starts nothing any more",
				do: func(ctx context.Context) error { return in.systemctl.run(ctx, "stop", unit) }})
		}
	}
	return len(running) > 0, nil
}

// active lists the units of ours that run, whether or not their files are still there.
func (in *installation) active(ctx context.Context) ([]string, error) {
	units, err := in.systemctl.loaded(ctx, "--state=active,activating,reloading,deactivating")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(units, strangers), nil
}

// strangers reports that a unit has a name like ours, and is not of our making.
func strangers(unit string) bool {
	file := unit
	if prefix, _, instance := strings.Cut(unit, "@"); instance {
		file = prefix + "@" + filepath.Ext(unit)
	}
	_, whose, err := readUnit(filepath.Join(systemd.UnitDir, file))
	return err != nil || whose == foreign
}

// stopAll stops what runs by now. A unit that ends by itself meanwhile is forgotten at once, and systemctl calls that
// an error; so what counts is whether anything is left.
func (in *installation) stopAll(ctx context.Context) error {
	units, err := in.active(ctx)
	if err != nil {
		return err
	}
	if len(units) > 0 {
		stopped := in.systemctl.run(ctx, append([]string{"stop"}, units...)...)
		if units, err = in.active(ctx); err != nil || len(units) > 0 {
			return errors.Join(err, stopped)
		}
	}
	return in.systemctl.run(ctx, "reset-failed", "gatehouse-*") // a pass that is stopped, or lost its file, counts as failed
}

// showWhatStays lists what a person may want to keep or to remove. The package removes its programs itself, and with a
// purge part of the rest.
func (in *installation) showWhatStays(packaged bool) {
	w := in.globals.streams.Out
	line := func(path, what string) { fmt.Fprintf(w, "  %-36s  %s\n", path, what) }
	c, err := config.Load(in.path)
	if err != nil {
		c = &config.Config{}
	}
	fmt.Fprintln(w, "\nWhat stays:")
	line(in.path, "the configuration")
	line(credentials, "the secrets")
	if c.Index != "" {
		judging := "root's index: gate goes on judging by what was accepted last"
		if packaged {
			judging = "root's index of gates" // gate itself goes
		}
		line(c.Index, judging)
		line(c.State, "the state, with the accepted copies")
	}
	accounts := slices.DeleteFunc(serviceAccounts(), func(a serviceAccount) bool { _, err := user.Lookup(a.name); return err != nil })
	if packaged {
		for _, a := range accounts {
			line(a.home, a.keeps)
		}
		fmt.Fprintln(w, "\nWhat stays even when the package is purged:")
	}
	if c.Repository != "" {
		line(c.Repository, "the repository: who accepted what, and when")
	}
	for _, g := range c.Gates {
		line(g.Export, "the export of gate "+g.Name)
	}
	back := "install the package again"
	if !packaged {
		back = "warden install"
		if self, err := os.Executable(); err == nil {
			line(self, "this program, and gate, gate-mcp and warden-exchange beside it")
		}
	}
	for _, a := range accounts {
		what := "and " + a.home + ", " + a.keeps
		if packaged {
			what = "files may belong to it"
		}
		line("user "+a.name, what)
	}
	if packaged {
		fmt.Fprintln(w, "\nClients that were told to ask gate (gate hook install) run no command without it.")
	}
	fmt.Fprintln(w, "\nNobody watches the gates of this host any more. To go back: "+back)
}
