package main

import (
	"time"

	"gatehouse/gate"
	"gatehouse/gate/call"
)

// checkJSON is what gate check --json prints.
type checkJSON struct {
	Schema string        `json:"schema"`
	Policy policyIs      `json:"policy"`
	Lines  []checkedJSON `json:"lines"`
}

// policyIs says which policy decided.
type policyIs struct {
	Gate        string `json:"gate,omitempty"`
	Dir         string `json:"dir,omitempty"`
	Tree        string `json:"tree,omitempty"`
	Mode        string `json:"mode"`
	Decide      string `json:"decide,omitempty"`
	Differs     bool   `json:"differs,omitempty"`
	Change      string `json:"change,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

func policyJSON(p gate.Provenance) policyIs {
	return policyIs{p.Gate, p.Dir, p.Tree, p.Mode, string(p.Decide), p.Differs, p.Change, p.Fingerprint}
}

// A checkedJSON is one answer; also a line of --jsonl.
type checkedJSON struct {
	Line    string       `json:"line"`
	Argv    []string     `json:"argv,omitempty"`
	Tool    *toolJSON    `json:"tool,omitempty"`
	Cwd     string       `json:"cwd,omitempty"`
	Session string       `json:"session,omitempty"`
	Action  gate.Action  `json:"action"`
	Would   string       `json:"would,omitempty"` // what the policy says, where it only observes
	Granted *grantJSON   `json:"granted,omitempty"`
	Reasons []reasonJSON `json:"reasons"`
	Notes   []reasonJSON `json:"notes,omitempty"`
	Calls   []call.Call  `json:"calls"`
	Subject string       `json:"subject,omitempty"`
}

type grantJSON struct {
	Decision  string    `json:"decision"`
	By        string    `json:"by"`
	ExpiresAt time.Time `json:"expires_at"`
}

type reasonJSON struct {
	Action gate.Action `json:"action"`
	Stage  gate.Stage  `json:"stage"`
	Call   int         `json:"call"` // index in calls; -1: the line as a whole
	Source string      `json:"source"`
	Rule   string      `json:"rule,omitempty"`
	At     string      `json:"at,omitempty"`
	Text   string      `json:"text"`
	Why    string      `json:"why,omitempty"`
	Fix    string      `json:"fix,omitempty"`
	Hint   string      `json:"hint,omitempty"`
}

// checked is the answer as --jsonl prints it.
func checked(r gate.Request, d gate.Decision) checkedJSON {
	doc := checkedJSON{Line: r.Line, Argv: r.Argv, Action: d.Action, Reasons: reasonsJSON(d.Reasons), Calls: d.Calls}
	if r.Tool != nil {
		doc.Tool = &toolJSON{r.Tool.Name, r.Tool.Args}
	}
	if doc.Calls == nil {
		doc.Calls = []call.Call{}
	}
	if d.Observed {
		doc.Would = d.Would.String()
	}
	if g := d.Granted; g != nil {
		doc.Granted = &grantJSON{g.Decision, g.By, g.ExpiresAt}
	}
	if len(d.Notes) > 0 {
		doc.Notes = reasonsJSON(d.Notes)
	}
	return doc
}

// checkedAll adds what --json says beside that.
func checkedAll(r gate.Request, d gate.Decision) checkedJSON {
	doc := checked(r, d)
	doc.Cwd, doc.Session, doc.Subject = r.Cwd, r.Session, d.Subject
	return doc
}

func reasonsJSON(reasons []gate.Reason) []reasonJSON {
	list := make([]reasonJSON, 0, len(reasons))
	for _, r := range reasons {
		list = append(list, reasonJSON(r))
	}
	return list
}
