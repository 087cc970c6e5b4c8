package catalog

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/gate"
)

// ToolPrefix stands before the name of a tool where the policy sees it: tools: and rules say catalog__NAME. It is not the
// name that an MCP client has for the same tool, since an entry for MCP servers that nobody knows is not meant for this.
const ToolPrefix = "catalog__"

// A judged call is one that the policy lets pass.
type judged struct {
	request  gate.Request
	decision gate.Decision
}

// judge asks the policy in force. The catalogue is a list of what may run, which a person let into force as the policy
// itself; so the policy need not allow the program a second time, nor know its flags. But what it forbids stays forbidden:
// deny entries, denied paths, the gate's own files, rules over the order of calls. For that the argument vector is judged
// as if it were called without a shell, and of the reasons those count that forbid. Then the call is judged and logged as
// that of a tool.
func (h *Host) judge(ctx context.Context, b bound, dir, session string, env func(string) (string, bool)) (judged, string, error) {
	argv := gate.Request{Argv: b.argv, Cwd: dir, Session: session, Client: h.Client, Unattended: true, Home: h.Home, Env: env}
	d := h.Judge.Check(ctx, argv)
	if err := unjudged(ctx, d); err != nil {
		return judged{}, "", err
	}
	for i := range d.Calls {
		if words := d.Calls[i].Argv; len(words) > 0 && d.Calls[i].Meta.Wrapper != "" && slices.Contains(shells, filepath.Base(words[0])) {
			return judged{}, "", failed(Shell, "tool %s would run the shell %s: %s", b.tool.Name, words[0], d.Calls[i].Meta.Source)
		}
	}
	if reason := forbids(d); reason != nil {
		d, err := h.Judge.Decide(ctx, argv)
		if err != nil {
			return judged{}, d.ID, failed(Fault, "the decision could not be logged: %w", err)
		}
		return judged{}, d.ID, refusal(b.tool, *reason)
	}
	tool := argv
	tool.Argv, tool.Tool = nil, &gate.Tool{Name: ToolPrefix + b.tool.Name, Args: b.args}
	d, err := h.Judge.Decide(ctx, tool)
	if err != nil {
		return judged{}, d.ID, failed(Fault, "the decision could not be logged: %w", err)
	}
	if err := unjudged(ctx, d); err != nil {
		return judged{}, d.ID, err
	}
	if d.Action != gate.Allow {
		reason := gate.Reason{Action: d.Action, Text: "the policy does not let it pass"}
		if len(d.Reasons) > 0 {
			reason = d.Reasons[0]
		}
		return judged{}, d.ID, refusal(b.tool, reason)
	}
	return judged{request: tool, decision: d}, d.ID, nil
}

// unjudged reports a decision that denies only because there was none: the caller left while the policy was asked, which
// cuts its search short, or the gate itself failed. Neither is a no, which would end the job.
func unjudged(ctx context.Context, d gate.Decision) error {
	if d.Action == gate.Allow {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return &Error{Code: Fault, Err: err}
	}
	if len(d.Reasons) > 0 && d.Reasons[0].Stage == gate.StageFault {
		return failed(Fault, "the policy could not be asked: %s", d.Reasons[0].Text)
	}
	return nil
}

// forbids returns the first reason of a decision that is more than "not on a list".
func forbids(d gate.Decision) *gate.Reason {
	if d.Action == gate.Allow {
		return nil
	}
	for i := range d.Reasons {
		r := &d.Reasons[i]
		switch r.Stage {
		case gate.StageEntry, gate.StageDynamic:
			if r.Rule != "" && r.Rule != "unlisted" { // a deny entry
				return r
			}
		case gate.StagePaths:
			if !slices.Contains([]string{"", "root", "redirects", "reads_must_exist"}, r.Rule) {
				return r
			}
		case gate.StageBinary, gate.StageFlags, gate.StageEnv:
			// the executable is frozen, the options are the owner's own, and so is the environment
		default:
			return r
		}
	}
	if len(d.Reasons) == 0 {
		return &gate.Reason{Action: d.Action, Text: "the policy gives no reason"}
	}
	return nil
}

func refusal(t *Tool, r gate.Reason) error {
	text := r.Text
	if r.Rule != "" && !strings.Contains(text, r.Rule) {
		text += " (" + r.Rule + ")"
	}
	if r.At != "" {
		text += ", " + r.At
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	verb := "denies"
	if r.Action == gate.Ask {
		verb = "wants a person to be asked about"
	}
	return failed(Refused, "the policy %s tool %s: %s", verb, t.Name, text)
}
