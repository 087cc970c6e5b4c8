package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"gatehouse/exchange"
	"gatehouse/fleet"
	"gatehouse/internal/cli"
	"gatehouse/manifest"
	"gatehouse/reconcile"
)

type pullOptions struct {
	json bool
	gate string
}

func newPullCommand(g *globals) *cobra.Command {
	var opts pullOptions
	cmd := &cobra.Command{
		Use:   "pull [GATE]",
		Short: "Take over what the hub that this host follows has accepted",
		Long: `Fetch what the host named by "peers.follow" has accepted, verify its signature and every byte, commit the vendored
directory in this host's own repository, and put it in force as deploy does. Nothing is taken that is older than what was
taken before. Without pull by hand, a beat fetches and the next pass takes over.`,
		Example: `  warden pull
  warden pull claude`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.gate = args[0]
			}
			return runPull(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the outcome as JSON")
	return cmd
}

func runPull(ctx context.Context, g *globals, opts pullOptions) error {
	s, err := g.open()
	if err != nil {
		return err
	}
	if s.config.Peers == nil || s.config.Peers.Follow == "" {
		return errors.New("this host follows no other; name one with peers.follow in the configuration")
	}
	gates := s.gates
	if opts.gate != "" {
		if gates, err = s.selected([]string{opts.gate}); err != nil {
			return err
		}
	}
	taken, err := within(ctx, decisionTimeout, func(ctx context.Context) ([]adopted, error) {
		if err := s.withExchange(ctx, func(ex exchange.Exchange) error { return s.fetchFollowed(ctx, ex) }); err != nil {
			return nil, err
		}
		return s.adoptFollowed(ctx, gates)
	})
	err = errors.Join(err, g.leave(s))
	if opts.json {
		return errors.Join(err, cli.PrintJSON(g.streams.Out, struct {
			Schema string    `json:"schema"`
			Host   string    `json:"host"`
			Hub    string    `json:"hub"`
			Gates  []adopted `json:"gates"`
		}{"gatehouse/pull/v1", s.config.Host, s.config.Peers.Follow, taken}))
	}
	for _, a := range taken {
		g.printDelivery(a.pass.Delivery)
		fmt.Fprintln(g.streams.Out, a.text(s.config.Peers.Follow))
	}
	if len(taken) == 0 && err == nil {
		fmt.Fprintf(g.streams.Out, "nothing newer from %s\n", s.config.Peers.Follow)
	}
	return g.refused(err)
}

// An adopted gate is one for which something of the hub's was put in force.
type adopted struct {
	Gate      string `json:"gate"`
	HubCommit string `json:"hub_commit"`
	Commit    string `json:"commit,omitempty"` // in this host's own repository

	pass *reconcile.Pass
}

func (a adopted) text(hub string) string {
	text := fmt.Sprintf("gate %s: what %s accepted in commit %.12s is in force", a.Gate, hub, a.HubCommit)
	if a.Commit != "" {
		text += fmt.Sprintf(", committed here in %.12s", a.Commit)
	}
	return text
}

func (s *site) follower(ex exchange.Exchange) *fleet.Follower {
	return &fleet.Follower{Exchange: ex, Hub: s.config.Peers.Follow, Open: s.openSigned,
		Dir: filepath.Join(s.config.State, "followed", "objects"), Disk: s.warden.Disk}
}

// fetchFollowed fetches what the hub that this host follows has accepted. What is hostile about it is remembered as a
// finding of the gate; that the exchange cannot be reached is not, since nothing is known then.
func (s *site) fetchFollowed(ctx context.Context, ex exchange.Exchange) error {
	if s.config.Peers.Follow == "" {
		return nil
	}
	var errs []error
	for _, g := range s.gates {
		if g.Problem != nil {
			continue
		}
		errs = append(errs, s.fetchFollowedGate(ctx, ex, g))
	}
	return errors.Join(errs...)
}

func (s *site) fetchFollowedGate(ctx context.Context, ex exchange.Exchange, g reconcile.Gate) error {
	after, err := s.warden.FollowedSequence(g, s.config.Peers.Follow)
	if err != nil {
		return err
	}
	kept, done, err := s.keptContents(g)
	if err != nil {
		return err
	}
	defer done()
	_, err = s.follower(ex).Fetch(ctx, g.Name, g.Source.Limits, after, kept.has)
	switch {
	case errors.Is(err, exchange.ErrNotFound) && !hostile(err):
		return nil // nothing was accepted there yet
	case hostile(err):
		return errors.Join(err, s.warden.NoteFollowed(ctx, g, s.config.Peers.Follow, oneLine(err.Error())))
	case err == nil:
		return s.warden.NoteFollowed(ctx, g, s.config.Peers.Follow, "")
	}
	return err
}

// hostile reports whether an error is about what somebody put into the exchange.
func hostile(err error) bool {
	for _, theirs := range []error{fleet.ErrForged, fleet.ErrOlder, fleet.ErrIncomplete, exchange.ErrCorrupt, exchange.ErrTooLarge,
		manifest.ErrInvalid, manifest.ErrMismatch} {
		if errors.Is(err, theirs) {
			return true
		}
	}
	return false
}

// adoptFollowed puts what was fetched of the hub in force, verified again from the disk. It needs no network.
func (s *site) adoptFollowed(ctx context.Context, gates []reconcile.Gate) ([]adopted, error) {
	taken := []adopted{}
	if s.config.Peers == nil || s.config.Peers.Follow == "" {
		return taken, nil
	}
	var errs []error
	for _, g := range gates {
		if g.Problem != nil {
			continue
		}
		a, err := s.adoptGate(ctx, g)
		if err != nil {
			errs = append(errs, fmt.Errorf("take gate %s over from %s: %w", g.Name, s.config.Peers.Follow, err))
		} else if a != nil {
			taken = append(taken, *a)
		}
	}
	return taken, errors.Join(errs...)
}

func (s *site) adoptGate(ctx context.Context, g reconcile.Gate) (*adopted, error) {
	kept, done, err := s.keptContents(g)
	if err != nil {
		return nil, err
	}
	defer done()
	found, err := s.follower(nil).Load(g.Name, g.Source.Limits, kept.open)
	if err != nil || found == nil {
		return nil, err
	}
	commit, pass, err := s.warden.Adopt(ctx, g, *found)
	if err != nil || len(pass.Reports) == 0 {
		return nil, err
	}
	return &adopted{g.Name, found.Commit, commit, pass}, s.follower(nil).Drop(g.Name, found)
}

// contents are the files of what is accepted, by digest.
type contents struct {
	stored *manifest.StoredGeneration
	paths  map[string]string
}

// keptContents opens what is accepted of a gate.
func (s *site) keptContents(g reconcile.Gate) (contents, func(), error) {
	a, err := s.warden.InForce(g)
	if err != nil || a == nil {
		return contents{}, func() {}, err
	}
	c := contents{a.StoredGeneration, make(map[string]string)}
	for i := range a.Generation.Entries {
		if e := &a.Generation.Entries[i]; e.Type == manifest.File {
			c.paths[e.SHA256] = e.Path
		}
	}
	return c, func() { a.Close() }, nil
}

func (c contents) has(digest string) bool { return c.paths[digest] != "" }

func (c contents) open(digest string) (io.ReadCloser, error) {
	if !c.has(digest) {
		return nil, fs.ErrNotExist
	}
	return c.stored.Open(c.paths[digest])
}
