package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

type publishOptions struct {
	json    bool
	quiet   bool
	timeout time.Duration
	gates   []string
}

func newPublishCommand(g *globals) *cobra.Command {
	var opts publishOptions
	cmd := &cobra.Command{
		Use:   "publish [GATE...]",
		Short: "Hash the live files of your gates and export them for root",
		Long: `Hash every live file of the caller's gates, put what is new into the export as objects named by their SHA-256, and
replace the manifest last. What cannot be read or named is listed in the manifest and never left out; the exit code is
then 1. The manifest also says where your decision log ends, so that root's side notices one that was cut or rewritten.

Where a deploy or rollback asked for it, the accepted files are first put back over the live ones; but only if these
are still exactly what was replaced.`,
		Example: `  gate publish
  gate publish claude --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.gates = args
			return runPublish(cmd.Context(), g, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print what was published as JSON")
	cmd.Flags().BoolVar(&opts.quiet, "quiet", false, "print only what is not as usual, as for cron")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", time.Minute, "give up after this `time`")
	return cmd
}

// A publication is what publish did for one gate.
type publication struct {
	Gate     string             `json:"gate"`
	Sequence uint64             `json:"sequence"`
	Tree     string             `json:"tree"`
	Entries  int                `json:"entries"`
	Bytes    int64              `json:"bytes"`
	Absent   []string           `json:"absent,omitempty"` // live roots that are not there
	Refused  []manifest.Refusal `json:"refused"`
	Restored []manifest.Change  `json:"restored"`
	Log      *manifest.Log      `json:"log,omitempty"` // where the decision log ended
}

func runPublish(ctx context.Context, g *globals, opts publishOptions) error {
	if opts.timeout <= 0 {
		return fmt.Errorf("--timeout %v leaves no time at all", opts.timeout)
	}
	targets, err := g.targets(opts.gates)
	if err != nil && os.Geteuid() == 0 {
		return fmt.Errorf("%w; a gate is published as its user: sudo -u USER gate publish", err)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.timeout)
	defer cancel()
	var done []publication
	var errs []error
	for _, t := range targets {
		p, err := t.publish(ctx, g.logHead)
		if err != nil {
			errs = append(errs, fmt.Errorf("gate %s: %w", t.gate, err))
		}
		if p != nil {
			done = append(done, *p)
		}
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, struct {
			Schema string        `json:"schema"`
			Gates  []publication `json:"gates"`
		}{"gatehouse/publish/v1", append([]publication{}, done...)})
		if err != nil {
			errs = append(errs, err)
		}
		return publishCode(done, errs)
	}
	for _, p := range done {
		g.printChanges("restored", p.Gate, p.Restored)
		if !opts.quiet {
			fmt.Fprintf(g.streams.Out, "%s  published %d entries, %d bytes, tree %.12s\n", p.Gate, p.Entries, p.Bytes, p.Tree)
		}
		for _, name := range p.Absent {
			fmt.Fprintf(g.streams.Err, "gate: %s: nothing is live at %s\n", p.Gate, cli.Printable(name))
		}
		for _, r := range p.Refused {
			fmt.Fprintf(g.streams.Out, "  refused %s: %s\n", cli.Line(r.Path), cli.Line(r.Reason))
		}
	}
	return publishCode(done, errs)
}

// publishCode is the outcome of all gates: a file that was refused is a no, though all else is published.
func publishCode(done []publication, errs []error) error {
	if len(errs) == 0 && slices.ContainsFunc(done, func(p publication) bool { return len(p.Refused) > 0 }) {
		return cli.Exit(cli.No)
	}
	return errors.Join(errs...)
}

// publish carries out a restore that was asked for, and then publishes what is live.
func (t *target) publish(ctx context.Context, head func(context.Context) (*manifest.Log, error)) (*publication, error) {
	restored, restoreErr := t.restoreIfAsked(ctx)
	if restoreErr != nil {
		restoreErr = fmt.Errorf("the restore that was asked for: %w", restoreErr) // what is live is published all the same
	}
	var logErr error // without its log it is published all the same, and root's side sees that
	publisher := manifest.Publisher{Gate: t.gate, Host: t.host, Source: t.source, Export: t.export, Disk: durable.Disk{},
		Log: func(ctx context.Context) (log *manifest.Log) {
			log, logErr = head(ctx)
			return log
		}}
	m, err := publisher.Publish(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	p := &publication{Gate: t.gate, Sequence: m.Sequence, Tree: m.Tree, Entries: len(m.Entries),
		Refused: append([]manifest.Refusal{}, m.Refused...), Restored: append([]manifest.Change{}, restored...), Log: m.Log}
	for i := range m.Entries {
		p.Bytes += m.Entries[i].Size
	}
	for _, live := range t.source.Live {
		if _, err := os.Lstat(live.Root); errors.Is(err, fs.ErrNotExist) {
			p.Absent = append(p.Absent, live.Root)
		}
	}
	return p, errors.Join(restoreErr, logErr)
}

// logHead is the end of the caller's decision log as a manifest says it, nil while there are no entries.
func (g *globals) logHead(ctx context.Context) (*manifest.Log, error) {
	l, err := g.log()
	if err != nil {
		return nil, err
	}
	h, err := l.Checkpoint(ctx)
	if err != nil || h.Count == 0 {
		return nil, err
	}
	if h.PolicyTree == "" {
		h.PolicyTree = strings.Repeat("0", 64)
	}
	return &manifest.Log{Head: h.Hash, Count: h.Count, LastAt: h.At, PolicyTree: h.PolicyTree}, nil
}

func (t *target) restoreIfAsked(ctx context.Context) ([]manifest.Change, error) {
	if t.restore == nil || t.restore.From == "" {
		return nil, nil
	}
	snapshot, err := manifest.Scan(ctx, t.source)
	if err != nil {
		return nil, err
	}
	if manifest.Tree(snapshot.Entries) != t.restore.From {
		return nil, nil // somebody changed the live files since; that is for a person to look at
	}
	return t.restoreTo(ctx, t.restore.To, false)
}

// restoreTo puts the accepted generation back over the live files. Where tree is given it must be that one.
func (t *target) restoreTo(ctx context.Context, tree string, dryRun bool) ([]manifest.Change, error) {
	if t.accepted == "" {
		return nil, fmt.Errorf("nothing was accepted yet: there is nothing to restore")
	}
	accepted, err := manifest.OpenGeneration(t.accepted, t.source.Limits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("nothing was accepted yet: there is nothing to restore")
	}
	if err != nil {
		return nil, fmt.Errorf("read the accepted copy: %w", err)
	}
	defer accepted.Close()
	if tree != "" && accepted.Generation.Tree != tree {
		return nil, nil // it was accepted since the index was written; the next one will say
	}
	return manifest.Restore(ctx, durable.Disk{}, accepted, t.source, dryRun)
}
