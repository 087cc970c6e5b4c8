package caller

import (
	"context"
	"path/filepath"

	"gatehouse/gate"
	"gatehouse/gate/catalog"
	"gatehouse/gate/ledger"
)

// host is who takes calls where no service does: this process, with the state of jobs in the caller's own directory.
func (o Options) host() (catalog.Runner, error) {
	// What enforces takes nothing from the command line or the environment where root's index lists the user.
	judge, err := gate.Open(gate.Options{Index: o.Index, UID: o.UID, Strict: true, Home: o.Home})
	if err != nil {
		return nil, err
	}
	return &catalog.Host{
		Place:  catalog.Place{Policy: judge.Provenance(), Problem: judge.Problem(), UID: o.UID},
		Judge:  judge,
		Log:    decisionLog{judge, o.Client},
		Jobs:   filepath.Join(judge.StateDir(), "catalogue"),
		Cwd:    o.Cwd,
		Home:   judge.Home(),
		Client: o.Client,
		Getenv: o.Getenv,
		Reexec: o.Reexec,
	}, nil
}

// decisionLog writes what the catalogue refuses into the log of decisions.
type decisionLog struct {
	gate   *gate.Gate
	client string
}

func (l decisionLog) Refused(ctx context.Context, r catalog.Result, cwd string, args map[string]any) (string, error) {
	from := l.gate.Provenance()
	e := ledger.Entry{
		Kind: ledger.Decision, Session: "catalogue: " + r.Job, Client: l.client, Cwd: cwd, Verdict: ledger.Deny,
		Tool: &ledger.Tool{Name: catalog.ToolPrefix + r.Tool, Args: args}, Gate: from.Gate, PolicyTree: from.Tree, PolicyMode: from.Mode,
		PolicyFrom: from.Dir,
		Reasons:    []ledger.Reason{{Action: ledger.Deny, Stage: "catalog", Call: -1, Source: r.Tool, Rule: string(r.Code), Text: r.Error}},
	}
	err := ledger.In(l.gate.StateDir()).Append(ctx, &e)
	return e.ID, err
}
