package main

import (
	"context"
	"os"
	"path/filepath"

	"gatehouse/gate"
	"gatehouse/gate/catalog"
	"gatehouse/gate/ledger"
)

// catalogue is who takes calls: this process, with the state of jobs in the caller's own directory.
func (g *globals) catalogue() (catalog.Runner, error) {
	// What enforces takes nothing from the command line or the environment where root's index lists the user.
	judge, err := gate.Open(gate.Options{Index: g.index, UID: uint32(os.Getuid()), Strict: true, Home: g.streams.Getenv("HOME")})
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return &catalog.Host{
		Place:  catalog.Place{Policy: judge.Provenance(), Problem: judge.Problem(), UID: uint32(os.Getuid())},
		Judge:  judge,
		Log:    catalogueLog{judge},
		Jobs:   filepath.Join(judge.StateDir(), "catalogue"),
		Cwd:    cwd,
		Home:   judge.Home(),
		Client: "gate-call",
		Getenv: g.lookupEnv,
		Reexec: callReexec(),
	}, nil
}

// catalogueLog writes what the catalogue refuses into the log of decisions.
type catalogueLog struct{ gate *gate.Gate }

func (l catalogueLog) Refused(ctx context.Context, r catalog.Result, cwd string, args map[string]any) (string, error) {
	from := l.gate.Provenance()
	e := ledger.Entry{
		Kind: ledger.Decision, Session: "catalogue: " + r.Job, Client: "gate-call", Cwd: cwd, Verdict: ledger.Deny,
		Tool: &ledger.Tool{Name: catalog.ToolPrefix + r.Tool, Args: args}, Gate: from.Gate, PolicyTree: from.Tree, PolicyMode: from.Mode,
		PolicyFrom: from.Dir,
		Reasons:    []ledger.Reason{{Action: ledger.Deny, Stage: "catalog", Call: -1, Source: r.Tool, Rule: string(r.Code), Text: r.Error}},
	}
	err := ledger.In(l.gate.StateDir()).Append(ctx, &e)
	return e.ID, err
}
