package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse/gate"
)

// before judges calls that have not run. All of them pass, or none: a client runs or refuses what it told as one.
func (h *hook) before(ctx context.Context, g Gate, e *event) answer {
	if len(e.requests) == 0 {
		return h.fault(errors.New("the input of the hook names nothing that would run"))
	}
	worst := verdict{}
	var notes []string
	for _, r := range e.requests {
		r = h.typed(ctx, g, r)
		d, err := g.Decide(ctx, r)
		text := h.text(e, &r, &d)
		switch {
		case ctx.Err() != nil:
			return h.fault(ctx.Err())
		case d.Action != gate.Allow && d.Action != gate.Ask:
			return h.client.write(e, h.instead(ctx, g, e, &r, &d, text))
		case err != nil:
			return h.fault(err)
		case d.Action == gate.Ask && worst.action != question:
			worst = verdict{action: question, reason: text, title: title(&r, &d)}
		}
		for _, n := range d.Notes {
			notes = append(notes, oneLine(sentence(n, d.Policy.Dir), 300))
		}
	}
	switch {
	case worst.action == question && e.asks:
	case worst.action == question:
		worst.action = refuse
	case h.options.Approve:
		worst.action = approve
	case len(notes) > 0:
		worst = verdict{action: note, reason: strings.Join(notes, "\n")}
	}
	return h.client.write(e, worst)
}

// instead is the verdict on a refused call: refused, or where that is wanted and nothing else stands against the line,
// the line that the owner names in its place. That line is judged like any other.
func (h *hook) instead(ctx context.Context, g Judge, e *event, r *gate.Request, d *gate.Decision, reason string) verdict {
	no := verdict{action: refuse, reason: reason}
	if !h.options.Rewrite || e.input == nil || len(e.requests) != 1 || r.Line == "" || len(d.Calls) != 1 || len(d.Reasons) != 1 || d.Reasons[0].Fix == "" {
		return no
	}
	other := *r
	other.Line = d.Reasons[0].Fix
	if fixed, err := g.Decide(ctx, other); err != nil || fixed.Action != gate.Allow || ctx.Err() != nil {
		return no
	}
	input := maps.Clone(e.input)
	input["command"] = other.Line
	return verdict{action: rewrite, input: input,
		reason: "The gate ran " + oneLine(other.Line, 300) + " instead: " + oneLine(sentence(d.Reasons[0], d.Policy.Dir), 300) + "."}
}

// permission is about a call that was judged when it was first told: it is looked at again, and not counted again. What
// needs a person is about to get one.
func (h *hook) permission(ctx context.Context, g Gate, e *event) answer {
	if len(e.requests) == 0 {
		return h.fault(errors.New("the input of the hook names nothing that would run"))
	}
	for _, r := range e.requests {
		d := g.Check(ctx, h.typed(ctx, g, r))
		if d.Action != gate.Allow && d.Action != gate.Ask {
			return h.client.write(e, verdict{action: refuse, reason: h.text(e, &r, &d)})
		}
	}
	if ctx.Err() != nil {
		return h.fault(ctx.Err())
	}
	return h.client.write(e, verdict{})
}

// after records what ran, and looks through what it printed.
func (h *hook) after(ctx context.Context, g Gate, e *event) answer {
	v := verdict{}
	var words []string
	if e.ran {
		for _, r := range e.requests {
			if err := g.Ran(ctx, r, e.outcome); err != nil {
				words = append(words, "The gate could not record that this call ran: "+problem(err, 300)+
					". Rules over the order of calls may judge later calls wrongly for that.")
				break
			}
		}
	}
	if h.options.Secrets != nil && e.output != "" {
		if found := h.options.Secrets(e.output); len(found) > 0 {
			slices.Sort(found)
			words = append(words, fmt.Sprintf("The output of this call holds what looks like a credential (%s). "+
				"Do not repeat it, keep it in a file or send it anywhere; tell the person that it was shown.", strings.Join(slices.Compact(found), ", ")))
		}
	}
	if len(words) > 0 {
		v = verdict{action: note, reason: strings.Join(words, "\n")}
	}
	return h.client.write(e, v)
}

// start tells which rules are in force.
func (h *hook) start(ctx context.Context, g Gate, e *event) answer {
	text, err := g.Start(ctx, h.session(e))
	switch {
	case err != nil:
		return h.fault(err)
	case text == "":
		return h.client.write(e, verdict{})
	default:
		return h.client.write(e, verdict{action: note, reason: shorten(strings.TrimSpace(text), longest)})
	}
}

// turnEnd begins what an agent reads that is sent back.
const turnEnd = "Before this turn ends:"

// prompt lifts a stop and lets pass once what was asked about. What a subagent is told is no word of a person, and
// neither is what the gate itself said: Gemini and Copilot hand that to the agent as if a person had typed it.
func (h *hook) prompt(ctx context.Context, g Gate, e *event) answer {
	if e.agent == "" && !strings.Contains(e.said, turnEnd) {
		if err := g.Prompt(ctx, h.session(e)); err != nil {
			return h.fault(err)
		}
	}
	return h.client.write(e, verdict{})
}

// end sends the agent back for what it still owes.
func (h *hook) end(ctx context.Context, g Gate, e *event) answer {
	if e.agent != "" {
		return h.client.write(e, verdict{})
	}
	owed, err := g.Finish(ctx, h.session(e))
	if err != nil {
		return h.fault(err)
	}
	if len(owed) == 0 {
		return h.client.write(e, verdict{})
	}
	var b strings.Builder
	b.WriteString(turnEnd)
	for _, r := range owed {
		b.WriteString("\n- " + oneLine(sentence(r, ""), 300))
		if r.Why != "" {
			b.WriteString("\n  why: " + oneLine(r.Why, 200))
		}
		if r.Fix != "" {
			b.WriteString("\n  do: " + oneLine(r.Fix, 200))
		}
	}
	return h.client.write(e, verdict{action: refuse, reason: shorten(b.String(), longest)})
}

// session is a request that only says who and where.
func (h *hook) session(e *event) gate.Request {
	return gate.Request{Cwd: e.cwd, Session: e.session, Client: h.client.Name, Unattended: e.unattended, Env: h.options.Env}
}
