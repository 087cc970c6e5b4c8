package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/peer"
)

type maintenanceOptions struct {
	lasts time.Duration
	why   string
	end   bool
}

func newMaintenanceCommand(g *globals) *cobra.Command {
	var opts maintenanceOptions
	cmd := &cobra.Command{
		Use:   "maintenance",
		Short: "Announce to other hosts that this one may be silent for a while",
		Long: `Say in the heartbeat of this host that it may be silent for a while: it is about to be rebooted, moved or put to sleep.
Others then call it silent only when that time and two more heartbeats have gone by. It is announced at once, and ends by
itself; nobody believes more than 24 hours of it at a time. It holds back nothing else: what is wrong with the gates of
this host is said as ever ("warden pause" holds notices).

Without options it shows what is announced.`,
		Example: `  warden maintenance --for 2h --why "kernel upgrade"
  warden maintenance --end
  warden maintenance`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMaintenance(cmd.Context(), g, opts) },
	}
	cmd.Flags().DurationVar(&opts.lasts, "for", 0, "how long it may be silent, such as 2h; at most 24h")
	cmd.Flags().StringVar(&opts.why, "why", "", "the `reason`, which other hosts show")
	cmd.Flags().BoolVar(&opts.end, "end", false, "say that it is over")
	cmd.MarkFlagsMutuallyExclusive("for", "end")
	cmd.MarkFlagsMutuallyExclusive("why", "end")
	return cmd
}

func (o maintenanceOptions) check() error {
	switch {
	case o.lasts == 0 && o.why != "":
		return errors.New("--why says more about --for: how long may this host be silent?")
	case o.lasts != 0 && strings.TrimSpace(o.why) == "":
		return errors.New("--for needs --why: others see it, and wonder")
	case o.lasts != 0 && (o.lasts < time.Minute || o.lasts > peer.MaxMaintenance):
		return fmt.Errorf("--for %s is not between 1m and %s", inWords(o.lasts), inWords(peer.MaxMaintenance))
	case len(o.why) > 200 || cli.Line(o.why) != o.why:
		return errors.New("--why has to be short text on one line")
	}
	return nil
}

// A maintenance is announced until a time of this host's own clock, or the wall clock's after a reboot.
type maintenance struct {
	Schema string        `json:"schema"`
	Why    string        `json:"why"`
	By     string        `json:"by"`
	Until  time.Time     `json:"until"`
	Clock  peer.Reading  `json:"clock"` // when it was announced
	Lasts  time.Duration `json:"lasts"`
}

const maintenanceSchema = "gatehouse/maintenance/v1"

func (m *maintenance) id() string { return fmt.Sprintf("maintenance %d", m.Until.UnixNano()) }

func (s *site) maintenanceFile() string { return filepath.Join(s.peersDir(), "maintenance.json") }

// left is how much of it is to come; nothing or less when it is over.
func (m *maintenance) left(s *site) time.Duration {
	if now, err := s.clock(); err == nil && now.BootID == m.Clock.BootID && now.Monotonic >= m.Clock.Monotonic {
		return m.Lasts - (now.Monotonic - m.Clock.Monotonic)
	}
	return min(time.Until(m.Until), m.Lasts)
}

// maintenance returns what was announced last and not ended, nil for nothing; its time may be over. What cannot be read
// is nothing: others watch the more.
func (s *site) maintenance() *maintenance {
	data, err := durable.ReadSealed(s.maintenanceFile())
	if err != nil {
		return nil
	}
	m := new(maintenance)
	if json.Unmarshal(data, m) != nil || m.Schema != maintenanceSchema {
		return nil
	}
	return m
}

func runMaintenance(ctx context.Context, g *globals, opts maintenanceOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	if s.config.Peers == nil {
		return errAlone
	}
	if opts.lasts == 0 && !opts.end {
		return g.showMaintenance(s)
	}
	if err := s.setMaintenance(ctx, g, opts); err != nil {
		return err
	}
	pass, err := s.lastPass()
	if err != nil {
		return err
	}
	if pass == nil {
		fmt.Fprintf(g.streams.Out, "it is noted; others hear of it when the first pass was made: %s reconcile\n", s.warden.Program)
		return nil
	}
	done, err := within(ctx, beatTimeout, func(ctx context.Context) (*beat, error) { return g.beat(ctx, s) })
	if err != nil {
		return fmt.Errorf("it is noted, and others do not know yet: %w", err)
	}
	if len(done.problems) > 0 {
		return fmt.Errorf("it is noted, and others may not know yet: %w", errors.Join(done.problems...))
	}
	if opts.end {
		fmt.Fprintln(g.streams.Out, "it is over, and others know")
		return nil
	}
	return g.showMaintenance(s)
}

func (s *site) setMaintenance(ctx context.Context, g *globals, opts maintenanceOptions) error {
	unlock, err := s.lockPeers(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if opts.end {
		return s.warden.Disk.Remove(s.maintenanceFile())
	}
	clock, err := s.clock()
	if err != nil {
		return err
	}
	d := decided(g.streams.Getenv, opts.why)
	data, err := json.Marshal(maintenance{maintenanceSchema, d.Why, d.By, time.Now().UTC().Add(opts.lasts), clock, opts.lasts})
	if err != nil {
		return err
	}
	return s.warden.Disk.WriteSealed(s.maintenanceFile(), append(data, '\n'), 0o600)
}

func (g *globals) showMaintenance(s *site) error {
	if _, err := durable.ReadSealed(s.maintenanceFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m := s.maintenance()
	if m == nil || m.left(s) <= 0 {
		fmt.Fprintln(g.streams.Out, "no maintenance is announced")
		return nil
	}
	fmt.Fprintf(g.streams.Out, "%s may be silent for %s more, until %s: %s (%s)\n", s.config.Host, inWords(m.left(s).Round(time.Second)),
		m.Until.Format(time.RFC3339), cli.Line(m.Why), cli.Printable(m.By))
	return nil
}
