package harness

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"gatehouse/gate"
)

// longest is how many bytes of text a client gets: one of them keeps no more than 2000 characters in sight.
const longest = 1900

// text is what the agent reads about a refusal, or the person about a question. The point is in the first line, since
// that is all that some screens show: which call, what speaks against it, and which entry or rule says so. Below it
// stand why, in the owner's words, and what to do instead.
func (h *hook) text(e *event, r *gate.Request, d *gate.Decision) string {
	if d.Action == gate.Allow {
		return ""
	}
	asked := d.Action == gate.Ask
	var b strings.Builder
	switch {
	case asked && e.asks:
		b.WriteString("the gate wants a person to look: ")
	case asked:
		b.WriteString("not run, a person has to agree first: ")
	default:
		b.WriteString("refused: ")
	}
	var more []string
	for i, reason := range d.Reasons {
		head := oneLine(h.called(r, d, reason)+sentence(reason, d.Policy.Dir), 400)
		if i > 0 {
			more = append(more, head)
			continue
		}
		b.WriteString(head)
		if reason.Why != "" {
			b.WriteString("\nWhy: " + oneLine(reason.Why, 300))
		}
		if reason.Fix != "" {
			b.WriteString("\nInstead: " + oneLine(reason.Fix, 300))
		}
		if reason.Hint != "" {
			b.WriteString("\nHint: " + oneLine(reason.Hint, 300))
		}
	}
	if len(d.Reasons) == 0 {
		b.WriteString("no reason was given, which is a fault of the gate")
	}
	tail := h.tail(e, d, asked)
	for i, head := range more {
		rest := fmt.Sprintf("\nAnd %d more.", len(more)-i)
		if b.Len()+len(head)+len(rest)+len(tail) > longest-20 {
			b.WriteString(rest)
			break
		}
		b.WriteString("\nAlso: " + head)
	}
	return shorten(b.String(), longest-len(tail)) + tail
}

// tail says what kind of answer it is, and by which name a person finds it.
func (h *hook) tail(e *event, d *gate.Decision, asked bool) string {
	var b strings.Builder
	switch {
	case asked && e.asks:
	case asked && h.defers(e):
		b.WriteString("\nAsk the person, and end your turn. After their next message the same call passes once.")
	case asked:
		b.WriteString("\nThis client cannot ask: the person can run it themselves, or root can let it pass with warden grant.")
	case len(d.Reasons) == 0, d.Reasons[0].Stage == gate.StagePolicy, d.Reasons[0].Stage == gate.StageFault:
		b.WriteString("\nNothing is wrong with the call itself: a person has to mend this.")
	case d.Reasons[0].Stage == gate.StageShell: // it can be put so that it can be judged
	default:
		b.WriteString("\nThis is a boundary that the owner set, not an error: do not look for another way to the same.")
	}
	if !asked && d.Repeated >= 2 {
		fmt.Fprintf(&b, "\nIt was refused %d times before in this session; trying again will not help.", d.Repeated)
	}
	if d.ID != "" {
		b.WriteString("\nDecision " + d.ID + " (gate why " + d.ID + ").")
	}
	return b.String()
}

// called names the call that a reason is about. Where the client shows the command itself, it is the name alone.
func (h *hook) called(r *gate.Request, d *gate.Decision, reason gate.Reason) string {
	if h.client.echoes {
		if reason.Call < 0 || reason.Call >= len(d.Calls) || len(d.Calls) == 1 {
			return ""
		}
		return d.Calls[reason.Call].Name + ": "
	}
	source := reason.Source
	if source == "" && r.Tool != nil {
		source = r.Tool.Name
	}
	if source == "" || strings.Contains(reason.Text, source) {
		return ""
	}
	return shorten(strings.Join(strings.Fields(source), " "), 120) + ": "
}

// title is a question in a few words.
func title(r *gate.Request, d *gate.Decision) string {
	what := r.Line
	if r.Tool != nil {
		what = r.Tool.Name
	}
	if len(d.Reasons) > 0 && d.Reasons[0].Source != "" {
		what = d.Reasons[0].Source
	}
	return shorten("gate: "+oneLine(what, 200), 78)
}

// sentence is what is wrong, with the entry or rule and its place in the policy at dir, as far as the text does not say.
func sentence(r gate.Reason, dir string) string {
	at := r.At
	if rest, ok := strings.CutPrefix(at, dir+"/"); ok && dir != "" {
		at = rest
	} else if strings.HasPrefix(at, "/") {
		at = filepath.Base(at)
	}
	var by []string
	if r.Rule != "" && !strings.Contains(r.Text, r.Rule) {
		by = append(by, shorten(r.Rule, 80))
	}
	text := r.Text
	if dir != "" {
		text = strings.ReplaceAll(text, dir+"/", "")
	}
	if at != "" && !strings.Contains(text, at) {
		by = append(by, at)
	}
	if len(by) > 0 {
		text += " (" + strings.Join(by, ", ") + ")"
	}
	return text
}

// oneLine makes a line of foreign text: what could move a cursor or begin a line becomes a space.
func oneLine(text string, most int) string {
	clean := strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, text)
	return shorten(strings.Join(strings.Fields(clean), " "), most)
}

// shorten cuts text to at most the given number of bytes.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := 0
	for i := range text {
		if i > most-len("…") {
			break
		}
		end = i
	}
	return text[:end] + "…"
}

// plain makes text of one or more lines harmless on a terminal.
func plain(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = oneLine(l, longest)
	}
	return strings.Join(lines, "\n")
}
