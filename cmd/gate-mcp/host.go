package main

import (
	"context"
	"os"
	"path/filepath"

	"gatehouse/gate"
	"gatehouse/gate/catalog"
	"gatehouse/gate/ledger"
	"gatehouse/internal/cli"
)

// clientName says in the log that a call came over MCP. What a client calls itself is only its own word.
const clientName = "mcp"

// An opener finds who takes calls.
type opener struct {
	streams cli.Streams
	index   string // root's index
	cwd     string
}

// open opens the policy in force and its catalogue: this process runs the tools, with the state of jobs in the caller's own
// directory, the same as gate call.
func (o opener) open() (catalog.Runner, error) {
	uid := uint32(os.Getuid())
	// What enforces takes nothing from the command line or the environment where root's index lists the user.
	judge, err := gate.Open(gate.Options{Index: o.index, UID: uid, Strict: true, Home: o.streams.Getenv("HOME")})
	if err != nil {
		return nil, err
	}
	return &catalog.Host{
		Place:  catalog.Place{Policy: judge.Provenance(), Problem: judge.Problem(), UID: uid},
		Judge:  judge,
		Log:    decisionLog{judge},
		Jobs:   filepath.Join(judge.StateDir(), "catalogue"),
		Cwd:    o.cwd,
		Home:   judge.Home(),
		Client: clientName,
		Getenv: func(name string) (string, bool) {
			value := o.streams.Getenv(name)
			return value, value != ""
		},
		Reexec: reexec(),
	}, nil
}

// decisionLog writes what the catalogue refuses into the log of decisions.
type decisionLog struct{ gate *gate.Gate }

func (l decisionLog) Refused(ctx context.Context, r catalog.Result, cwd string, args map[string]any) (string, error) {
	from := l.gate.Provenance()
	e := ledger.Entry{
		Kind: ledger.Decision, Session: "catalogue: " + r.Job, Client: clientName, Cwd: cwd, Verdict: ledger.Deny,
		Tool: &ledger.Tool{Name: catalog.ToolPrefix + r.Tool, Args: args}, Gate: from.Gate, PolicyTree: from.Tree, PolicyMode: from.Mode,
		PolicyFrom: from.Dir,
		Reasons:    []ledger.Reason{{Action: ledger.Deny, Stage: "catalog", Call: -1, Source: r.Tool, Rule: string(r.Code), Text: r.Error}},
	}
	err := ledger.In(l.gate.StateDir()).Append(ctx, &e)
	return e.ID, err
}
