package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// No name can do more than look odd, in whatever part of an event it stands and wherever the event is sent.
func TestHostileNamesAreHarmlessInEverySink(t *testing.T) {
	var text, line bytes.Buffer
	slackAPI := newSlackServer(t)
	hook, posts := receiver(t, nil)
	o := outbox(t, NewText(&text), unjournaled{NewJournal(&line)}, slackAPI.sink(""), NewWebhook(hook.URL, "", nil))
	names := []string{"<!channel>", "<!here> @here @channel", "<@U12345> <#C123|general>", "<http://evil.example|click>",
		"a\nb: FORGED", "\x1b[2J\x1b]0;title\x07", "\u202egnp.exe\u2066", "\xff\xfe", "a\x00b", "```\nescaped?\n```",
		"*bold* _it_ ~no~ `code`", "&lt;!channel&gt;", "level=crit msg=\"x\"", "\u2028\u0085", strings.Repeat("long", 5000), ":boom:"}
	o.Host = "host\n<!channel>\u202e"
	e := drift("")
	e.Summary = strings.Join(names[:8], " ")
	for _, name := range names {
		e.Changes = append(e.Changes, Change{ID: "id " + quote(name)[:min(20, len(quote(name)))], Text: "added " + name})
		e.Detail = append(e.Detail, "+"+name)
	}
	e.Fingerprint, e.Command = "f\x1b<!channel>", "warden accept\n\x1b[2J<!here>"
	report(t, o, e, t0())
	if err := o.Report(Event{Kind: "drift", Gate: "other", Subject: "live", Summary: "x"}, t0()); err != nil {
		t.Fatal(err)
	}
	if err := o.Clear("drift", "other", "live", "by <!channel>\n\x1b[2J", t0()); err != nil {
		t.Fatal(err)
	}
	for _, s := range deliver(t, o, t0()).Sinks {
		if s.Sent != 2 {
			t.Errorf("%+v", s)
		}
	}

	for sink, output := range map[string]string{"text": text.String(), "journal": line.String()} {
		if strings.Count(output, "FORGED") == 0 {
			t.Errorf("%s: the names are not in\n%s", sink, output)
		}
		for l := range strings.Lines(output) {
			harmless(t, sink, strings.TrimSuffix(l, "\n"))
			if strings.HasPrefix(strings.TrimLeft(l, " "), "b: FORGED") {
				t.Errorf("%s: a name made a line: %q", sink, l)
			}
		}
	}
	if lines := strings.Count(line.String(), "\n"); lines != 2 {
		t.Errorf("two notices became %d lines:\n%s", lines, &line)
	}
	message := slackAPI.messages[0]
	blocks := slackTexts(t, message)
	for l := range strings.Lines(blocks + "\n" + message.Text) {
		harmless(t, "slack", strings.TrimSuffix(l, "\n"))
	}
	if strings.ContainsAny(blocks+message.Text, "<>") || strings.Count(blocks, "```")%2 != 0 ||
		strings.Contains(blocks, "escaped?\n") {
		t.Errorf("slack may see markup in\n%s", blocks)
	}
	if !strings.Contains(blocks, "&lt;!channel&gt;") {
		t.Errorf("slack: the names are not in\n%s", blocks)
	}
	var body any
	if err := json.Unmarshal((*posts)[0].body, &body); err != nil {
		t.Fatal(err)
	}
	everyString(body, func(s string) { harmless(t, "webhook", s) })
}

func harmless(t *testing.T, sink, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%s: not UTF-8: %q", sink, s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			t.Errorf("%s: %U in %q", sink, r, s)
			return
		}
	}
}

func everyString(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, item := range v {
			everyString(item, do)
		}
	case map[string]any:
		for key, item := range v {
			do(key)
			everyString(item, do)
		}
	}
}

// unjournaled is a Journal on a machine without one.
type unjournaled struct{ *Journal }

func (j unjournaled) Send(_ context.Context, m Message) error {
	for i := range m.Notices {
		if _, err := io.WriteString(j.fallback, logfmt(&m.Notices[i], &m)); err != nil {
			return err
		}
	}
	return nil
}
