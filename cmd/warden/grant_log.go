package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/config"
	"gatehouse/gate"
	"gatehouse/gate/ledger"
	"gatehouse/internal/safefs"
	"gatehouse/reconcile"
)

// A refusedCall is a call that the log of a gate's user says was not let through.
type refusedCall struct {
	gate    reconcile.Gate
	user    string
	entry   *ledger.Entry
	subject string // of what stands in the entry, as root computes it
}

// Of one log, and of a call that a person is to read.
const (
	logBelowHome  = ".local/state/gatehouse/log"
	maxLogFile    = 32 << 20
	maxLog        = 512 << 20
	maxLogNames   = 1000
	maxCallLength = 4000
)

// findRefused finds the one call that the id of a decision stands for.
func (s *site) findRefused(ctx context.Context, opts grantOptions) (*refusedCall, error) {
	prefix, err := decisionPrefix(opts.decision)
	if err != nil {
		return nil, err
	}
	var names []string
	if opts.gate != "" {
		names = []string{opts.gate}
	}
	gates, err := s.selected(names)
	if err != nil {
		return nil, err
	}
	var found []*refusedCall
	var unread []error
	for _, g := range gates {
		calls, err := s.refusedBy(ctx, g, opts.log, prefix)
		if err != nil {
			unread = append(unread, err)
		}
		found = append(found, calls...)
	}
	if err := errors.Join(unread...); err != nil && len(found) == 0 {
		return nil, err
	}
	return oneRefused(found, opts.decision)
}

// oneRefused returns the one call among those found, which may stand there more than once.
func oneRefused(found []*refusedCall, id string) (*refusedCall, error) {
	var which []string
	for i, c := range found {
		same := func(f *refusedCall) bool { return f.subject == c.subject && f.gate.Name == c.gate.Name }
		if !slices.ContainsFunc(found[:i], same) {
			which = append(which, fmt.Sprintf("%s of gate %s", c.entry.ID, c.gate.Name))
		}
	}
	switch len(which) {
	case 0:
		return nil, fmt.Errorf("%w: no log of a gate's user has a decision %s; \"gate log\", run as that user, lists those it has", reconcile.ErrNotGranted, id)
	case 1:
		return found[0], found[0].grantable()
	}
	return nil, fmt.Errorf("%w: %s stands for %d different calls (%s); have the one that you mean tried again", reconcile.ErrNotGranted,
		id, len(which), strings.Join(which, ", "))
}

// decisionPrefix takes the kind off an id and checks what is left.
func decisionPrefix(id string) (string, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(id), "c-")
	switch kind, _, _ := strings.Cut(id, "-"); {
	case ok && len(digits) >= 8 && len(digits) <= 12 && strings.Trim(digits, "0123456789abcdef") == "":
		return "c-" + digits, nil
	case kind == "d":
		return "", fmt.Errorf("%q is a drift; a decision's id begins with c-, and a drift is accepted: warden accept %[1]s", id)
	case kind == "g":
		return "", fmt.Errorf("%q is an exception that is in force already; a decision's id begins with c-", id)
	default:
		return "", fmt.Errorf("%q is no decision: give c- and 8 digits or more, as the refusal shows it", id)
	}
}

// refusedBy reads a log as what an enemy owns, and returns the calls of g in it whose id begins with prefix.
func (s *site) refusedBy(ctx context.Context, g reconcile.Gate, dir, prefix string) ([]*refusedCall, error) {
	if g.Problem != nil {
		return nil, g.Problem
	}
	i := slices.IndexFunc(s.config.Gates, func(c config.Gate) bool { return c.Name == g.Name })
	user := s.config.Gates[i].User
	if dir == "" {
		home, err := s.config.Gates[i].Home()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(home, logBelowHome)
	}
	var calls []*refusedCall
	err := eachLogLine(ctx, dir, s.users[g.Name], func(line []byte) {
		if !bytes.Contains(line, []byte(prefix)) {
			return
		}
		e, err := ledger.Parse(line)
		if err != nil || e.Kind != ledger.Decision || e.Gate != g.Name || !strings.HasPrefix(e.ID, prefix) {
			return
		}
		calls = append(calls, &refusedCall{g, user, e, gate.Subject(requestOf(e), e.PolicyTree)})
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("the log of gate %s: %w", g.Name, err)
	}
	return calls, err
}

// eachLogLine calls do for each line of each file in a directory of the user. A file that cannot be read does not hide
// the others.
func eachLogLine(ctx context.Context, path string, uid uint32, do func([]byte)) error {
	dir, err := safefs.OpenDir(path, safefs.Options{Owners: []uint32{uid}, MaxFile: maxLogFile})
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.List(maxLogNames)
	if err != nil {
		return err
	}
	var errs []error
	var buffer []byte
	total := 0
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		data, _, err := dir.ReadFile(name, buffer)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if buffer, total = data, total+len(data); total > maxLog {
			return errors.Join(append(errs, fmt.Errorf("it is larger than %d bytes", maxLog))...)
		}
		for line := range bytes.Lines(data) {
			do(bytes.Clone(bytes.TrimSuffix(line, []byte("\n"))))
		}
	}
	return errors.Join(errs...)
}

func requestOf(e *ledger.Entry) gate.Request {
	r := gate.Request{Line: e.Line, Argv: e.Argv, Cwd: e.Cwd}
	if e.Tool != nil {
		r.Tool = &gate.Tool{Name: e.Tool.Name, Args: e.Tool.Args}
	}
	return r
}

// grantable says why an exception for a call would not be what it seems to be, or of no use.
func (c *refusedCall) grantable() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", reconcile.ErrNotGranted, fmt.Sprintf(format, args...))
	}
	e := c.entry
	switch {
	case e.Redacted:
		return refuse("the call held a credential, which the log does not keep, so nobody can see what %s would let through", e.ID)
	case e.Cut:
		return refuse("the call is longer than the log keeps, so nobody can see what %s would let through", e.ID)
	case c.text() == "":
		return refuse("the log does not say what %s was about", e.ID)
	case len(c.text()) > maxCallLength:
		return refuse("the call has %d bytes, and nobody reads more than %d before they say yes; write it into a file that is reviewed, "+
			"and let the policy allow that", len(c.text()), maxCallLength)
	case c.subject == "" || c.subject != e.Subject:
		return refuse("what the log says of %s does not belong together: its subject is not that of its call", e.ID)
	case e.Verdict == ledger.Allow:
		return refuse("%s was let through", e.ID)
	}
	return nil
}

func (c *refusedCall) grant() reconcile.Grant {
	e := c.entry
	grant := reconcile.Grant{Decision: e.ID, Subject: c.subject, Line: e.Line, Argv: e.Argv, Cwd: e.Cwd, PolicyTree: e.PolicyTree}
	if e.Tool != nil {
		grant.Tool = &reconcile.Tool{Name: e.Tool.Name, Args: e.Tool.Args}
	}
	return grant
}

// text is what was asked for.
func (c *refusedCall) text() string {
	grant := c.grant()
	return grant.Text()
}
