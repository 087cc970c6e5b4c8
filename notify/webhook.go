package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// signatureHeader holds "t=<unix seconds>,v1=<hex>": the HMAC-SHA256, under the shared secret, of the seconds, a dot
// and the body.
const signatureHeader = "X-Gatehouse-Signature"

// A Webhook sends messages as JSON in a POST. The header Idempotency-Key is the message's id: it is the same, and the
// body is the same, when the same notices are sent again. Without a secret there is no signature.
type Webhook struct {
	url    string
	secret string
	client *http.Client
	now    func() time.Time
}

// NewWebhook returns a sink that posts to an http or https address. transport may be nil.
func NewWebhook(url, secret string, transport http.RoundTripper) *Webhook {
	return &Webhook{url, secret, httpClient(transport), time.Now}
}

// Name implements Sink.
func (*Webhook) Name() string { return "webhook" }

// Send implements Sink.
func (w *Webhook) Send(ctx context.Context, m Message) error {
	body, err := json.Marshal(struct {
		Schema string `json:"schema"`
		Message
	}{"gatehouse/notice/v1", m})
	if err != nil {
		return &SendError{Err: err, Permanent: true, Refused: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return &SendError{Err: withoutURL(err), Permanent: true, Refused: true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "gatehouse")
	req.Header.Set("Idempotency-Key", m.ID)
	if w.secret != "" {
		req.Header.Set(signatureHeader, signature(body, w.secret, w.now().Unix()))
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxText)) // it only explains the status
	text := resp.Status
	if len(answer) > 0 {
		text += ": " + cut(quote(strings.TrimSpace(string(answer))), maxText)
	}
	if resp.StatusCode/100 == 3 {
		text += "; redirects are not followed: configure the address that it leads to"
	}
	return statusError(resp.StatusCode, retryAfter(resp), errors.New(text))
}

// withoutURL takes the address out of an error of net/http: the path may be all that keeps a webhook secret.
func withoutURL(err error) error {
	var full *url.Error
	if errors.As(err, &full) {
		return full.Err
	}
	return err
}

// retryAfter reads the header in both its forms, seconds and a date. Dates are measured by the receiver's own clock.
func retryAfter(resp *http.Response) time.Duration {
	value := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return max(time.Second, time.Duration(seconds)*time.Second)
	}
	until, err := http.ParseTime(value)
	from, err2 := http.ParseTime(resp.Header.Get("Date"))
	if err != nil || err2 != nil {
		return 0
	}
	return max(time.Second, until.Sub(from))
}

func signature(body []byte, secret string, unix int64) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", unix)
	mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", unix, hex.EncodeToString(mac.Sum(nil)))
}
