package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slacktest"
	"golang.org/x/sys/unix"
)

func TestSlackThrottledThenBrokenThenFineShowsOneMessage(t *testing.T) {
	for _, taken := range []bool{false, true} { // by the attempt that was answered with a 500
		server := newSlackServer(t)
		server.answer = func(w http.ResponseWriter, method string, n int) (bool, bool) {
			switch {
			case method != "chat.postMessage":
				return false, false
			case n == 1:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return true, false
			case n == 2:
				w.WriteHeader(http.StatusInternalServerError)
				return true, taken
			}
			return false, false
		}
		o := outbox(t)
		memory := o.Dir + ".slack"
		if err := os.WriteFile(memory, []byte(`{"Channel":"#agents","ID":"C0AGENTS"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Sinks = []Sink{server.sink(memory)}
		for range 10 {
			report(t, o, drift("a"), t0())
			if d, err := o.Deliver(t.Context(), time.Now, nil); err != nil || d.Sinks[0].Pending > 0 {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if len(server.messages) != 1 {
			t.Errorf("taken %v: %d messages", taken, len(server.messages))
		}
	}
}

func TestSlackMessageSaysWhatAPersonNeeds(t *testing.T) {
	server := newSlackServer(t)
	o := outbox(t, server.sink(""))
	e := drift("ab")
	e.Detail = []string{"--- accepted", "+++ live", "-a <b> & c", "+```"}
	report(t, o, e, t0())
	deliver(t, o, t0())
	m := server.messages[0]
	text := slackTexts(t, m)
	for _, want := range []string{"gate claude on agent-1: drift (new)", "2 changes:", "content policy/a",
		"-a &lt;b&gt; &amp; c", "+'''", "```\nwarden accept d-ab\n```", "d-" + e.Fingerprint[:12], "drift/claude/live/1#1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	want := map[string]string{"channel": "#agents", "parse": "none", "unfurl_links": "false", "unfurl_media": "false"}
	for key, value := range want {
		if m.form[key] != value {
			t.Errorf("%s = %q, want %q", key, m.form[key], value)
		}
	}
	var meta struct {
		Type    string `json:"event_type"`
		Payload struct {
			ID, Host, Fingerprint string
			Notices               []string
		} `json:"event_payload"`
	}
	if err := json.Unmarshal(m.Metadata, &meta); err != nil {
		t.Fatal(err)
	}
	if meta.Type != "gatehouse_notice" || !strings.HasPrefix(meta.Payload.ID, "n-") || meta.Payload.Host != "agent-1" ||
		meta.Payload.Fingerprint != e.Fingerprint || !cmp.Equal(meta.Payload.Notices, []string{"drift/claude/live/1#1"}) {
		t.Errorf("metadata %s", m.Metadata)
	}
	if !strings.Contains(m.Text, "warden accept d-ab") {
		t.Errorf("text %q", m.Text)
	}
}

// slackTexts checks a message against Slack's limits and returns all text in its blocks.
func slackTexts(t *testing.T, m slackMessage) string {
	t.Helper()
	var blocks []struct {
		Type     string
		Text     struct{ Type, Text string }
		Elements []struct{ Type, Text string }
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, b := range blocks {
		length := utf8.RuneCountInString(b.Text.Text)
		if most := map[string]int{"header": 150, "section": 3000}[b.Type]; length > most || length == 0 && most > 0 {
			t.Errorf("a %s of %d characters", b.Type, length)
		}
		texts = append(texts, b.Text.Text)
		for _, e := range b.Elements {
			texts = append(texts, e.Text)
		}
	}
	all := strings.Join(texts, "\n")
	if len(blocks) > 50 || utf8.RuneCountInString(all) > 11000 || len(m.Text) > 4000 {
		t.Errorf("%d blocks, %d characters, fallback of %d bytes", len(blocks), utf8.RuneCountInString(all), len(m.Text))
	}
	return all
}

func TestAHugeDriftFitsSlackAndSaysItsSize(t *testing.T) {
	for gates, changes := range map[int]int{1: manyChanges, 3: 500, 120: 30} {
		e := drift("")
		for i := range changes {
			e.Changes = append(e.Changes, Change{ID: fmt.Sprint(i), Text: strings.Repeat("<&>", 200)})
			e.Detail = append(e.Detail, strings.Repeat("&", 500))
		}
		server := newSlackServer(t)
		o := outbox(t, server.sink(""))
		for gate := range gates {
			e.Gate = fmt.Sprintf("gate-%d", gate)
			report(t, o, e, t0())
		}
		deliver(t, o, t0())
		if len(server.messages) != 1 {
			t.Fatalf("%d messages", len(server.messages))
		}
		text := slackTexts(t, server.messages[0])
		if !strings.Contains(text, fmt.Sprintf("%d changes:", changes)) ||
			strings.Count(text, "\nwarden accept") < min(gates, slackFull) {
			t.Errorf("%d gates: sizes or commands are missing in\n%s", gates, text)
		}
		if gates > slackFull && !strings.Contains(text, fmt.Sprintf("%d further notices:", gates-slackFull)) {
			t.Errorf("%d gates: the rest is not counted in\n%s", gates, text)
		}
	}
}

func TestEverySinkCountsTheLinesThatItLeavesOut(t *testing.T) {
	var text, line bytes.Buffer
	server := newSlackServer(t)
	o := outbox(t, NewText(&text), unjournaled{NewJournal(&line)}, server.sink(""))
	for _, total := range []int{shownDetail, shownDetail + 1, maxDetail + 1, 5000} {
		e := drift("a")
		e.Subject = fmt.Sprint(total)
		e.Detail = slices.Repeat([]string{"+" + strings.Repeat("line ", 30)}, total)
		text.Reset()
		line.Reset()
		report(t, o, e, t0())
		deliver(t, o, t0())
		for sink, output := range map[string]string{"text": text.String(), "journal": line.String(),
			"slack": slackTexts(t, server.messages[len(server.messages)-1])} {
			left := 0
			if _, after, ok := strings.Cut(output, "… and "); ok {
				fmt.Sscan(after, &left)
			}
			if shown := strings.Count(output, "+line"); shown+left != total {
				t.Errorf("%s: %d lines are shown and %d left out of %d", sink, shown, left, total)
			}
		}
	}
}

func TestWhereSlackRefusesTheFormTheTextGoesAlone(t *testing.T) {
	server := newSlackServer(t)
	server.answer = func(w http.ResponseWriter, _ string, n int) (bool, bool) {
		if n == 1 {
			fmt.Fprint(w, `{"ok":false,"error":"msg_blocks_too_long"}`)
		}
		return n == 1, false
	}
	o := outbox(t, server.sink(""))
	report(t, o, drift("a"), t0())
	deliver(t, o, t0())
	if len(server.messages) != 1 || server.messages[0].Blocks != nil ||
		!strings.Contains(server.messages[0].Text, "warden accept") {
		t.Errorf("messages: %+v", server.messages)
	}
}

func TestFindReadsTheHistoryByID(t *testing.T) {
	server := newSlackServer(t)
	memory := t.TempDir() + "/slack"
	sink := server.sink(memory)
	m := newMessage("agent-1", t0(), []Notice{{ID: "drift/claude/live/1#1"}})
	if _, err := sink.Find(t.Context(), m.ID, time.Now()); err == nil || !strings.Contains(err.Error(), "channel_not_found") {
		t.Errorf("before the first message: %v", err)
	}
	if found, err := server.sink("").Find(t.Context(), m.ID, time.Now()); found || err == nil {
		t.Errorf("without a memory: %v, %v", found, err)
	}
	for i := range 250 { // more than a page after it
		if err := sink.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		m = newMessage("agent-2", t0(), []Notice{{ID: fmt.Sprintf("drift/claude/live/1#%d", i)}})
	}
	old := newMessage("agent-1", t0(), []Notice{{ID: "drift/claude/live/1#1"}}).ID
	for id, want := range map[string]bool{old: true, "n-other": false} {
		if found, err := sink.Find(t.Context(), id, time.Now()); found != want || err != nil {
			t.Errorf("Find(%s) = %v, %v", id, found, err)
		}
	}
	if server.requests["conversations.history"] < 6 {
		t.Errorf("%d requests for two searches", server.requests["conversations.history"])
	}
	if found, err := sink.Find(t.Context(), old, time.Now().Add(2*time.Hour)); found || err != nil {
		t.Errorf("Find looks before its time: %v, %v", found, err)
	}
	other := NewSlack(SlackOptions{Token: "xoxb-secret", Channel: "#other", APIURL: server.URL + "/api/", Memory: memory})
	if got := other.channelID(); got != "#other" {
		t.Errorf("the id of another channel is %q", got)
	}
}

func TestFindDoesNotTakeSilenceForAnAnswer(t *testing.T) {
	for _, answer := range []string{`{"ok":false,"error":"missing_scope","needed":"channels:history"}`, `{}`, `{"ok":false}`,
		`{"messages":[]}`, "<html>", ""} {
		server := newSlackServer(t)
		server.answer = func(w http.ResponseWriter, _ string, _ int) (bool, bool) { fmt.Fprint(w, answer); return true, false }
		if found, err := server.sink("").Find(t.Context(), "n-1", time.Now()); found || err == nil {
			t.Errorf("%q: %v, %v", answer, found, err)
		}
	}
}

func TestSlackAnswersAndWhatTheyMean(t *testing.T) {
	type meaning struct {
		refused, permanent bool
		after              time.Duration
	}
	var (
		passing   = meaning{}
		limited   = meaning{after: 30 * time.Second}
		permanent = meaning{refused: true, permanent: true}
	)
	type answer struct {
		status       int
		header, body string
		want         meaning
	}
	answers := []answer{
		{429, "7", "", meaning{after: 7 * time.Second}}, {429, "0", "", meaning{after: time.Second}},
		{429, "-5", "", meaning{after: time.Second}}, {429, "", "", limited}, {429, "soon", "", passing},
		{503, "9", "", passing}, {201, "", `{"ok":true}`, permanent}, {200, "", "", passing}, {200, "", "{}", passing},
		{200, "", "<html>sign in</html>", passing}, {200, "", `{"ok":false}`, passing},
	}
	for want, statuses := range map[meaning][]int{
		passing:   {408, 425, 500, 502, 504, 599},
		permanent: {300, 301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 414, 422, 431, 451},
	} {
		for _, status := range statuses {
			answers = append(answers, answer{status, "", "", want})
		}
	}
	for want, words := range map[meaning]string{
		limited: "ratelimited rate_limited message_limit_exceeded",
		passing: "internal_error fatal_error service_unavailable request_timeout team_added_to_org org_login_required",
		permanent: "invalid_auth not_authed token_revoked token_expired account_inactive channel_not_found not_in_channel " +
			"is_archived missing_scope restricted_action ekm_access_denied invalid_blocks msg_too_long no_text " +
			"metadata_too_large something_new",
	} {
		for word := range strings.FieldsSeq(words) {
			answers = append(answers, answer{200, "", fmt.Sprintf(`{"ok":false,"error":%q}`, word), want})
		}
	}
	for _, test := range answers {
		server := newSlackServer(t)
		server.answer = func(w http.ResponseWriter, _ string, _ int) (bool, bool) {
			if test.header != "" {
				w.Header().Set("Retry-After", test.header)
			}
			w.Header().Set("Location", "https://elsewhere.example/")
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
			return true, false
		}
		err := server.sink("").Send(t.Context(), newMessage("agent-1", t0(), []Notice{{ID: "x#1"}}))
		if err == nil {
			t.Errorf("%d %q counts as sent", test.status, test.body)
			continue
		}
		fault := judge(err)
		got := meaning{fault.Refused, fault.Permanent, fault.RetryAfter}
		if got != test.want {
			t.Errorf("%d Retry-After %q %q: %+v, want %+v (%v)", test.status, test.header, test.body, got, test.want, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error holds the token: %v", err)
		}
	}
}

func TestOKIsEnough(t *testing.T) {
	server := newSlackServer(t)
	server.answer = func(w http.ResponseWriter, _ string, _ int) (bool, bool) {
		fmt.Fprint(w, `{"ok":true}`)
		return true, false
	}
	if err := server.sink("").Send(t.Context(), newMessage("agent-1", t0(), []Notice{{ID: "x#1"}})); err != nil {
		t.Error(err)
	}
}

func TestAMissingScopeIsNamed(t *testing.T) {
	err := slackError(slack.SlackErrorResponse{Err: "missing_scope", Needed: "chat:write"})
	if !strings.Contains(err.Error(), "chat:write") || !errors.As(err, new(slack.SlackErrorResponse)) {
		t.Error(err)
	}
}

func TestNobodyListeningIsARefusalThatPasses(t *testing.T) {
	server := newSlackServer(t)
	server.URL = "http://" + deafAddress(t)
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errInjected }}
	nameless := &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext}
	message := newMessage("agent-1", t0(), []Notice{{ID: "x#1"}})
	for _, sink := range []Sink{
		server.sink(""), NewWebhook(server.URL, "", nil), NewWebhook("http://no-such-host.invalid", "", nameless),
	} {
		if fault := judge(sink.Send(t.Context(), message)); !fault.Refused || fault.Permanent {
			t.Errorf("%s: %+v", sink.Name(), fault)
		}
	}
}

// deafAddress is one at which nobody listens, nor anybody else can begin to.
func deafAddress(t *testing.T) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
}

func TestSlacksOwnTestServerTakesTheMessage(t *testing.T) {
	seen := make(chan string, 1)
	server := slacktest.NewTestServer(func(c slacktest.Customize) {
		c.Handle("/conversations.history", func(http.ResponseWriter, *http.Request) { seen <- "history" })
	})
	server.Start()
	defer server.Stop()
	sink := NewSlack(SlackOptions{Token: "xoxb-secret", Channel: "#agents", APIURL: server.GetAPIURL()})
	o := outbox(t, sink)
	report(t, o, drift("a"), t0())
	if d := deliver(t, o, t0()); d.Sinks[0].Sent != 1 {
		t.Errorf("%+v", d)
	}
}
