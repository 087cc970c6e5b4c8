package page

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MetricsType is the media type of Metrics.
const MetricsType = "text/plain; version=0.0.4; charset=utf-8"

// What bounds the series. Gates beyond it are in the totals only.
const (
	maxMetricGates = 200
	maxLabel       = 80 // characters
)

// Metrics are the numbers of the page in the text format of Prometheus. Times are those of this host.
func Metrics(s *Site) []byte {
	m := &metrics{}
	m.family("gatehouse_build_info", "The build that made these numbers; always 1.")
	m.value(1, "version", s.Version)
	m.family("gatehouse_made_timestamp_seconds", "When these numbers were made.")
	m.value(seconds(s.At))
	m.gates(s)
	m.units(s.Gates)
	m.notices(s)
	m.fleet(s.Fleet)
	m.peers(s.Peers)
	m.family("gatehouse_failed_runs", "Units of the warden whose last run failed.")
	m.value(float64(len(s.Failures)))
	m.family("gatehouse_unreadable", "Things that could not be looked at for these numbers.")
	m.value(float64(len(s.Warnings)))
	return m.out.Bytes()
}

func (m *metrics) gates(s *Site) {
	gates := distinct(s.Gates)
	m.family("gatehouse_gates", "Gates of this host.")
	m.value(float64(len(s.Gates)))

	m.family("gatehouse_gate_code", "How a gate stands: 0 in sync, 1 a finding, 2 it could not be told.")
	for _, g := range gates {
		m.value(float64(Code(g.Result)), "gate", g.Name)
	}
	m.family("gatehouse_gate_result", "The worst result of a gate: 1 for the one that it has.")
	for _, g := range gates {
		_, is := rank(results, g.Result)
		for _, name := range append(Results(), "other") {
			m.value(zeroOrOne(is.name == name), "gate", g.Name, "result", name)
		}
	}
	m.family("gatehouse_gate_since_timestamp_seconds", "Since when a gate has its result.")
	for _, g := range gates {
		m.time(g.Since, "gate", g.Name)
	}
	m.family("gatehouse_gate_last_pass_timestamp_seconds", "When the last pass looked at a gate; without a value where none has yet.")
	var oldest time.Time
	for _, g := range gates {
		if !g.Unseen {
			m.time(g.CheckedAt, "gate", g.Name)
		}
	}
	for _, g := range s.Gates {
		if g.Unseen {
			continue
		}
		if oldest.IsZero() || g.CheckedAt.Before(oldest) {
			oldest = g.CheckedAt
		}
	}
	m.family("gatehouse_last_pass_timestamp_seconds", "When the last pass looked at the gate that it looked at least recently.")
	m.time(oldest)
	m.family("gatehouse_gate_changes", "Entries of a gate's live files that are not what was accepted.")
	for _, g := range gates {
		m.value(float64(g.Changes), "gate", g.Name)
	}
	m.family("gatehouse_gate_paused", "Whether the notices of a gate are held: 1 for yes.")
	for _, g := range gates {
		m.value(zeroOrOne(g.Pause != nil), "gate", g.Name)
	}
	m.family("gatehouse_gate_exceptions", "Exceptions in force for a gate.")
	for _, g := range gates {
		m.value(float64(len(g.Grants)), "gate", g.Name)
	}

	drifts := 0
	kinds := make(map[string]int)
	for _, g := range s.Gates {
		if g.ID != "" {
			drifts++
		}
		seen := make(map[string]bool)
		for _, f := range g.Findings {
			_, w := rank(results, f.Result)
			if !seen[w.name] {
				seen[w.name] = true
				kinds[w.name]++
			}
		}
	}
	m.family("gatehouse_open_drifts", "Gates of this host with an open drift.")
	m.value(float64(drifts))
	m.family("gatehouse_findings", "Gates of this host that have a finding of a kind, the worst or not.")
	for _, name := range append(Results(), "other") {
		if name != "in-sync" {
			m.value(float64(kinds[name]), "result", name)
		}
	}
}

// distinct are the gates that have series of their own: as many as maxMetricGates, and none with the name of another.
func distinct(gates []Gate) []Gate {
	var list []Gate
	seen := make(map[string]bool)
	for _, g := range gates {
		name := labelValue(g.Name)
		if len(list) < maxMetricGates && !seen[name] {
			seen[name] = true
			list = append(list, g)
		}
	}
	return list
}

func (m *metrics) units(gates []Gate) {
	counts := make(map[string]int)
	for _, g := range gates {
		for _, p := range g.Processes {
			_, w := rank(verdicts, p.Verdict)
			name := w.name
			if name == "other" {
				name = "unknown"
			}
			counts[name]++
		}
	}
	m.family("gatehouse_units", "Services that hold files of gates in their memory, by what they have loaded.")
	for _, name := range names(verdicts) {
		m.value(float64(counts[name]), "verdict", name)
	}
}

func (m *metrics) notices(s *Site) {
	failing, oldest := 0, time.Duration(0)
	for _, n := range s.Notices {
		if n.Error != "" {
			failing++
		}
		if !n.Since.IsZero() {
			oldest = max(oldest, s.At.Sub(n.Since))
		}
	}
	m.family("gatehouse_notices_pending", "Notices that a receiver has not been sent.")
	m.value(float64(len(s.Notices)))
	m.family("gatehouse_notices_failing", "Of those, the ones whose last attempt failed.")
	m.value(float64(failing))
	m.family("gatehouse_notices_pending_oldest_age_seconds", "How long the oldest of them has been pending; 0 for none.")
	m.value(oldest.Seconds())
}

func (m *metrics) fleet(gates []Gate) {
	counts := make(map[string]int)
	hosts := make(map[string]bool)
	drifts := make(map[string]bool)
	for _, g := range gates {
		_, w := rank(results, g.Result)
		counts[w.name]++
		hosts[g.Host] = true
		if g.ID != "" {
			drifts[g.ID] = true
		}
	}
	m.family("gatehouse_fleet_hosts", "Other hosts of the fleet that this one knows how they stand.")
	m.value(float64(len(hosts)))
	m.family("gatehouse_fleet_gates", "Gates of other hosts, by their worst result.")
	for _, name := range append(Results(), "other") {
		m.value(float64(counts[name]), "result", name)
	}
	m.family("gatehouse_fleet_drifts", "Different drifts that are open in the fleet: the same on forty hosts is one.")
	m.value(float64(len(drifts)))
}

func (m *metrics) peers(peers []Peer) {
	counts := make(map[string]int)
	for _, p := range peers {
		_, w := rank(peerFindings, p.Finding)
		counts[w.name]++
	}
	m.family("gatehouse_peers", "What is the matter with hosts that this one watches, a host once for each thing; well where nothing is.")
	for _, name := range append(names(peerFindings), "other") {
		label := name
		if name == "" {
			label = "well"
		}
		m.value(float64(counts[name]), "finding", label)
	}
}

// metrics writes families of gauges, each together and described first, as the format wants it.
type metrics struct {
	out  bytes.Buffer
	name string
}

func (m *metrics) family(name, help string) {
	m.name = name
	fmt.Fprintf(&m.out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// value writes one sample. Labels are pairs of a name and a value.
func (m *metrics) value(v float64, labels ...string) {
	m.out.WriteString(m.name)
	for i := 0; i < len(labels); i += 2 {
		m.out.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&m.out, `%s="%s"`, labels[i], labelValue(labels[i+1]))
	}
	if len(labels) > 0 {
		m.out.WriteByte('}')
	}
	m.out.WriteByte(' ')
	m.out.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
	m.out.WriteByte('\n')
}

// time writes a time, and nothing for none.
func (m *metrics) time(t time.Time, labels ...string) {
	if !t.IsZero() {
		m.value(seconds(t), labels...)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func zeroOrOne(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// labelValue is a foreign text as the value of a label: harmless and bounded as on the page, then escaped as the format
// wants it.
func labelValue(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", " ").Replace(plain(text, maxLabel))
}
