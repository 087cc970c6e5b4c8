package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/notify"
)

const grantSchema = "gatehouse/grant/v1"

// LongestGrant bounds an exception: what is needed for longer belongs into the policy, where it is reviewed.
const LongestGrant = 24 * time.Hour

// A Grant is an exception that a person made for one call, in one directory, under one policy, until a time. The gate
// looks for it by Subject, in state/grants/<gate>/<subject>.json, which everybody may read. It counts only in the boot
// in which it was made, so that no clock that is wrong after a restart can bring one back.
type Grant struct {
	Schema     string    `json:"schema"`
	Gate       string    `json:"gate"`
	Decision   string    `json:"decision"` // the refusal that it answers
	Subject    string    `json:"subject"`  // digest of what may run, where, and under which policy
	Line       string    `json:"line,omitempty"`
	Argv       []string  `json:"argv,omitempty"`
	Tool       *Tool     `json:"tool,omitempty"`
	Cwd        string    `json:"cwd"`
	PolicyTree string    `json:"policy_tree"`
	GrantedAt  time.Time `json:"granted_at"`
	BootID     string    `json:"boot_id"`
	ExpiresAt  time.Time `json:"expires_at"`
	By         string    `json:"by"`
}

// A Tool is the call of a client's own tool.
type Tool struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// ID is how a grant is named to people: "g-" and the first 12 digits of its subject.
func (g *Grant) ID() string { return "g-" + g.Subject[:12] }

// counts reports whether a grant is in force.
func (g *Grant) counts(boot string, now time.Time) bool {
	return g.BootID == boot && !now.Before(g.GrantedAt) && now.Before(g.ExpiresAt)
}

// ErrNotGranted means that an exception cannot be made. Nothing was changed.
var ErrNotGranted = errors.New("not granted")

// ErrNotRevoked means that an exception that is to be ended is not there. Nothing was changed.
var ErrNotRevoked = errors.New("nothing was revoked")

// Grant puts an exception in force for so long. Of the grant it takes what is to be let through; the rest it fills in.
// The history has it before it counts, so none was ever in force that nobody knows of.
func (w *Warden) Grant(ctx context.Context, g Gate, grant Grant, lasting time.Duration, d Decision) (*Grant, *Pass, error) {
	pass := new(Pass)
	err := w.locked(ctx, func() error {
		if g.Problem != nil {
			return g.Problem
		}
		if lasting <= 0 || lasting > LongestGrant {
			return fmt.Errorf("%w: an exception lasts more than 0 and at most %v", ErrNotGranted, LongestGrant)
		}
		if !g.ByAccepted {
			return fmt.Errorf("%w: gate %s is judged by its live files, which its user can change at any time; exceptions are for "+
				"a policy that root holds (decide: accepted)", ErrNotGranted, g.Name)
		}
		tree, err := w.AcceptedTree(g)
		if err != nil {
			return err
		}
		if tree != grant.PolicyTree {
			return fmt.Errorf("%w: it was judged by the policy %.12s, and %.12s is in force now; have the call tried again, and "+
				"grant what is refused then", ErrNotGranted, grant.PolicyTree, cmp.Or(tree, "none"))
		}
		now := w.Now().UTC().Truncate(time.Second)
		grant.Schema, grant.Gate, grant.By, grant.BootID = grantSchema, g.Name, d.By, w.BootID
		grant.GrantedAt, grant.ExpiresAt = now, now.Add(lasting)
		data, err := json.MarshalIndent(&grant, "", "  ")
		if err != nil {
			return fmt.Errorf("grant %s: %w", grant.Decision, err)
		}
		if err := w.record(grant.event("grant", now, d)); err != nil {
			return err
		}
		dir := filepath.Join(w.State, "grants", g.Name)
		if err := w.Disk.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := w.Disk.WriteFile(w.grantPath(&grant), append(data, '\n'), 0o644); err != nil {
			return err
		}
		if err := w.announceGrants(g.Name, "", now); err != nil {
			return err
		}
		return w.deliver(ctx, pass, []Gate{g})
	})
	return &grant, pass, err
}

// Revoke ends an exception before its time. It is named by its id, by the id of the decision, or by 8 digits or more of
// its subject.
func (w *Warden) Revoke(ctx context.Context, gates []Gate, id string, d Decision) (*Grant, *Pass, error) {
	pass := new(Pass)
	var grant *Grant
	err := w.locked(ctx, func() error {
		now := w.Now().UTC()
		var all []Grant
		for _, g := range gates {
			grants, err := w.Grants(g)
			if err != nil {
				return err
			}
			all = append(all, grants...)
		}
		var err error
		if grant, err = pickGrant(all, id); err != nil {
			return err
		}
		if err := w.record(grant.event("revoke", now, d)); err != nil {
			return err
		}
		if err := w.Disk.Remove(w.grantPath(grant)); err != nil {
			return err
		}
		if err := w.announceGrants(grant.Gate, "revoked by "+d.By, now); err != nil {
			return err
		}
		return w.deliver(ctx, pass, gates)
	})
	return grant, pass, err
}

// pickGrant returns the one of the grants that id stands for.
func pickGrant(grants []Grant, id string) (*Grant, error) {
	prefix, decision := strings.CutPrefix(id, "c-")
	if !decision {
		prefix = strings.TrimPrefix(id, "g-")
	}
	switch {
	case strings.HasPrefix(id, "d-"), strings.HasPrefix(id, "a-"):
		return nil, fmt.Errorf("%q is no exception: a drift's id begins with d-, an acceptance's with a-, that of an exception with g-", id)
	case len(prefix) < 8, strings.Trim(prefix, "0123456789abcdef") != "":
		return nil, fmt.Errorf("%q is no exception: give g- and 8 digits or more, as \"warden grant list\" shows it", id)
	}
	var found []*Grant
	for i := range grants {
		of := grants[i].Subject
		if decision {
			of = strings.TrimPrefix(grants[i].Decision, "c-")
		}
		if strings.HasPrefix(of, prefix) {
			found = append(found, &grants[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: no exception %s is in force; \"warden grant list\" shows those that are", ErrNotRevoked, id)
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("%w: %s is the beginning of %d exceptions; give more digits", ErrNotRevoked, id, len(found))
	}
}

// Grants lists the exceptions of a gate that are in force, those first that end first.
func (w *Warden) Grants(g Gate) ([]Grant, error) {
	all, err := w.grants(g.Name)
	now := w.Now()
	all = slices.DeleteFunc(all, func(grant Grant) bool { return !grant.counts(w.BootID, now) })
	return all, err
}

// grants reads what is there, whether it counts or not. What cannot be read is named in the error.
func (w *Warden) grants(gate string) (grants []Grant, err error) {
	dir := filepath.Join(w.State, "grants", gate)
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if durable.IsTemp(name.Name()) {
			continue
		}
		grant, readErr := readGrant(filepath.Join(dir, name.Name()), gate)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		grants = append(grants, *grant)
	}
	slices.SortFunc(grants, func(a, b Grant) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Subject, b.Subject))
	})
	return grants, err
}

func readGrant(path, gate string) (*Grant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	grant := new(Grant)
	if err := json.Unmarshal(data, grant); err != nil {
		return nil, fmt.Errorf("read %s: %w; remove it", path, err)
	}
	if grant.Schema != grantSchema || grant.Gate != gate || len(grant.Subject) != 64 || filepath.Base(path) != grant.Subject+".json" {
		return nil, fmt.Errorf("read %s: it is no exception of gate %s; remove it", path, gate)
	}
	return grant, nil
}

// expireGrants removes the exceptions that no longer count, and says so.
func (w *Warden) expireGrants(gate string, now time.Time) error {
	grants, _ := w.grants(gate) // what cannot be read counts for nothing, and doctor names it
	for i := range grants {
		if grants[i].counts(w.BootID, now) {
			continue
		}
		if err := w.Disk.Remove(w.grantPath(&grants[i])); err != nil {
			return err
		}
	}
	return w.announceGrants(gate, "over: the time is up, or the host was started anew", now)
}

// All exceptions of a gate are one subject for notices: each new one is told, and that the last one is over.
const (
	kindGrant    = "grant"
	grantSubject = "calls"
)

// announceGrants tells the outbox which exceptions are in force; over says how the last one ended.
func (w *Warden) announceGrants(gate, over string, now time.Time) error {
	grants, err := w.grants(gate)
	if err != nil && len(grants) == 0 {
		return nil
	}
	e := notify.Event{Kind: kindGrant, Gate: gate, Subject: grantSubject, Title: "gate " + gate + ": an exception was made",
		Summary: "calls that the policy does not let through may run for a time", Command: w.Program + " grant list"}
	for i := range grants {
		if g := &grants[i]; g.counts(w.BootID, now) {
			e.Changes = append(e.Changes, notify.Change{ID: g.ID() + "/" + g.ExpiresAt.Format(time.RFC3339),
				Text: fmt.Sprintf("%s by %s until %s, in %q: %s", g.ID(), g.By, g.ExpiresAt.Format("2006-01-02 15:04:05 UTC"), g.Cwd, g.Text())})
		}
	}
	if len(e.Changes) == 0 {
		return w.Outbox.Clear(kindGrant, gate, grantSubject, cmp.Or(over, "over"), now)
	}
	return w.Outbox.Report(e, now)
}

// Text is what may run, in one line and as it was asked.
func (g *Grant) Text() string {
	switch {
	case g.Tool != nil:
		args, err := json.Marshal(g.Tool.Args)
		if err != nil {
			return g.Tool.Name
		}
		return g.Tool.Name + " " + string(args)
	case g.Argv != nil:
		return fmt.Sprintf("%q", g.Argv)
	default:
		return g.Line
	}
}

func (g *Grant) event(action string, now time.Time, d Decision) Event {
	return Event{At: now, Gate: g.Gate, Action: action, By: d.By, Why: d.Why, Tree: g.PolicyTree, Grant: g.ID(), Decision: g.Decision,
		Subject: g.Subject, Call: g.Text(), Until: g.ExpiresAt}
}

func (w *Warden) grantPath(g *Grant) string {
	return filepath.Join(w.State, "grants", g.Gate, g.Subject+".json")
}
