package page

import (
	"fmt"
	"strings"
	"time"
)

// at is when the samples are looked at.
var at = time.Date(2026, 11, 30, 14, 3, 7, 0, time.UTC)

// samples are pages as they come up, and as an enemy would have them.
func samples() map[string]*Site {
	return map[string]*Site{
		"in-sync":  calmSite(),
		"drift":    driftSite(),
		"forty":    fortySite(),
		"tenthous": hugeSite(10_000),
		"hostile":  hostileSite(),
		"empty":    {Host: "agent-1", At: at, Version: "v0.8.0"},
		"unread":   {Host: "agent-1", At: at, Version: "v0.8.0", Warnings: []string{"/etc/gatehouse/warden.yaml:3: unknown key \"gate\"; did you mean \"gates\"?"}},
	}
}

func calmGate(name string) Gate {
	return Gate{
		Name: name, Result: "in-sync", Tree: "5c0ffee1d00d", Since: at.Add(-75 * time.Hour), CheckedAt: at.Add(-4 * time.Minute),
		Processes: []Process{{Unit: "openclaw-gateway.service", Verdict: "loaded", Reason: "the process started after its files were last changed", Since: at.Add(-70 * time.Hour)}},
	}
}

func decisions() []Event {
	return []Event{
		{at.Add(-80 * time.Hour), "claude", "accept", "d-0db0c2056b56", "ana", "new deny rule for history rewrites, ticket 42"},
		{at.Add(-75 * time.Hour), "codex", "deploy", "3f9e21bb04aa", "marek", ""},
		{at.Add(-26 * time.Hour), "claude", "grant", "g-77aa01c4e2f9", "ana", "c-41ab90de: git push --force-with-lease (for 10m0s): one-off rebase"},
		{at.Add(-2 * time.Hour), "claude", "pause", "", "marek", "upgrade of the agent"},
	}
}

func calmSite() *Site {
	s := &Site{Host: "agent-1", Version: "v0.8.0 (go1.26)", At: at, Served: true, Gates: []Gate{calmGate("claude"), calmGate("codex")}, History: decisions()}
	s.Gates[1].Processes = nil
	for i := range 40 {
		host := fmt.Sprintf("agent-%d", i+2)
		g := calmGate("claude")
		g.Host, g.Processes = host, nil
		s.Fleet = append(s.Fleet, g)
		s.Peers = append(s.Peers, Peer{Host: host, Seen: at.Add(-time.Minute)})
	}
	return s
}

func aDiff() []Diff {
	return []Diff{
		{Lines: []string{`content "policy/gate.yaml" (5615 to 5628 bytes)`, "--- accepted/policy/gate.yaml", "+++ new/policy/gate.yaml",
			"@@ -9,7 +9,8 @@", " allow:", "   - git status", "   - git commit", "-  - npm test", "+  - npm test -- --watch=false", "+  - curl", "   - pytest", " unlisted: deny", " check_flags: help"}},
		{Lines: []string{`mode "plugin/hook.sh" (0755 to 0775)`}},
		{Lines: []string{`added "policy/specs/curl.yaml" (412 bytes)`, "--- /dev/null", "+++ new/policy/specs/curl.yaml", "@@ -0,0 +1,4 @@",
			"+name: curl", "+options:", "+  - {long: output, effect: writes, value: path}", "+  - {long: data, effect: reads, value: text, note: \"a line that is long enough to be broken over several lines on a telephone, as lines in policies are\"}"}},
	}
}

func driftedGate(name string) Gate {
	return Gate{
		Name: name, Result: "drifted", ID: "d-0db0c2056b56", Tree: "5c0ffee1d00d", Since: at.Add(-3 * time.Hour), CheckedAt: at.Add(-4 * time.Minute), Changes: 3,
		Findings: []Finding{{Result: "drifted", Reason: "the live files differ from what was accepted in 3 entries", Next: "warden accept d-0db0c2056b56"}},
		Diffs:    aDiff(),
	}
}

func driftSite() *Site {
	s := calmSite()
	g := driftedGate("claude")
	g.Findings = append(g.Findings, Finding{Result: "stale", Reason: "openclaw-gateway.service runs what it loaded before its files changed", Next: "systemctl --user -M agent@ restart openclaw-gateway.service"})
	g.Processes = []Process{
		{Unit: "openclaw-gateway.service", Verdict: "stale", Reason: "plugin/hook.sh is 2m3s newer than the process", Since: at.Add(-70 * time.Hour), Fix: "systemctl --user -M agent@ restart openclaw-gateway.service"},
		{Unit: "openclaw-worker.service", Verdict: "loaded", Reason: "every file has the digest it had when the process started", Since: at.Add(-20 * time.Hour)},
	}
	g.Pause = &Pause{at.Add(90 * time.Minute), "marek", "upgrade of the agent"}
	g.Grants = []Grant{{"g-77aa01c4e2f9", "git push --force-with-lease", "/home/agent/app", "ana", at.Add(8 * time.Minute)}}
	s.Gates = []Gate{calmGate("codex"), g, {
		Name: "gemini", Result: "overdue", Since: at.Add(-50 * time.Minute), CheckedAt: at.Add(-4 * time.Minute), Tree: "0a1b2c3d4e5f",
		Findings: []Finding{{Result: "overdue", Reason: "the last manifest came 2h50m ago; one is due every 1h", Next: "systemctl status gatehouse-publish@gemini.timer"}},
	}}
	s.Fleet[3] = driftedGate("claude")
	s.Fleet[3].Host, s.Fleet[3].Unwitnessed = "agent-5", true
	s.Peers[7] = Peer{Host: "agent-9", Finding: "silent", Reason: "nothing was heard for 2h10m; a beat is due every hour", Since: at.Add(-10 * time.Minute), Seen: at.Add(-130 * time.Minute), Next: "ssh agent-9 systemctl status gatehouse-reconcile.timer"}
	s.Peers[8] = Peer{Host: "agent-10", Finding: "undelivered", Reason: "3 notices have been pending for 5h", Since: at.Add(-4 * time.Hour), Seen: at.Add(-time.Minute), Next: "ssh agent-10 warden notify"}
	s.Notices = []Notice{
		{ID: "drift/claude/live/2", Sink: "slack", Since: at.Add(-3 * time.Hour), Error: "chat.postMessage: channel_not_found"},
		{ID: "overdue/gemini/export/7", Sink: "webhook", Since: at.Add(-4 * time.Minute), Later: true},
	}
	s.Failures = []Failure{{"gatehouse-publish@gemini.service failed: it exited with 2", "journalctl _SYSTEMD_INVOCATION_ID=9d3f4c1be0a24d4f8f6d0c3b7a1e5d20", at.Add(-50 * time.Minute)}}
	return s
}

func fortySite() *Site {
	s := calmSite()
	for i := range s.Fleet {
		host := s.Fleet[i].Host
		s.Fleet[i] = driftedGate("claude")
		s.Fleet[i].Host, s.Fleet[i].Unwitnessed = host, true
		s.Fleet[i].Since = at.Add(-time.Duration(i) * time.Minute)
		if i > 0 {
			s.Fleet[i].Diffs = nil
		}
	}
	return s
}

// hugeSite is a fleet of n hosts: most are well, some are not, a few in ways of their own.
func hugeSite(n int) *Site {
	s := calmSite()
	s.Fleet, s.Peers = nil, nil
	for i := range n {
		host := fmt.Sprintf("agent-%05d.fleet.example", i)
		g := calmGate("claude")
		g.Processes = nil
		switch {
		case i%250 == 0:
			g = driftedGate("claude")
		case i%991 == 0:
			g = driftedGate("claude")
			g.ID = fmt.Sprintf("d-%012x", i)
		case i%333 == 0:
			g.Result, g.Findings = "overdue", []Finding{{Result: "overdue", Reason: "the last manifest came 3h ago; one is due every 1h"}}
		}
		g.Host = host
		s.Fleet = append(s.Fleet, g)
		p := Peer{Host: host, Seen: at.Add(-time.Minute)}
		if i%777 == 0 {
			p.Finding, p.Reason, p.Since = "silent", "nothing was heard for 3h; a beat is due every hour", at.Add(-time.Hour)
		}
		s.Peers = append(s.Peers, p)
	}
	return s
}

// hostileTexts are names and lines that want to be more than text.
func hostileTexts() []string {
	return []string{
		`<script>alert(1)</script>`,
		`"><img src=x onerror=alert(1)>`,
		`</style><style>body{display:none}</style>`,
		`</title></bdi></pre><!-- --><iframe src=//evil.example>`,
		"{{.Host}} {{template \"page\"}}",
		"javascript:alert(1)",
		"good\x1b[2J\x1b[31m\a\b\r\nbad\x00\x7f\u0085\u2028\u2029",
		"\u202egnp.exe\u202c \u2066in sync\u2069 \u200f\u061c",
		"tags:" + string([]rune{0xE0001, 0xE0069, 0xE006E, 0xE0020, 0xE007F}) + " vs:\ufe0f" + string(rune(0xE0101)) + " zw:\u200b\u200d\ufeff\u2060\u00ad fill:\u3164\u2800\uffa0",
		"z\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030fa\u0335lgo",
		"\u05e9\u05dc\u05d5\u05dd/\u0645\u0644\u0641.txt (123)",
		strings.Repeat("a", 4000),
		strings.Repeat("שלום ", 800),
		strings.Repeat("\U000e0041", 4000),
		"bytes \xff\xfe\x80 that are no text",
		"quote\" \\ back\nslash} 1\n# TYPE x counter",
		"",
	}
}

func hostileSite() *Site {
	s := &Site{Host: "agent-1\u202e<b>", Version: "<i>v1</i>", At: at, Served: true}
	for i, t := range hostileTexts() {
		g := driftedGate(t)
		g.ID, g.Tree = t, t
		g.Findings = []Finding{{Result: "drifted", Reason: t, Items: []string{t, t}, Next: t}, {Result: t, Reason: t}}
		g.Diffs = []Diff{{Lines: []string{t, "--- " + t, "+++ " + t, "@@ " + t, "+" + t, "-" + t, " " + t, t}}}
		g.Processes = []Process{{Unit: t, Verdict: t, Reason: t, Fix: t}}
		g.Pause = &Pause{at, t, t}
		g.Grants = []Grant{{t, t, t, t, at}}
		s.Gates = append(s.Gates, g)
		calm := calmGate(t)
		calm.Tree, calm.Pause, calm.Grants = t, g.Pause, g.Grants
		s.Gates = append(s.Gates, calm)
		g.Host = t
		s.Fleet = append(s.Fleet, g, Gate{Host: t, Name: t, Result: t}, Gate{Host: t, Name: "claude", Result: "in-sync"})
		s.Peers = append(s.Peers, Peer{Host: t, Finding: "silent", Reason: t, Next: t}, Peer{Host: t, Finding: t, Reason: t, Seen: at})
		s.Failures = append(s.Failures, Failure{t, t, at})
		s.Notices = append(s.Notices, Notice{ID: t, Sink: t, Error: t, Since: at.Add(-time.Duration(i) * time.Hour)})
		s.History = append(s.History, Event{at, t, t, t, t, t})
		s.Warnings = append(s.Warnings, t)
	}
	return s
}
