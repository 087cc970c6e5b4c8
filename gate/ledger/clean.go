package ledger

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gatehouse/gate/secret"
)

// How much of a text is kept. maxLine is more than the longest line that these allow.
const (
	maxJudged  = 16 << 10 // of what was judged, all of it together
	maxText    = 2000     // of any other text
	maxReasons = 40
	maxCalls   = 200
	maxDepth   = 8
	maxLine    = 2 << 20
)

// prepare returns what is written of e, and sets what of e it decides.
func prepare(e *Entry, now time.Time) (Entry, error) {
	if e.Time.IsZero() {
		e.Time = now
	}
	e.Time = e.Time.Round(0).UTC()
	if e.Kind == Decision {
		e.Nonce = rand.Text()
	}
	c := cleaner{left: maxJudged}
	r := *e
	r.Line = c.judged(secret.Redact(e.Line), e.Line)
	for _, f := range secret.Find(e.Line) {
		c.hide(e.Line[f.Start:f.End], f.Kind)
	}
	if len(e.Argv) > 0 {
		r.Argv = c.argv(e.Argv)
	}
	if e.Tool != nil {
		args, _ := c.value("", map[string]any(e.Tool.Args), 0).(map[string]any)
		r.Tool = &Tool{Name: c.short(e.Tool.Name), Args: args}
	}
	r.Session, r.Client, r.Cwd, r.Granted = c.short(e.Session), c.short(e.Client), c.short(e.Cwd), c.short(e.Granted)
	r.Gate, r.PolicyMode, r.PolicyFrom = c.short(e.Gate), c.short(e.PolicyMode), c.short(e.PolicyFrom)
	r.PolicyTree, r.Subject, r.Text = c.short(e.PolicyTree), c.short(e.Subject), c.short(e.Text)
	if e.Kind == Decision {
		r.ID = r.identity()
		e.ID = r.ID
	} else {
		r.ID = c.short(e.ID)
	}
	r.Reasons = c.reasons(e.Reasons)
	r.Calls = c.calls(e.Calls)
	r.Redacted, r.Cut = c.redacted, c.cut
	e.Redacted, e.Cut = c.redacted, c.cut
	return r, r.complete()
}

// complete reports what an entry must not lack.
func (e *Entry) complete() error {
	switch {
	case e.Kind != Decision && e.Kind != Ran && e.Kind != Note:
		return fmt.Errorf("%q is no kind of entry", e.Kind)
	case e.Kind == Decision && e.Verdict != Allow && e.Verdict != Ask && e.Verdict != Deny:
		return fmt.Errorf("%q is no verdict", e.Verdict)
	case e.Torn != nil || e.Dropped != nil:
		return errors.New("only the log itself notes what is torn or dropped")
	}
	return nil
}

// A cleaner takes credentials out of texts and shortens them, and remembers whether it had to.
type cleaner struct {
	left     int      // bytes that may still be kept of what was judged
	known    []string // credentials of the line, and what stands for each, for texts that quote a part of it
	redacted bool
	cut      bool
}

// hide remembers a credential that other texts may quote without what told it there.
func (c *cleaner) hide(value, kind string) {
	if len(value) >= 5 {
		c.known = append(c.known, value, "«redacted:"+kind+"»")
	}
}

// judged shortens a part of what was judged. was is what it was before it was redacted.
func (c *cleaner) judged(text, was string) string {
	c.redacted = c.redacted || text != was
	text = c.utf8(text)
	if len(text) > c.left {
		text = c.shorten(text, c.left)
	}
	c.left -= min(len(text), c.left)
	return text
}

func (c *cleaner) argv(argv []string) []string {
	redacted := secret.RedactArgv(argv)
	kept := make([]string, 0, len(argv))
	for i, word := range redacted {
		if c.left == 0 {
			c.cut = true
			return append(kept, fmt.Sprintf("…(%d more words)", len(argv)-i))
		}
		kept = append(kept, c.judged(word, argv[i]))
	}
	return kept
}

// value cleans the arguments of a tool. What is no JSON becomes the text that Go prints for it.
func (c *cleaner) value(name string, v any, depth int) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case json.Number:
		if _, err := json.Marshal(v); err == nil && len(v) < 64 {
			return v
		}
		return c.value(name, string(v), depth)
	case float64, int, int64, uint64:
		data, err := json.Marshal(v)
		if err != nil {
			return c.value(name, fmt.Sprint(v), depth) // NaN
		}
		return json.Number(data)
	case string:
		text := c.judged(secret.RedactNamed(name, v), v)
		if len(text) > maxText {
			return c.shorten(text, maxText)
		}
		return text
	case []any:
		list := make([]any, 0, min(len(v), 100))
		for i, item := range v {
			if c.full(i, depth) {
				break
			}
			list = append(list, c.value(name, item, depth+1))
		}
		return list
	case map[string]any:
		object := make(map[string]any, min(len(v), 100))
		for _, key := range slices.Sorted(maps.Keys(v)) { // so that what is kept of a large one is no matter of chance
			if c.full(len(object), depth) {
				break
			}
			object[c.short(key)] = c.value(key, v[key], depth+1)
		}
		return object
	default:
		return c.value(name, fmt.Sprint(v), depth)
	}
}

func (c *cleaner) full(n, depth int) bool {
	full := n >= 100 || depth >= maxDepth || c.left == 0
	c.cut = c.cut || full
	return full
}

func (c *cleaner) reasons(reasons []Reason) []Reason {
	if len(reasons) > maxReasons {
		c.cut = true
		reasons = reasons[:maxReasons]
	}
	var kept []Reason
	for _, r := range reasons {
		kept = append(kept, Reason{
			Action: Verdict(c.short(string(r.Action))), Stage: c.short(r.Stage), Call: r.Call, Source: c.short(r.Source), Rule: c.short(r.Rule),
			At: c.short(r.At), Text: c.short(r.Text), Why: c.short(r.Why), Fix: c.short(r.Fix), Hint: c.short(r.Hint),
		})
	}
	return kept
}

func (c *cleaner) calls(names []string) []string {
	if len(names) > maxCalls {
		c.cut = true
		names = names[:maxCalls]
	}
	var kept []string
	for _, name := range names {
		kept = append(kept, c.short(name))
	}
	return kept
}

// short cleans a text that is not what was judged.
func (c *cleaner) short(text string) string {
	if text == "" {
		return ""
	}
	redacted := secret.Redact(text)
	if len(c.known) > 0 {
		redacted = strings.NewReplacer(c.known...).Replace(redacted)
	}
	c.redacted = c.redacted || redacted != text
	redacted = c.utf8(redacted)
	if len(redacted) > maxText {
		return c.shorten(redacted, maxText)
	}
	return redacted
}

func (c *cleaner) utf8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	c.cut = true
	return strings.ToValidUTF8(text, "\uFFFD")
}

// shorten keeps the first n bytes, less where that would split a character, and says how many there were.
func (c *cleaner) shorten(text string, n int) string {
	c.cut = true
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s…(%d bytes)", text[:n], len(text))
}
