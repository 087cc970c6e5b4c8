package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/notify"
	"gatehouse/reconcile"
	"gatehouse/systemd"
)

type failedOptions struct {
	unit  string
	state string
}

func newFailedCommand(g *globals) *cobra.Command {
	var opts failedOptions
	cmd := &cobra.Command{
		Use:    "failed UNIT",
		Short:  "Say that a run of a unit failed",
		Hidden: true,
		Long: `Ask systemd how the last run of UNIT ended, and where it failed announce it, once until a later run is good. The units
of warden install call this by OnFailure=; it is not for people.

A pass that came to its end and exits with 2 has said why in its notices, and is not announced a second time. Where the
state directory cannot be written, what is said is remembered below /run. Where the configuration cannot be read, the
notice goes to the receivers of the last one that could.`,
		Example: `  warden failed gatehouse-reconcile.service`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.unit = args[0]
			return runFailed(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().StringVar(&opts.state, "state", "/var/lib/gatehouse", "the warden's `directory`, where the configuration cannot be read")
	return cmd
}

var unitName = regexp.MustCompile(`^[a-zA-Z0-9:_.\\-]+(@[a-zA-Z0-9:_.\\@-]*)?\.[a-z]+$`)

func runFailed(ctx context.Context, g *globals, opts failedOptions) error {
	if !unitName.MatchString(opts.unit) {
		return fmt.Errorf("%q is no name of a unit; systemctl list-units 'gatehouse-*' lists them", opts.unit)
	}
	outcome, unasked := outcomeOf(ctx, opts.unit, g.streams.Getenv)
	if byHand := !strings.HasPrefix(g.streams.Getenv("GATEHOUSE_UNIT"), "gatehouse-failure@"); byHand && outcome.Result == "success" {
		// systemd also calls for a run that did not begin, for want of a mount say; then the run before it was the last.
		fmt.Fprintf(g.streams.Out, "%s: its last run did not fail\n", opts.unit)
		return nil
	}
	c, problem := g.configForFailure(opts.state)
	if last, err := readRun(c.State, opts.unit); err == nil && last.announced(outcome) {
		fmt.Fprintf(g.streams.Err, "warden: that pass came to its end; its notices say why it exits with %d\n", last.Code)
		return nil
	}
	event := failureEvent(outcome)
	if problem != nil {
		event.Detail = append(event.Detail, strings.Split(problem.Error(), "\n")...)
	}
	if unasked != nil {
		event.Detail = append(event.Detail, unasked.Error())
	}
	sinks := sinksOf(c, g.streams, durable.Disk{})
	_, err := within(ctx, passTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, g.say(ctx, c, sinks, event)
	})
	return err
}

// say announces an event by the outbox of the state, or where that cannot be written by one below /run.
func (g *globals) say(ctx context.Context, c *config.Config, sinks []notify.Sink, e notify.Event) error {
	var errs []error
	for i, dir := range []string{c.State, g.runtimeDir()} {
		if i > 0 {
			e.Subject = unsaved + e.Subject
		}
		outbox := &notify.Outbox{Dir: filepath.Join(dir, "notices"), Host: c.Host, Sinks: sinks}
		err := reconcile.CheckState(dir)
		if err == nil {
			err = canKeep(outbox)
		}
		if err == nil {
			err = outbox.Report(e, time.Now())
		}
		if err == nil {
			var delivery notify.Delivery
			delivery, err = outbox.Deliver(ctx, time.Now, func(string) bool { return false })
			g.printDelivery(delivery)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%s: %s; it could not be announced: %w", e.Subject, e.Summary, errors.Join(errs...))
}

// canKeep finds out whether an outbox can take another notice, before it holds half of it.
func canKeep(o *notify.Outbox) error {
	const enough = 64 << 10
	if err := errors.Join(o.Disk.MkdirAll(filepath.Dir(o.Dir), 0o711), o.Disk.MkdirAll(o.Dir, 0o700)); err != nil {
		return err
	}
	probe := filepath.Join(o.Dir, ".tmp-probe") // a name that a delivery clears away
	err := o.Disk.WriteFile(probe, make([]byte, enough), 0o600)
	return errors.Join(err, o.Disk.Remove(probe))
}

// outcomeOf asks how a run ended. That nobody knows is no reason to keep silent about it.
func outcomeOf(ctx context.Context, unit string, getenv func(string) string) (systemd.Outcome, error) {
	if o, ok := systemd.MonitoredOutcome(unit, getenv); ok {
		return o, nil
	}
	o, err := systemd.LastOutcome(ctx, unit)
	if err != nil {
		return systemd.Outcome{Unit: unit}, err
	}
	return o, nil
}

// The notices about runs that failed. The subject is the unit; below /run it has a prefix, since episodes are counted in
// each outbox and no two notices may have the same id.
const (
	kindFailed = "failed-run"
	unsaved    = "unsaved:"
)

func failureEvent(o systemd.Outcome) notify.Event {
	e := notify.Event{
		Kind: kindFailed, Gate: failureGate(o.Unit), Subject: o.Unit, Severity: 9,
		Title:   o.Unit + " failed",
		Summary: fmt.Sprintf("%s failed: %s", o.Unit, o),
		Changes: []notify.Change{{ID: kindFailed}}, // one thing, however it ends the next time
		Command: "systemctl status " + o.Unit,
	}
	if o.InvocationID != "" {
		e.Command = "journalctl _SYSTEMD_INVOCATION_ID=" + o.InvocationID
	}
	return e
}

// failureGate is the gate that a unit serves, or a word for all of them.
func failureGate(unit string) string {
	if rest, ok := strings.CutPrefix(unit, "gatehouse-publish@"); ok {
		if gate, _, ok := strings.Cut(rest, "."); ok && gate != "" {
			return gate
		}
	}
	return "gatehouse"
}

// configForFailure returns the configuration; where it cannot be read, the one of the last pass that came to its end, or
// one that names nobody, and why.
func (g *globals) configForFailure(state string) (*config.Config, error) {
	c, err := config.Load(g.config)
	if err == nil {
		return c, nil
	}
	path := filepath.Join(state, runsDir, lastConfig)
	if data, unread := os.ReadFile(path); unread == nil && reconcile.CheckState(state) == nil {
		if last, broken := config.Parse(path, data); broken == nil {
			last.State = state
			return last, err
		}
	}
	host, unnamed := os.Hostname()
	if unnamed != nil {
		host = "this host"
	}
	return &config.Config{Host: host, State: state, Notify: config.Notify{Journal: true}}, err
}

// runtimeDir is where the services leave things for each other.
func (g *globals) runtimeDir() string {
	if dir := g.streams.Getenv("RUNTIME_DIRECTORY"); filepath.IsAbs(dir) {
		return dir
	}
	return "/run/gatehouse"
}

func (g *globals) runtimeNotices() string { return filepath.Join(g.runtimeDir(), "notices") }

func newNotifyCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "notify",
		Short: "Send the notices that are pending",
		Long: `Send every receiver what it has not been told, as the end of each pass does. The units of warden install make
passes without the network and call this after them; by hand it tries a receiver again that was not reachable.`,
		Example: `  warden notify`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runNotify(cmd.Context(), g) },
	}
}

func runNotify(ctx context.Context, g *globals) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	pending := false
	_, err = within(ctx, passTimeout, func(ctx context.Context) (struct{}, error) {
		var errs []error
		for _, outbox := range g.outboxes(s) {
			delivery, err := outbox.Deliver(ctx, time.Now, s.paused)
			errs = append(errs, err)
			g.printDelivery(delivery)
			for _, sink := range delivery.Sinks {
				pending = pending || sink.Pending > 0
			}
		}
		return struct{}{}, errors.Join(errs...)
	})
	if err == nil && pending {
		return cli.Exit(cli.No)
	}
	return err
}

// outboxes are that of the state and, where there is one, that below /run.
func (g *globals) outboxes(s *site) []*notify.Outbox {
	list := []*notify.Outbox{s.warden.Outbox}
	if info, err := os.Lstat(g.runtimeNotices()); err == nil && info.IsDir() {
		second := *s.warden.Outbox
		second.Dir = g.runtimeNotices()
		list = append(list, &second)
	}
	return list
}

// paused reports whether the notices of a gate are held back.
func (s *site) paused(gate string) bool {
	for _, g := range s.gates {
		if g.Name == gate {
			status, err := s.warden.Status(g)
			return err == nil && status.Pause != nil
		}
	}
	return false
}
