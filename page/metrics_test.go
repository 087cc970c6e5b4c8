package page

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A sample is one line of the text format.
type sample struct {
	name   string
	labels string // sorted, as written
	value  float64
}

var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPart  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(,|$)`)
)

// parseMetrics reads the text format 0.0.4 more strictly than Prometheus does: each family is described once, by HELP and
// then TYPE, and its samples follow at once; no sample comes twice; every line ends.
func parseMetrics(text string) (map[string][]sample, error) {
	if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("it is no text of whole lines")
	}
	families := make(map[string][]sample)
	seen := make(map[string]bool)
	helped, family := "", ""
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func(why string) (map[string][]sample, error) {
			return nil, fmt.Errorf("line %d: %s: %q", i+1, why, line)
		}
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if _, twice := families[m[1]]; twice {
				return bad("a family comes twice")
			}
			if strings.Contains(m[2], `\`) {
				return bad("an escape in a help text")
			}
			helped = m[1]
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if m[1] != helped {
				return bad("no HELP before TYPE")
			}
			family, families[m[1]] = m[1], []sample{}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			return bad("it is no sample")
		}
		if m[1] != family {
			return bad("it does not belong to the family before it")
		}
		var labels []string
		for rest := m[2]; rest != ""; {
			part := labelPart.FindStringSubmatch(rest)
			if part == nil {
				return bad("a label")
			}
			if part[3] == "," && rest == part[0] {
				return bad("a comma at the end")
			}
			if slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(l, part[1]+"=") }) {
				return bad("a label comes twice")
			}
			labels = append(labels, part[1]+"="+strconv.Quote(part[2]))
			rest = rest[len(part[0]):]
		}
		slices.Sort(labels)
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return bad("a value")
		}
		s := sample{m[1], strings.Join(labels, ","), value}
		if key := s.name + "{" + s.labels; seen[key] {
			return bad("a sample comes twice")
		} else {
			seen[key] = true
		}
		families[family] = append(families[family], s)
	}
	return families, nil
}

func TestTheParserOfTheTestIsStrict(t *testing.T) {
	const head = "# HELP a A.\n# TYPE a gauge\n"
	for _, bad := range []string{
		"", "a 1", "a 1\n", head + "b 1\n", head + "a 1\na 1\n", head + "a{x=\"1\",} 1\n", head + "a{x=\"\\q\"} 1\n", head + "a{x=\"1\",x=\"2\"} 1\n",
		head + "a one\n", head + "a NaN\n", head + head, head + "a  1\n", "# TYPE a gauge\na 1\n", head + "\n", head + "a{x=\"\"\"} 1\n", head + "a 1 2\n",
	} {
		if _, err := parseMetrics(bad); err == nil {
			t.Errorf("it takes %q", bad)
		}
	}
	if _, err := parseMetrics(head + "a{x=\"\\\\ \\\" \\n } 1\",y=\"\"} 1\na 2.5\n"); err != nil {
		t.Error(err)
	}
}

func TestMetricsAreWellFormed(t *testing.T) {
	for name, s := range samples() {
		families, err := parseMetrics(string(Metrics(s)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		series := 0
		for _, f := range families {
			series += len(f)
		}
		if name == "tenthous" && series > 200 {
			t.Errorf("%d series for 10 000 hosts", series)
		}
	}
}

func TestMetricsSayHowThingsStand(t *testing.T) {
	s := driftSite()
	s.Gates = append(s.Gates, Gate{Name: "new", Result: "missing", Unseen: true, CheckedAt: at})
	got, err := parseMetrics(string(Metrics(s)))
	if err != nil {
		t.Fatal(err)
	}
	pass := float64(at.Add(-4 * time.Minute).Unix())
	for series, want := range map[string]float64{
		`gatehouse_build_info{version="v0.8.0 (go1.26)"}`:           1,
		`gatehouse_made_timestamp_seconds{}`:                        1796047387,
		`gatehouse_gates{}`:                                         4,
		`gatehouse_gate_code{gate="codex"}`:                         0,
		`gatehouse_gate_code{gate="claude"}`:                        1,
		`gatehouse_gate_code{gate="gemini"}`:                        2,
		`gatehouse_gate_code{gate="new"}`:                           2,
		`gatehouse_gate_result{gate="claude",result="drifted"}`:     1,
		`gatehouse_gate_result{gate="claude",result="in-sync"}`:     0,
		`gatehouse_gate_result{gate="claude",result="stale"}`:       0,
		`gatehouse_gate_result{gate="codex",result="in-sync"}`:      1,
		`gatehouse_gate_since_timestamp_seconds{gate="gemini"}`:     float64(at.Add(-50 * time.Minute).Unix()),
		`gatehouse_gate_last_pass_timestamp_seconds{gate="claude"}`: pass,
		`gatehouse_last_pass_timestamp_seconds{}`:                   pass,
		`gatehouse_gate_changes{gate="claude"}`:                     3,
		`gatehouse_gate_paused{gate="claude"}`:                      1,
		`gatehouse_gate_paused{gate="codex"}`:                       0,
		`gatehouse_gate_exceptions{gate="claude"}`:                  1,
		`gatehouse_open_drifts{}`:                                   1,
		`gatehouse_findings{result="stale"}`:                        1,
		`gatehouse_findings{result="drifted"}`:                      1,
		`gatehouse_findings{result="mismatch"}`:                     0,
		`gatehouse_units{verdict="stale"}`:                          1,
		`gatehouse_units{verdict="loaded"}`:                         2,
		`gatehouse_notices_pending{}`:                               2,
		`gatehouse_notices_failing{}`:                               1,
		`gatehouse_notices_pending_oldest_age_seconds{}`:            3 * 3600,
		`gatehouse_fleet_hosts{}`:                                   40,
		`gatehouse_fleet_gates{result="drifted"}`:                   1,
		`gatehouse_fleet_gates{result="in-sync"}`:                   39,
		`gatehouse_fleet_drifts{}`:                                  1,
		`gatehouse_peers{finding="silent"}`:                         1,
		`gatehouse_peers{finding="undelivered"}`:                    1,
		`gatehouse_peers{finding="well"}`:                           38,
		`gatehouse_peers{finding="split"}`:                          0,
		`gatehouse_failed_runs{}`:                                   1,
		`gatehouse_unreadable{}`:                                    0,
	} {
		name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
		i := slices.IndexFunc(got[name], func(s sample) bool { return s.labels == labels })
		if i < 0 {
			t.Errorf("no %s", series)
		} else if v := got[name][i].value; v != want {
			t.Errorf("%s is %v, want %v", series, v, want)
		}
	}
	for _, s := range got["gatehouse_gate_last_pass_timestamp_seconds"] {
		if s.labels == `gate="new"` {
			t.Error("a gate that no pass looked at has a time")
		}
	}
	for gate, results := range map[string]int{"claude": 1, "codex": 1} {
		ones := 0
		for _, s := range got["gatehouse_gate_result"] {
			if strings.HasPrefix(s.labels, fmt.Sprintf("gate=%q,", gate)) && s.value == 1 {
				ones++
			}
		}
		if ones != results {
			t.Errorf("%s has %d results", gate, ones)
		}
	}
}

// A result, a verdict and a finding that page does not know keep the number of series as it is.
func TestMetricsOfUnknownNamesAreOther(t *testing.T) {
	text := string(Metrics(&Site{At: at, Gates: []Gate{{Name: "g", Result: "surprise", Processes: []Process{{Verdict: "maybe"}}}},
		Fleet: []Gate{{Host: "h", Result: "surprise"}}, Peers: []Peer{{Host: "h", Finding: "surprise"}}}))
	if strings.Contains(text, "surprise") {
		t.Error("an unknown name became a label")
	}
	for _, want := range []string{
		"gatehouse_gate_result{gate=\"g\",result=\"other\"} 1\n", "gatehouse_gate_code{gate=\"g\"} 2\n", "gatehouse_fleet_gates{result=\"other\"} 1\n",
		"gatehouse_peers{finding=\"other\"} 1\n", "gatehouse_units{verdict=\"unknown\"} 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestDocsListEveryMetric holds the table of the documentation equal to what is written, and its examples to real names.
func TestDocsListEveryMetric(t *testing.T) {
	docs, err := os.ReadFile("../docs/status-page.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := parseMetrics(string(Metrics(driftSite())))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(gatehouse_[a-z_]+)` \\| ([^|]*)\\|").FindAllStringSubmatch(string(docs), -1) {
		listed[row[1]] = strings.ReplaceAll(row[2], "`", "")
	}
	for name, samples := range families {
		labels, ok := listed[name]
		if !ok {
			t.Errorf("%s is not in docs/status-page.md", name)
		}
		var has []string
		for _, part := range regexp.MustCompile(`(?:^|,)([a-z]+)="`).FindAllStringSubmatch(samples[0].labels, -1) {
			has = append(has, part[1])
		}
		if strings.Join(has, ", ") != strings.TrimSpace(labels) {
			t.Errorf("%s has the labels %q; docs/status-page.md says %q", name, has, labels)
		}
	}
	for _, name := range regexp.MustCompile(`gatehouse_[a-z_]+[a-z]`).FindAllString(string(docs), -1) {
		if _, ok := families[name]; !ok {
			t.Errorf("docs/status-page.md has %s, which is no metric", name)
		}
	}
}
