package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/reconcile"
)

type serveOptions struct {
	listen   listenOptions
	noPasses bool
}

func newServeCommand(g *globals) *cobra.Command {
	var opts serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Make passes on schedule, for hosts without timers",
		Long: `Make a pass now and then whenever "schedule:" says, in UTC. The configuration is read anew for each pass, and a
broken one is reported and does not end the service. Readiness, status and watchdog are told to systemd where it asks
for them. A pass that hangs in the kernel ends the service with exit code 2, so that it is started afresh.

--listen also serves a page that shows how this host stands, and what it knows of others, at / and numbers for Prometheus
at /metrics. It only shows. It asks nobody who they are, so it takes addresses of this host only, where every user of the
host can read it; --listen-anywhere takes others, for use behind a proxy that asks. "--listen systemd" takes the socket of
a socket unit. With --no-passes it does nothing else, on hosts where timers make the passes.`,
		Example: `  warden serve --config /etc/gatehouse/warden.yaml
  warden serve --listen 127.0.0.1:9477
  warden serve --listen 127.0.0.1:9477 --no-passes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), g, opts) },
	}
	set := cmd.Flags()
	set.StringVar(&opts.listen.address, "listen", "", "serve the status page and the metrics at `ADDRESS:PORT`")
	set.BoolVar(&opts.listen.anywhere, "listen-anywhere", false, "take an address that other machines can reach")
	set.StringSliceVar(&opts.listen.names, "listen-name", nil, "answer requests for this host `name` too, as of a proxy")
	set.BoolVar(&opts.noPasses, "no-passes", false, "only serve the page, and make no passes")
	return cmd
}

func (o serveOptions) check() error {
	switch {
	case o.listen.address == "" && (o.listen.anywhere || len(o.listen.names) > 0):
		return errors.New("--listen-anywhere and --listen-name say more about --listen ADDRESS:PORT")
	case o.listen.address == "" && o.noPasses:
		return errors.New("--no-passes without --listen ADDRESS:PORT leaves nothing to do")
	}
	return nil
}

// passTimeout bounds one pass of the service.
const passTimeout = time.Minute

func runServe(ctx context.Context, g *globals, opts serveOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	if opts.listen.address != "" {
		end, err := g.listen(ctx, opts.listen, s.config.Host)
		if err != nil {
			return err
		}
		defer end()
	}
	if opts.noPasses {
		notifySystemd(daemon.SdNotifyReady)
		<-ctx.Done()
		notifySystemd(daemon.SdNotifyStopping)
		return nil
	}
	schedule, err := parseSchedule(s.config.Schedule, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(g.streams.Err, "warden: passes at %q, in UTC\n", s.config.Schedule)
	var alive atomic.Int64 // when the loop last moved, in Unix seconds
	alive.Store(time.Now().Unix())
	go watchdog(ctx, &alive)
	passes := make(chan struct{}, 1)
	go g.serveBeats(ctx, passes)
	for first := true; ; first = false {
		result, err := g.servePass(ctx)
		select {
		case passes <- struct{}{}:
		default: // what comes after the pass before has not begun yet
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errAbandoned) || errors.Is(err, reconcile.ErrStuck) {
			return err
		}
		status := string(result)
		if err != nil {
			status = err.Error()
		}
		if first {
			notifySystemd(daemon.SdNotifyReady)
		}
		next := schedule.Next(time.Now().UTC())
		fmt.Fprintf(g.streams.Err, "warden: %s; next pass at %s\n", strings.ReplaceAll(status, "\n", "\nwarden: "), next.Format(time.RFC3339))
		notifySystemd(fmt.Sprintf("STATUS=%s; next pass %s", cli.Line(status), next.Format(time.RFC3339)))
		if !sleepUntil(ctx, next, &alive) {
			break
		}
	}
	notifySystemd(daemon.SdNotifyStopping)
	return nil
}

// servePass makes one pass with the configuration as it is now.
func (g *globals) servePass(ctx context.Context) (reconcile.Result, error) {
	s, err := g.openForPass()
	if err != nil {
		return reconcile.Error, err
	}
	pass, err := within(ctx, passTimeout, func(ctx context.Context) (*reconcile.Pass, error) {
		pass, err := g.reconcileAll(ctx, s, s.gates, s.fleets, false)
		if err != nil {
			return nil, err
		}
		if err := g.leave(s); err != nil {
			return pass, err
		}
		return pass, errors.Join(g.completed(ctx, s, cli.Yes), g.passDone(s))
	})
	if err != nil {
		return reconcile.Error, err
	}
	g.printDelivery(pass.Delivery)
	if slices.ContainsFunc(pass.Reports, func(r reconcile.Report) bool { return r.Stuck }) {
		return reconcile.Error, reconcile.ErrStuck
	}
	return reconcile.Worst(pass.Reports), nil
}

// sleepUntil waits for a time of the wall clock, which may be stepped meanwhile, and reports false when ctx ends.
func sleepUntil(ctx context.Context, next time.Time, alive *atomic.Int64) bool {
	const look = 10 * time.Second
	for {
		now := time.Now()
		alive.Store(now.Unix())
		left := next.Round(0).Sub(now.Round(0))
		if left <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(left, look)):
		}
	}
}

// watchdog tells systemd that the loop is alive, as long as it is.
func watchdog(ctx context.Context, alive *atomic.Int64) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil || interval <= 0 {
		return
	}
	tick := time.NewTicker(interval / 3)
	defer tick.Stop()
	for {
		stuck := time.Since(time.Unix(alive.Load(), 0)) > passTimeout+2*grace+30*time.Second
		if !stuck {
			notifySystemd(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// notifySystemd tells systemd, where it listens. That it does not is no fault of ours.
func notifySystemd(state string) { _, _ = daemon.SdNotify(false, state) }

// parseSchedule reads a cron line or descriptor, in UTC, and refuses what robfig/cron takes but cannot mean: time
// zones (they make it panic), intervals below a minute, and lines that never come up.
func parseSchedule(spec string, now time.Time) (schedule cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			schedule, err = nil, fmt.Errorf("%q is no schedule", spec)
		}
	}()
	if strings.Contains(spec, "=") {
		return nil, fmt.Errorf("%q names a time zone; schedules are in UTC", spec)
	}
	if schedule, err = cron.ParseStandard(spec); err != nil {
		return nil, fmt.Errorf("%q is no schedule: %w; use @hourly, @every 30m, or five cron fields in UTC", spec, err)
	}
	if every, ok := strings.CutPrefix(spec, "@every "); ok {
		if d, err := time.ParseDuration(strings.TrimSpace(every)); err != nil || d < time.Minute {
			return nil, fmt.Errorf("%q is less than a minute", spec)
		}
	}
	if schedule.Next(now.UTC()).IsZero() {
		return nil, fmt.Errorf("%q never comes up", spec)
	}
	return schedule, nil
}
