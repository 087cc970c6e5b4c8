package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"gatehouse/internal/durable"
)

// pinged is what became of asking the address outside. That it could not be asked is no finding about a gate: whoever
// watches there finds out by himself, and status shows a warning.
type pinged struct {
	Schema  string    `json:"schema"`
	Pass    string    `json:"pass"` // the last that was told there
	At      time.Time `json:"at,omitzero"`
	Error   string    `json:"error,omitempty"` // of the last attempt, if it failed
	Failing time.Time `json:"failing,omitzero"`
}

const pingedSchema = "gatehouse/ping/v1"

// pingTimeout bounds one attempt.
const pingTimeout = 10 * time.Second

func (s *site) pingedFile() string { return filepath.Join(s.peersDir(), "ping.json") }

// lastPing returns what became of the last attempt; the zero value for none.
func (s *site) lastPing() (p pinged, err error) {
	data, err := durable.ReadSealed(s.pingedFile())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrCorrupt) {
		return pinged{}, nil
	}
	if err != nil {
		return pinged{}, err
	}
	if err := json.Unmarshal(data, &p); err != nil || p.Schema != pingedSchema {
		return pinged{}, nil
	}
	return p, nil
}

// ping asks for the address outside, once for each pass that came to its end. Without a pass there is nothing to say,
// and that is what the other side listens for. A pass that is long past is not told any more: it would say that all is
// well now.
func (s *site) ping(ctx context.Context, pass *donePass) error {
	if s.config.Ping == "" || pass == nil {
		return nil
	}
	last, err := s.lastPing()
	if err != nil {
		return err
	}
	if last.Pass == pass.id() || !s.recent(pass) {
		return nil
	}
	next := pinged{Schema: pingedSchema, Pass: last.Pass, At: last.At}
	if err := s.askPing(ctx); err != nil {
		next.Error = err.Error()
		if next.Failing = last.Failing; next.Failing.IsZero() {
			next.Failing = time.Now().UTC()
		}
	} else {
		next.Pass, next.At = pass.id(), time.Now().UTC()
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := s.warden.Disk.WriteSealed(s.pingedFile(), append(data, '\n'), 0o600); err != nil {
		return err
	}
	if next.Error != "" {
		return fmt.Errorf("ping: %s", next.Error)
	}
	return nil
}

// recent reports whether a pass was in this boot, and not longer ago than two more should have been.
func (s *site) recent(pass *donePass) bool {
	longest := time.Duration(0)
	for _, g := range s.config.Gates {
		longest = max(longest, 2*g.Interval)
	}
	now, err := s.clock()
	return err == nil && now.BootID == pass.Clock.BootID && now.Monotonic >= pass.Clock.Monotonic &&
		now.Monotonic-pass.Clock.Monotonic <= longest
}

func (s *site) askPing(ctx context.Context) error {
	address, err := s.config.Ping.URL()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("the address cannot be asked for") // the error would repeat it
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		var about *url.Error // it repeats the address, which may be as good as a password
		if errors.As(err, &about) {
			err = about.Err
		}
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // what it says does not matter
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the answer is %s", http.StatusText(response.StatusCode))
	}
	return nil
}
