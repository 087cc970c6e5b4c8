package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/cli"
	"gatehouse/page"
)

// pageOfHost is what the page of one of several hosts is made from.
func (h *peerHost) page() *page.Site {
	h.t.Helper()
	g := &globals{config: h.config, streams: cli.Streams{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Getenv: func(string) string { return "" }}}
	return g.lookForPage()
}

// TestThePageShowsPeersAndWhatTheySay follows a host that is well, falls silent, and whose last word then counts for
// nothing.
func TestThePageShowsPeersAndWhatTheySay(t *testing.T) {
	place := filepath.Join(t.TempDir(), "exchange")
	makeExchange(t, place)
	told := newChannel(t)
	hosts := threeHosts(t, told.URL, func(string) string { return fmt.Sprintf("{directory: %s}", place) })
	a := hosts[0]

	if s := a.page(); !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "last seen: never") }) {
		t.Errorf("before the first look: %q", s.Warnings)
	}
	for _, h := range hosts {
		h.pass()
	}
	live(hosts, 2, nil)
	s := a.page()
	if len(s.Warnings) > 0 || len(s.Peers) != 2 || slices.ContainsFunc(s.Peers, func(p page.Peer) bool { return p.Finding != "" || p.Seen.IsZero() }) {
		t.Errorf("all are well: %+v %q", s.Peers, s.Warnings)
	}
	said := func(s *page.Site, host string) page.Gate {
		i := slices.IndexFunc(s.Fleet, func(g page.Gate) bool { return g.Host == host })
		if i < 0 {
			t.Fatalf("nothing is shown of %s: %+v", host, s.Fleet)
		}
		return s.Fleet[i]
	}
	// Nothing is published on these hosts, and that is what they say of themselves.
	if g := said(s, "host-c"); g.Name != "claude" || g.Result != "missing" || !strings.Contains(g.Findings[0].Reason, "own warden") || g.CheckedAt.IsZero() {
		t.Errorf("host-c says %+v", g)
	}

	live(hosts[:2], 7, nil)
	s = a.page()
	i := slices.IndexFunc(s.Peers, func(p page.Peer) bool { return p.Host == "host-c" })
	if i < 0 || s.Peers[i].Finding != "silent" || s.Peers[i].Reason == "" || time.Since(s.Peers[i].Seen) < 3*time.Hour {
		t.Errorf("host-c is silent: %+v", s.Peers)
	}
	if g := said(s, "host-c"); g.Result != "overdue" {
		t.Errorf("host-c is silent, and its last word is shown as %+v", g)
	}
	if g := said(s, "host-b"); g.Result != "missing" {
		t.Errorf("host-b says %+v", g)
	}
	text := string(page.Metrics(s))
	for _, line := range []string{"gatehouse_peers{finding=\"silent\"} 1\n", "gatehouse_peers{finding=\"well\"} 1\n", "gatehouse_fleet_hosts 2\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in the metrics", line)
		}
	}

	// Looks that do not reach the exchange say nothing of anybody either.
	if err := os.Rename(place, place+".away"); err != nil {
		t.Fatal(err)
	}
	live(hosts[:1], 2, nil)
	if g := said(a.page(), "host-b"); g.Result != "overdue" {
		t.Errorf("the exchange was away for an hour, and host-b is shown as %+v", g)
	}
	if err := os.Rename(place+".away", place); err != nil {
		t.Fatal(err)
	}
	a.run("beat")
	if g := said(a.page(), "host-b"); g.Result != "missing" {
		t.Errorf("the exchange is back, and host-b is shown as %+v", g)
	}

	// A look that is too long ago says nothing of anybody.
	a.age(2 * time.Hour)
	s = a.page()
	if g := said(s, "host-b"); g.Result != "overdue" || len(s.Warnings) == 0 {
		t.Errorf("nobody looked for two hours, and host-b is shown as %+v, with %q", g, s.Warnings)
	}
}
