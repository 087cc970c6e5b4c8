package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackutilsx"

	"gatehouse/internal/durable"
)

// SlackOptions configure a Slack sink. The token is a bot's, with the scope chat:write, and channels:history (or
// groups:history) if Slack is to be searched for a message of which the outcome is unknown.
type SlackOptions struct {
	Token   string
	Channel string // #name, or the channel's id
	APIURL  string // Slack's own if empty
	// Memory is a file that keeps the id which Slack gave for Channel: history can only be read by id. Until a first
	// message was sent to a channel given by name, Find cannot tell.
	Memory    string
	Disk      durable.Disk
	Transport http.RoundTripper // may be nil
}

// A Slack sink posts to a channel with chat.postMessage. It never retries: that is the outbox's business.
type Slack struct {
	SlackOptions
	client *slack.Client
}

// NewSlack returns a sink for one channel.
func NewSlack(o SlackOptions) *Slack {
	options := []slack.Option{slack.OptionHTTPClient(slackClient{httpClient(o.Transport)})}
	if o.APIURL != "" {
		options = append(options, slack.OptionAPIURL(strings.TrimRight(o.APIURL, "/")+"/"))
	}
	return &Slack{o, slack.New(o.Token, options...)}
}

// Name implements Sink.
func (*Slack) Name() string { return "slack" }

const slackEvent = "gatehouse_notice" // the event type of the messages' metadata

// Send implements Sink.
func (s *Slack) Send(ctx context.Context, m Message) error {
	err := s.post(ctx, m, slack.MsgOptionBlocks(slackBlocks(&m)...))
	if refused := new(slack.SlackErrorResponse); errors.As(err, refused) && slices.Contains(shapeErrors(), refused.Err) {
		err = s.post(ctx, m) // Slack's limits are not all documented: better a plain message than none
	}
	return slackError(err)
}

func (s *Slack) post(ctx context.Context, m Message, blocks ...slack.MsgOption) error {
	var ids []string
	for _, n := range m.Notices[:min(len(m.Notices), shownChanges)] {
		ids = append(ids, n.ID)
	}
	options := append(blocks,
		slack.MsgOptionText(slackText(&m), false),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: slackEvent, EventPayload: map[string]any{
			"id": m.ID, "host": m.Host, "notices": ids, "fingerprint": m.Notices[0].Fingerprint,
		}}),
		slack.MsgOptionParse(false), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	id, _, err := s.client.PostMessageContext(ctx, s.Channel, options...)
	if err == nil {
		s.remember(id)
	}
	return err
}

// Find implements Finder: it looks through the last thousand messages since an hour before since, as the clocks may
// differ.
func (s *Slack) Find(ctx context.Context, id string, since time.Time) (bool, error) {
	query := &slack.GetConversationHistoryParameters{ChannelID: s.channelID(), Limit: 100, IncludeAllMetadata: true,
		Oldest: fmt.Sprintf("%d.000000", since.Add(-time.Hour).Unix())}
	for range 10 {
		page, err := s.client.GetConversationHistoryContext(ctx, query)
		if err != nil {
			return false, fmt.Errorf("read the channel's history: %w", err)
		}
		for _, message := range page.Messages {
			if message.Metadata.EventType == slackEvent && message.Metadata.EventPayload["id"] == id {
				return true, nil
			}
		}
		if query.Cursor = page.ResponseMetaData.NextCursor; query.Cursor == "" {
			return false, nil
		}
	}
	return false, errors.New("it is not among the channel's last 1000 messages, and there are more")
}

// slackMemory is what the file Memory holds.
type slackMemory struct{ Channel, ID string }

// channelID is the id that Slack gave for the channel, or the channel as configured.
func (s *Slack) channelID() string {
	var known slackMemory
	data, err := os.ReadFile(s.Memory)
	if err == nil && json.Unmarshal(data, &known) == nil && known.Channel == s.Channel {
		return known.ID
	}
	return s.Channel
}

func (s *Slack) remember(id string) {
	if s.Memory == "" || id == "" || id == s.channelID() {
		return
	}
	if data, err := json.Marshal(slackMemory{s.Channel, id}); err == nil {
		_ = s.Disk.WriteFile(s.Memory, data, 0o600) // the message was sent; the next one brings the id again
	}
}

// A slackClient takes a response for an answer of Slack's only if it is one: the library takes any JSON without an error
// in it for success.
type slackClient struct{ *http.Client }

func (c slackClient) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.Client.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return nil, err
	}
	var answer struct {
		OK    bool
		Error string
	}
	if err := json.Unmarshal(body, &answer); err != nil || !answer.OK && answer.Error == "" {
		return nil, fmt.Errorf("no answer of Slack's: %s", cut(quote(string(body)), maxText))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// slackError says what an error of the Slack client means. A 429 is not taken as a refusal: messages have arrived in
// spite of it.
func slackError(err error) error {
	var limited *slack.RateLimitedError
	var status slack.StatusCodeError
	var answer slack.SlackErrorResponse
	switch {
	case errors.As(err, &limited):
		return &SendError{Err: err, RetryAfter: max(time.Second, limited.RetryAfter)}
	case errors.As(err, &status):
		e := statusError(status.Code, 0, err)
		e.Refused = e.Permanent
		return e
	case errors.As(err, &answer):
		switch answer.Err {
		case "ratelimited", "rate_limited", "message_limit_exceeded":
			return &SendError{Err: err, RetryAfter: 30 * time.Second}
		case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "org_login_required",
			"team_added_to_org":
			return &SendError{Err: err}
		}
		if answer.Needed != "" {
			err = fmt.Errorf("%w: the token needs the scope %s", err, quote(answer.Needed))
		}
		return &SendError{Err: err, Refused: true, Permanent: true}
	}
	return err
}

// shapeErrors are Slack's words for a message that it does not like the form of.
func shapeErrors() []string {
	return []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
}

// Limits of a Slack message: 50 blocks, 150 characters of a header, 3000 of a section, and about 13 000 in all, which is
// not documented. Sizes are counted in bytes, after escaping, to be on the safe side.
const (
	slackFull    = 4    // notices that are shown in full
	slackBodies  = 4800 // what these say, in all
	slackSection = 2900
	slackList    = 1500 // the other notices, a line each
	slackHeader  = 140
	slackLine    = 200
)

// slackBlocks lays a message out. What comes from elsewhere stands in code fences, escaped, where Slack sees neither
// mentions nor links nor markup.
func slackBlocks(m *Message) []slack.Block {
	plain := func(text string, most int) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, cut(slackutilsx.EscapeMessage(text), most), false, false)
	}
	full := m.Notices[:min(len(m.Notices), slackFull)]
	var blocks []slack.Block
	for i := range full {
		n := &full[i]
		body, left := n.body()
		blocks = append(blocks, slack.NewHeaderBlock(plain(n.title(m.Host), slackHeader)),
			fenced(body, left, min(slackSection, slackBodies/len(full)), slackLine))
		if n.Command != "" {
			blocks = append(blocks, fenced([]string{n.Command}, 0, slackSection, slackSection))
		}
		blocks = append(blocks, slack.NewContextBlock("", plain(n.footer(m), slackSection)))
	}
	if rest := m.Notices[len(full):]; len(rest) > 0 {
		lines := []string{count(len(rest), "further notice") + ":"}
		for i := range rest {
			lines = append(lines, rest[i].title(m.Host)+"  "+rest[i].Command)
		}
		blocks = append(blocks, fenced(lines, 0, slackList, slackLine))
	}
	return blocks
}

// fenced is a section that shows lines as they are, each of at most line bytes, and all within most; left more are
// nowhere.
func fenced(lines []string, left, most, line int) slack.Block {
	text := "```\n"
	for i, l := range lines {
		l = slackutilsx.EscapeMessage(cut(strings.ReplaceAll(l, "```", "'''"), line))
		if len(text)+len(l)+40 > most {
			left += len(lines) - i
			break
		}
		text += l + "\n"
	}
	if left > 0 {
		text += more(left, "line") + "\n"
	}
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text+"```", false, true), nil, nil)
}

// slackText is the message as notifications show it, and what is sent where Slack does not take the blocks.
func slackText(m *Message) string {
	var lines []string
	for i := range m.Notices[:min(len(m.Notices), slackFull)] {
		n := &m.Notices[i]
		lines = append(lines, n.title(m.Host), cut(n.Summary, slackLine), n.Command, n.footer(m))
	}
	if rest := len(m.Notices) - slackFull; rest > 0 {
		lines = append(lines, more(rest, "notice"))
	}
	return cut(slackutilsx.EscapeMessage(strings.Join(lines, "\n")), slackSection)
}
