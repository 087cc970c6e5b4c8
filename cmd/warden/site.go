package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/config"
	"gatehouse/gate"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/internal/spelling"
	"gatehouse/manifest"
	"gatehouse/notify"
	"gatehouse/reconcile"
	"gatehouse/systemd"
	vendorgate "gatehouse/vendor-gate"
)

// A site is a host as its configuration describes it, ready for work.
type site struct {
	config *config.Config
	warden *reconcile.Warden
	gates  []reconcile.Gate
	fleets []reconcile.Fleet // gates of other hosts
	keys   map[string]string // public keys of other hosts
	users  map[string]uint32 // uid by gate

	checker systemd.Checker
}

// open joins the configuration with what does the work.
func (g *globals) open() (*site, error) {
	s, err := g.openForPass()
	if err == nil && s.warden.Repository == nil {
		return nil, s.warden.RepositoryErr
	}
	return s, err
}

// openForPass is open for passes, which report a repository that cannot be opened as they report all else.
func (g *globals) openForPass() (*site, error) {
	c, err := config.Load(g.config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; set this host up with: warden install %s; or name another with --config", err, firstGate)
	}
	if err != nil {
		return nil, err
	}
	return newSite(c, g.program(), g.streams, durable.Disk{})
}

// program is how this program is called in what is printed for people to copy.
func (g *globals) program() string {
	if g.config == config.DefaultPath {
		return "warden"
	}
	return "warden --config " + cli.Printable(g.config)
}

func newSite(c *config.Config, program string, streams cli.Streams, disk durable.Disk) (*site, error) {
	s := &site{config: c, users: make(map[string]uint32)}
	if _, err := parseSchedule(c.Schedule, time.Now()); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	bootID, err := manifest.BootID()
	if err != nil {
		return nil, err
	}
	var follows string
	if c.Peers != nil {
		follows = c.Peers.Follow
		s.keys = make(map[string]string, len(c.Peers.Hosts))
		for _, h := range c.Peers.Hosts {
			s.keys[h.Name] = h.Key
		}
	}
	for _, g := range c.Gates {
		uid, err := g.UID()
		if err == nil {
			s.users[g.Name] = uid
		}
		s.gates = append(s.gates, reconcile.Gate{
			Name: g.Name, User: sudoUser(g, uid), Problem: err, GroupID: groupOf(g), Export: g.Export, Witness: g.Witness, Interval: g.Interval,
			ByAccepted: g.Decide != config.DecideLive, Follows: follows,
			Source: manifest.Source{Live: g.Live, Owner: uid, Limits: g.Limits},
		})
	}
	s.fleets = s.fleetsOf(c)
	repository, repositoryErr := vendorgate.Open(c.Repository, c.Vendored)
	if repositoryErr == nil {
		repository.Disk = disk
	}
	sinks := sinksOf(c, streams, disk)
	s.warden = &reconcile.Warden{
		Host:          c.Host,
		State:         c.State,
		BootID:        bootID,
		Program:       program,
		Repository:    repository,
		RepositoryErr: repositoryErr,
		Outbox:        &notify.Outbox{Dir: filepath.Join(c.State, "notices"), Disk: disk, Host: c.Host, Sinks: sinks, Later: laterSinks(c, streams)},
		Disk:          disk,
		Now:           time.Now,
		Compile:       gate.Compile,
		LockFor:       45 * time.Second, // another run may be waiting for a slow receiver of notices
	}
	s.checker = systemd.Checker{Dir: filepath.Join(c.State, "loaded"), Disk: disk, BootID: s.warden.BootID}
	s.warden.Processes = s.processes
	return s, nil
}

// sudoUser is the gate's user as sudo takes it, empty for the user who runs this.
func sudoUser(g config.Gate, uid uint32) string {
	switch {
	case uid == uint32(os.Geteuid()):
		return ""
	case strings.Trim(g.User, "0123456789") == "":
		return "'#" + g.User + "'"
	default:
		return g.User
	}
}

// groupOf returns the group that may read the accepted copy of a gate: that of its user, or the one it has already
// where the user is a number without an account, or where this process may not give files away.
func groupOf(g config.Gate) int {
	gid, err := g.GID()
	if err != nil || os.Geteuid() != 0 {
		return -1
	}
	return int(gid)
}

// selected returns the gates that are named, all of them for no name.
func (s *site) selected(names []string) ([]reconcile.Gate, error) {
	if len(names) == 0 {
		return s.gates, nil
	}
	var gates []reconcile.Gate
	for _, name := range names {
		i := slices.IndexFunc(s.gates, func(g reconcile.Gate) bool { return g.Name == name })
		if i < 0 {
			return nil, s.unknownGate(name)
		}
		gates = append(gates, s.gates[i])
	}
	return gates, nil
}

func (s *site) unknownGate(name string) error {
	var names []string
	for _, g := range s.gates {
		names = append(names, g.Name)
	}
	for _, f := range s.fleets {
		if !slices.Contains(names, f.Gate) {
			names = append(names, f.Gate)
		}
	}
	hint := "configured: " + strings.Join(names, ", ")
	if nearest := spelling.Nearest(name, names); nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	return fmt.Errorf("there is no gate %q; %s", name, hint)
}

// decided returns who decides, and why. Behind sudo it is the person, not root.
func decided(getenv func(string) string, why string) reconcile.Decision {
	by := getenv("SUDO_USER")
	if by == "" {
		if u, err := user.Current(); err == nil {
			by = u.Username
		} else {
			by = fmt.Sprintf("uid %d", os.Getuid())
		}
	}
	return reconcile.Decision{By: by, Why: why}
}

// grace is what a run may take beyond its deadline before it is abandoned: a system call that hangs cannot be called
// back, and the process is about to end anyway.
const grace = 2 * time.Second

// errAbandoned means that a run is stuck in a system call. The process can only be left.
var errAbandoned = errors.New("not done")

// within runs do under a deadline that holds even where do is stuck in a system call.
func within[T any](ctx context.Context, limit time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do(ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.value, o.err
	case <-time.After(grace):
		var none T
		return none, fmt.Errorf("%w within %v: something in the tree of an agent, or a disk, does not answer", errAbandoned, limit)
	}
}
