package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	vendorgate "gatehouse/vendor-gate"
)

type installOptions struct {
	gate    gateOptions
	dryRun  bool
	show    bool
	noStart bool
}

func newInstallCommand(g *globals) *cobra.Command {
	var opts installOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Make this host watch itself: directories, repository, units",
		Long: `Put the programs, the directories, the repository and the unit files of this host in place, and start its timers.

Where there is no configuration yet, one is written for the gate that --gate, --user and --live name. One that is there
is used as it is. It is never changed, and neither is a unit file that somebody edited. Run it again after a change of
the configuration, or where it was cut short: it does what is left to do, and nothing where all is in place.`,
		Example: `  warden install --gate claude --user agent --dry-run
  warden install --gate claude --user agent --live policy=/home/agent/.config/gatehouse
  warden install`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInstall(cmd.Context(), g, opts) },
	}
	cmd.Flags().StringVar(&opts.gate.name, "gate", "", "write a configuration with the gate of this `name`, where there is none yet")
	cmd.Flags().StringVar(&opts.gate.user, "user", "", "the `user` that the gate's agent runs as")
	cmd.Flags().StringArrayVar(&opts.gate.live, "live", nil,
		"where files of the gate are, as `NAME=ROOT`; can be repeated (default policy=~USER/.config/gatehouse)")
	cmd.Flags().StringVar(&opts.gate.repository, "repository", "/srv/gate", "the git `directory` for what is accepted, where there is no configuration yet")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "print every step, and change nothing; exit with 1 if something would change")
	cmd.Flags().BoolVar(&opts.show, "show", false, "as --dry-run, with the content of each file below its step")
	cmd.Flags().BoolVar(&opts.noStart, "no-start", false, "start nothing now; timers come up with the next boot")
	return cmd
}

func runInstall(ctx context.Context, g *globals, opts installOptions) error {
	opts.dryRun = opts.dryRun || opts.show
	if os.Geteuid() != 0 && !opts.dryRun {
		return errors.New("install changes this host; run it as root, or see with --dry-run what it would do")
	}
	in, err := g.installation(opts)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	plan, err := in.plan(ctx)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if opts.dryRun {
		plan.show(g.streams.Out, opts.show)
		if len(plan.steps) == 0 {
			fmt.Fprintln(g.streams.Out, "nothing to change")
			return nil
		}
		fmt.Fprintf(g.streams.Out, "\n%s would be taken; nothing was changed\n", count(len(plan.steps), "step"))
		return cli.Exit(cli.No)
	}
	if err := plan.carryOut(ctx, g.streams.Out); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if len(plan.steps) == 0 {
		fmt.Fprintln(g.streams.Out, "nothing to change")
		return nil
	}
	in.epilogue()
	return nil
}

// An installation is a host as its configuration wants it.
type installation struct {
	globals   *globals
	disk      durable.Disk
	path      string // of the configuration
	text      []byte // of the configuration, where it is to be written
	config    *config.Config
	users     map[string]account // by gate
	programs  programs
	systemctl systemctl
	noStart   bool
}

// installation reads or makes the configuration and holds it against this host: its gates' users have to exist, and its
// schedule has to mean something. Nothing is changed.
func (g *globals) installation(opts installOptions) (*installation, error) {
	in := &installation{globals: g, path: g.config, noStart: opts.noStart, systemctl: findSystemctl()}
	var err error
	in.config, err = config.Load(in.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.text, in.config, err = opts.gate.write(in.path)
	case err == nil:
		err = opts.gate.fits(in.path, in.config)
	}
	if err != nil {
		return nil, err
	}
	if err := checkSchedule(in.config, time.Now()); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	if in.users, err = accounts(in.config); err != nil {
		return nil, err
	}
	in.programs, err = findPrograms()
	return in, err
}

// accounts finds the users of all gates.
func accounts(c *config.Config) (map[string]account, error) {
	users := make(map[string]account)
	var errs []error
	for _, gate := range c.Gates {
		uid, err := gate.UID()
		if err == nil && uid == 0 {
			err = fmt.Errorf("gate %s: its user is root, so nothing would keep the agent from the warden; run the agent as a user of its own", gate.Name)
		}
		users[gate.Name] = account{int(uid), groupOf(gate)}
		errs = append(errs, err)
	}
	return users, errors.Join(errs...)
}

// An account is the user of a gate, by numbers. The group is -1 for a user that has none on this host.
type account struct{ uid, gid int }

func (in *installation) plan(ctx context.Context) (*plan, error) {
	p := new(plan)
	for _, look := range []func(context.Context, *plan) error{
		in.planPrograms, in.planDirectories, in.planConfig, in.planRepository, in.planExports, in.planLive, in.planAccounts, in.planUnits,
	} {
		if err := look(ctx, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// epilogue says what a person has to do next.
func (in *installation) epilogue() {
	w := in.globals.streams.Out
	switch {
	case in.systemctl.path == "":
		fmt.Fprintln(w, "\nThere is no systemd on this host, so no unit files were written: passes are yours to start, by warden serve, or by cron")
		fmt.Fprintln(w, "with these lines in /etc/cron.d/gatehouse:")
		for _, gate := range in.config.Gates {
			fmt.Fprintf(w, "  0 * * * *  %s  %s publish --quiet %s\n", ownerName(in.users[gate.Name].uid), in.programs.gate, gate.Name)
		}
		fmt.Fprintf(w, "  5 * * * *  root  %s reconcile --quiet --exit-zero\n", in.programs.warden)
	case !in.systemctl.running:
		fmt.Fprintln(w, "\nsystemd is not running here: the timers start with the next boot.")
	case in.noStart:
		fmt.Fprintln(w, "\nNothing was started: the timers start with the next boot, or with a run without --no-start.")
	}
	fmt.Fprintln(w, "\nNext:")
	next := func(command, what string) { fmt.Fprintf(w, "  %-42s  %s\n", command, what) }
	next(in.globals.program()+" doctor", "is all in place? it says what to mend, in order")
	for _, gate := range in.config.Gates {
		if _, err := os.Lstat(filepath.Join(in.config.State, "accepted", gate.Name)); err == nil {
			continue
		}
		asUser := "sudo -u " + sudoUser(gate, uint32(in.users[gate.Name].uid)) + " "
		for _, root := range liveRoots(gate) {
			if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
				next(asUser+"mkdir -p "+root, "and put the files of gate "+gate.Name+" there")
			}
		}
		if _, err := os.Lstat(filepath.Join(gate.Export, "manifest.json")); err != nil {
			next(asUser+"gate publish "+gate.Name, "show root what is live")
		}
		if in.committed(gate.Name) {
			next(in.globals.program()+" deploy "+gate.Name, "put what the repository has of it in force again")
			next(in.globals.program()+" status", "does that leave anything to decide?")
			break
		}
		next(in.globals.program()+" reconcile "+gate.Name, "the first pass: all of the gate is new")
		next(in.globals.program()+" accept", "read it, and make it the gate that is in force")
		break // the next gate's turn comes when this one is accepted
	}
}

// committed reports whether the repository has a gate from an earlier installation.
func (in *installation) committed(gate string) bool {
	repository, err := vendorgate.Open(in.config.Repository, in.config.Vendored)
	if err != nil {
		return false
	}
	log, err := repository.Log(gate, 1)
	return err == nil && len(log) > 0
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
