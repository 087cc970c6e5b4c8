package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/page"
	"gatehouse/reconcile"
)

// The page shows what the last pass left in the state: making it looks at no tree of an agent, asks nobody, waits for no
// lock of a pass and changes nothing.

// lookForPage reads what the page shows. What cannot be read is on the page as well; so it comes in any case.
func (g *globals) lookForPage() *page.Site {
	s, err := g.openForPass()
	if err != nil {
		host, unnamed := os.Hostname()
		if unnamed != nil {
			host = "this host"
		}
		p := &page.Site{Host: host, Version: cli.Version(), At: time.Now()}
		for line := range strings.Lines(err.Error()) {
			p.Warnings = append(p.Warnings, strings.TrimSuffix(line, "\n"))
		}
		return p
	}
	return g.pageOf(s, s.gates, s.fleets)
}

// pageOf reads what the page shows of some gates of this host and of others.
func (g *globals) pageOf(s *site, gates []reconcile.Gate, fleets []reconcile.Fleet) *page.Site {
	p := &page.Site{Host: s.config.Host, Version: cli.Version(), At: time.Now()}
	warn := func(what string, err error) {
		if err != nil {
			p.Warnings = append(p.Warnings, strings.ReplaceAll(fmt.Sprintf("%s: %v", what, err), "\n", "; "))
		}
	}
	for _, gate := range gates {
		status, err := s.warden.Status(gate)
		if err != nil {
			warn("gate "+gate.Name, err)
			p.Gates = append(p.Gates, page.Gate{Name: gate.Name, Result: string(reconcile.Error), Findings: []page.Finding{{
				Result: string(reconcile.Error), Reason: "what is known of it cannot be read", Next: "warden doctor",
			}}})
			continue
		}
		shown := gateOnPage(status)
		shown.Diffs, err = s.diffsOnPage(gate, &status.Report)
		warn("diff of gate "+gate.Name, err)
		p.Gates = append(p.Gates, shown)
	}
	s.fleetOnPage(p, fleets, warn)
	s.peersOnPage(p, warn)
	for _, f := range g.openFailures(s) {
		p.Failures = append(p.Failures, page.Failure{Summary: f.Summary, Command: f.Command, Since: f.Since})
	}
	for _, outbox := range g.outboxes(s) {
		pending, err := outbox.Pending()
		warn("notices", err)
		for _, n := range pending {
			p.Notices = append(p.Notices, page.Notice{ID: n.Record, Sink: n.Sink, Since: n.Since, Error: n.Error, Later: slices.Contains(outbox.Later, n.Sink)})
		}
	}
	events, err := s.warden.History("")
	warn("history", err)
	for i, e := range events {
		p.History = append(p.History, page.Event{At: e.At, Gate: e.Gate, Action: e.Action, What: decidedOn(events[:i], &e), By: e.By, Why: historyText(&e)})
	}
	return p
}

func gateOnPage(s *reconcile.Status) page.Gate {
	g := page.Gate{
		Name: s.Gate, Result: string(s.Result), Unseen: s.Unseen, ID: s.ID, Tree: s.Accepted,
		Since: s.Since, CheckedAt: s.CheckedAt, Changes: len(s.Changes),
	}
	for _, f := range s.Findings {
		shown := page.Finding{Result: string(f.Result), Reason: f.Reason, Next: f.Next}
		for _, item := range f.Items {
			shown.Items = append(shown.Items, item.Text)
		}
		g.Findings = append(g.Findings, shown)
	}
	for _, p := range s.Processes {
		verdict := p.Verdict
		if verdict == "" {
			verdict = reconcile.Unproven
		}
		g.Processes = append(g.Processes, page.Process{Unit: p.Unit, Verdict: string(verdict), Reason: p.Reason, Since: p.Since, Fix: p.Fix})
	}
	if s.Pause != nil {
		g.Pause = &page.Pause{Until: s.Pause.Until, By: s.Pause.By, Why: s.Pause.Why}
	}
	for _, e := range s.Grants {
		g.Grants = append(g.Grants, page.Grant{ID: e.ID(), Text: oneLine(e.Text()), Cwd: e.Cwd, By: e.By, Until: e.ExpiresAt})
	}
	return g
}

const maxPageDiffs = 20

// diffsOnPage shows the first changes of a gate. The agent chooses how many there are; the page does not read them all.
func (s *site) diffsOnPage(gate reconcile.Gate, r *reconcile.Report) ([]page.Diff, error) {
	if len(r.Changes) == 0 {
		return nil, nil
	}
	if r.Fingerprint == "" && !r.Restorable && s.warden.Repository == nil {
		return nil, s.warden.RepositoryErr // they are against its HEAD
	}
	first := *r
	first.Changes = r.Changes[:min(len(r.Changes), maxPageDiffs)]
	diffs, err := s.warden.Diff(gate, &first)
	if err != nil {
		return nil, err
	}
	var shown []page.Diff
	for _, d := range diffs {
		shown = append(shown, page.Diff{Lines: d.Lines})
	}
	return shown, nil
}

// writePages writes what status --html and --metrics ask for. The page may hold what not everybody on the host is to see;
// the group of a directory that hands its group on (chmod g+s) may read it. Collectors of metrics are users of their own.
func (g *globals) writePages(s *site, gates []reconcile.Gate, fleets []reconcile.Fleet, opts statusOptions) error {
	p := g.pageOf(s, gates, fleets)
	var errs []error
	if opts.html != "" {
		errs = append(errs, g.writePage(opts.html, page.HTML(p), 0o640))
	}
	if opts.metrics != "" {
		errs = append(errs, g.writePage(opts.metrics, page.Metrics(p), 0o644))
	}
	return errors.Join(errs...)
}

// writePage writes what --html or --metrics asks for: to a file, which has the old or the new content at any time, or for
// "-" to standard output.
func (g *globals) writePage(name string, content []byte, perm fs.FileMode) error {
	if name == "-" {
		_, err := bytes.NewReader(content).WriteTo(g.streams.Out)
		return err
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file; name one that may be replaced, or - for standard output", name)
	}
	err = durable.Disk{}.WriteFile(path, content, perm)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q cannot be written: make its directory first", path)
	}
	return err
}
