package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type posted struct {
	header http.Header
	body   []byte
}

// receiver is a web server that keeps what is posted and answers as it is told.
func receiver(t *testing.T, answer func(w http.ResponseWriter, n int)) (*httptest.Server, *[]posted) {
	posts := new([]posted)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*posts = append(*posts, posted{r.Header, body})
		if answer != nil {
			answer(w, len(*posts))
		}
	}))
	t.Cleanup(server.Close)
	return server, posts
}

func TestWebhookBodyIsWholeSignedAndRepeatable(t *testing.T) {
	server, posts := receiver(t, func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	o := outbox(t, NewWebhook(server.URL, "s3cret", nil))
	report(t, o, drift("ab"), t0())
	deliver(t, o, t0())
	if len(*posts) != 2 {
		t.Fatalf("%d posts", len(*posts))
	}
	first, second := (*posts)[0], (*posts)[1]
	if !bytes.Equal(first.body, second.body) || first.header.Get("Idempotency-Key") != second.header.Get("Idempotency-Key") {
		t.Errorf("the second attempt differs:\n%s %s\n%s %s", first.header, first.body, second.header, second.body)
	}
	header := first.header.Get("X-Gatehouse-Signature")
	seconds, digest, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	mac := hmac.New(sha256.New, []byte("s3cret"))
	fmt.Fprintf(mac, "%s.%s", seconds, first.body)
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || time.Since(time.Unix(unix, 0)).Abs() > time.Minute || digest != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("signature %q of %s", header, first.body)
	}
	var got map[string]any
	if err := json.Unmarshal(first.body, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"schema": "gatehouse/notice/v1", "id": first.header.Get("Idempotency-Key"), "host": "agent-1",
		"sent_at": "2026-12-01T09:00:00Z",
		"messages": []any{map[string]any{
			"id": "drift/claude/live/1#1", "state": "open", "kind": "drift", "gate": "claude", "subject": "live", "severity": 8.0,
			"fingerprint": drift("ab").Fingerprint, "summary": drift("ab").Summary, "command": "warden accept d-ab",
			"changes": []any{
				map[string]any{"id": "a", "text": "content policy/a"}, map[string]any{"id": "b", "text": "content policy/b"},
			},
			"changes_total": 2.0, "open": 2.0, "opened_at": "2026-12-01T09:00:00Z", "revision": 1.0, "record": "drift/claude/live/1",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWebhookWithoutASecretIsNotSigned(t *testing.T) {
	server, posts := receiver(t, nil)
	if err := NewWebhook(server.URL, "", nil).Send(t.Context(), newMessage("agent-1", t0(), []Notice{{ID: "x#1"}})); err != nil {
		t.Fatal(err)
	}
	if _, signed := (*posts)[0].header[signatureHeader]; signed {
		t.Error("signed with nothing")
	}
}

func TestWebhookAnswersAndWhatTheyMean(t *testing.T) {
	type meaning struct {
		sent, refused, permanent bool
		after                    time.Duration
	}
	date := func(d time.Duration) string { return t0().Add(d).Format(http.TimeFormat) }
	for _, test := range []struct {
		statuses []int
		after    string
		want     meaning
	}{
		{[]int{200, 201, 202, 204, 299}, "", meaning{sent: true}},
		{[]int{300, 301, 302, 303, 304, 307, 308}, "", meaning{refused: true, permanent: true}},
		{[]int{400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 413, 415, 418, 422, 431, 451}, "9",
			meaning{refused: true, permanent: true}},
		{[]int{408, 425}, "", meaning{refused: true}},
		{[]int{429}, "", meaning{refused: true, after: 30 * time.Second}},
		{[]int{429}, "3", meaning{refused: true, after: 3 * time.Second}},
		{[]int{429}, date(90 * time.Second), meaning{refused: true, after: 90 * time.Second}},
		{[]int{429}, date(-time.Hour), meaning{refused: true, after: time.Second}},
		{[]int{429}, "99999999999999999999", meaning{refused: true, after: 30 * time.Second}},
		{[]int{500, 501, 502, 503, 504, 507, 599}, "", meaning{}},
		{[]int{503}, "3", meaning{after: 3 * time.Second}},
		{[]int{503}, "whenever", meaning{}},
	} {
		for _, status := range test.statuses {
			server, _ := receiver(t, func(w http.ResponseWriter, _ int) {
				w.Header().Set("Date", date(0))
				w.Header().Set("Location", "/elsewhere")
				if test.after != "" {
					w.Header().Set("Retry-After", test.after)
				}
				w.WriteHeader(status)
			})
			err := NewWebhook(server.URL+"/hook/T0KEN", "", nil).Send(t.Context(), newMessage("agent-1", t0(), []Notice{{ID: "x#1"}}))
			got := meaning{sent: err == nil}
			if err != nil {
				fault := judge(err)
				got = meaning{false, fault.Refused, fault.Permanent, fault.RetryAfter}
				if !strings.Contains(err.Error(), fmt.Sprint(status)) || strings.Contains(err.Error(), "T0KEN") {
					t.Errorf("%d: the error is %v", status, err)
				}
			}
			if got != test.want {
				t.Errorf("%d Retry-After %q: %+v, want %+v", status, test.after, got, test.want)
			}
		}
	}
}

func TestWebhookFollowsNoRedirectAndTrustsNoStranger(t *testing.T) {
	elsewhere, posts := receiver(t, nil)
	server, _ := receiver(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	message := newMessage("agent-1", t0(), []Notice{{ID: "x#1"}})
	if err := NewWebhook(server.URL, "", nil).Send(t.Context(), message); err == nil || len(*posts) > 0 {
		t.Errorf("redirected: %v, %d posts elsewhere", err, len(*posts))
	}
	stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the stranger got it")
	}))
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	stranger.StartTLS()
	defer stranger.Close()
	err := NewWebhook(stranger.URL+"/T0KEN", "", nil).Send(t.Context(), message)
	if err == nil || strings.Contains(err.Error(), "T0KEN") {
		t.Errorf("unknown certificate: %v", err)
	}
}

func TestARequestHasALimitOfItsOwn(t *testing.T) {
	if limit := httpClient(nil).Timeout; limit <= 0 || limit >= sendTimeout {
		t.Errorf("it is %v, and that of an attempt %v", limit, sendTimeout)
	}
}

func TestAnEndlessAnswerEnds(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		for r.Context().Err() == nil {
			n, err := w.Write(bytes.Repeat([]byte("\x1b[2J"), 1000))
			if served.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	err := NewWebhook(server.URL, "", nil).Send(t.Context(), newMessage("agent-1", t0(), []Notice{{ID: "x#1"}}))
	if err == nil || len(err.Error()) > 2*maxText || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
	if n := served.Load(); n > 64<<20 {
		t.Errorf("it read up to %d bytes", n)
	}
}
