package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A slackServer speaks as much of Slack's API as the sink uses. Messages that it took are visible in its channel.
type slackServer struct {
	*httptest.Server
	// answer may answer a request in Slack's place; it returns whether it did, and whether the message was taken
	// all the same.
	answer func(w http.ResponseWriter, method string, n int) (answered, taken bool)

	mu       sync.Mutex
	requests map[string]int
	messages []slackMessage
}

type slackMessage struct {
	TS       string          `json:"ts"`
	Text     string          `json:"text"`
	Blocks   json.RawMessage `json:"blocks,omitempty"`
	Metadata json.RawMessage `json:"metadata"`
	form     map[string]string
}

func newSlackServer(t *testing.T) *slackServer {
	s := &slackServer{requests: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *slackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	s.requests[method]++
	answered, taken := false, true
	if s.answer != nil {
		answered, taken = s.answer(w, method, s.requests[method])
	}
	switch {
	case r.FormValue("token") != "xoxb-secret":
		fmt.Fprint(w, `{"ok":false,"error":"invalid_auth"}`)
	case method == "chat.postMessage" && (taken || !answered):
		m := slackMessage{TS: fmt.Sprintf("%d.%06d", time.Now().Unix(), len(s.messages)), Text: r.FormValue("text"),
			Metadata: json.RawMessage(r.FormValue("metadata")), form: map[string]string{}}
		if blocks := r.FormValue("blocks"); blocks != "" {
			m.Blocks = json.RawMessage(blocks)
		}
		for key := range r.Form {
			m.form[key] = r.FormValue(key)
		}
		s.messages = append(s.messages, m)
		if !answered {
			fmt.Fprintf(w, `{"ok":true,"channel":"C0AGENTS","ts":%q}`, m.TS)
		}
	case answered:
	case method == "conversations.history" && r.FormValue("channel") != "C0AGENTS":
		fmt.Fprint(w, `{"ok":false,"error":"channel_not_found"}`)
	case method == "conversations.history":
		s.history(w, r)
	default:
		http.NotFound(w, r)
	}
}

// history pages through the channel, the newest first.
func (s *slackServer) history(w http.ResponseWriter, r *http.Request) {
	var limit, skip int
	fmt.Sscan(r.FormValue("limit"), &limit)
	fmt.Sscan(r.FormValue("cursor"), &skip)
	page := []slackMessage{}
	for i := len(s.messages) - 1 - skip; i >= 0 && len(page) < limit; i-- {
		m := s.messages[i]
		if r.FormValue("include_all_metadata") != "1" {
			m.Metadata = json.RawMessage("{}")
		}
		if m.TS >= r.FormValue("oldest") {
			page = append(page, m)
		}
	}
	next := ""
	if skip+limit < len(s.messages) {
		next = fmt.Sprint(skip + limit)
	}
	json.NewEncoder(w).Encode(map[string]any{"ok": true, "messages": page, "has_more": next != "",
		"response_metadata": map[string]string{"next_cursor": next}})
}

// sink is a Slack sink for the server's channel.
func (s *slackServer) sink(memory string) *Slack {
	return NewSlack(SlackOptions{Token: "xoxb-secret", Channel: "#agents", APIURL: s.URL + "/api", Memory: memory})
}
