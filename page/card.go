package page

import (
	"fmt"
	"strings"
)

// A card is a gate that needs somebody, or a group of hosts with the same need.
type card struct {
	ID, Name, Drift string
	Verdict         verdict
	Since, Checked  stamp
	Unwitnessed     bool
	Findings        []findingView
	Diffs           []diffView
	DiffsMore       string
	Processes       []processView
	ProcessesMore   string
	Pause           string
	Grants          []grantView
	GrantsMore      string
	Hosts           *hostsView
}

type findingView struct {
	Kind   string // where it is not what the card is about
	Reason string
	Items  []string
	More   string
	Next   string
}

// A diffView is one file. Of its lines, those in a row that are of one kind stand together.
type diffView struct {
	Name string
	Runs []run
	More string
}

// A run is lines of a diff of one kind: added, removed, place or same.
type run struct {
	Kind  string
	Lines []string
}

type processView struct {
	Unit, Reason, Fix string
	Verdict           verdict
	Since             stamp
}

type grantView struct {
	ID, Text, Cwd, By string
	Until             stamp
}

func (m *maker) card(g *Gate, id string) *card {
	_, w := rank(results, g.Result)
	text := w.text
	if g.Unseen {
		text = "not looked at yet"
	}
	v := &card{
		ID: id, Name: m.named(g.Name, maxName), Drift: m.plain(g.ID, maxName), Verdict: verdict{w.level.name(), m.plain(text, maxName)},
		Since: m.stamp(g.Since), Checked: m.stamp(g.CheckedAt), Unwitnessed: g.Unwitnessed,
	}
	if g.Unseen {
		v.Since, v.Checked = stamp{}, stamp{}
	}
	v.Findings = m.findings(g)
	v.Diffs, v.DiffsMore = m.diffs(g)
	for i, p := range g.Processes {
		if i >= m.few(maxItems) {
			v.ProcessesMore = many(len(g.Processes)-i, "more service", "more services") + ": warden loaded " + v.Name
			break
		}
		_, w := rank(verdicts, p.Verdict)
		v.Processes = append(v.Processes, processView{
			m.named(p.Unit, maxName), m.plain(p.Reason, maxText), m.plain(p.Fix, maxText), verdict{w.level.name(), m.plain(w.text, maxName)}, m.stamp(p.Since),
		})
	}
	if g.Pause != nil {
		v.Pause = m.pause(g.Pause)
	}
	v.Grants = m.grants(g.Grants)
	if n := len(g.Grants) - len(v.Grants); n > 0 {
		v.GrantsMore = many(n, "more exception", "more exceptions") + ": warden grant list"
	}
	return v
}

func (m *maker) pause(p *Pause) string {
	text := fmt.Sprintf("Notices are held until %s by %s", m.stamp(p.Until).Text, m.plain(p.By, maxName))
	if p.Why != "" {
		text += ": " + m.plain(p.Why, maxText)
	}
	return text
}

func (m *maker) grants(list []Grant) []grantView {
	var views []grantView
	for _, g := range list[:min(len(list), m.few(maxItems))] {
		views = append(views, grantView{m.plain(g.ID, maxName), m.plain(g.Text, maxText), m.plain(g.Cwd, maxName), m.plain(g.By, maxName), m.stamp(g.Until)})
	}
	return views
}

func (m *maker) findings(g *Gate) []findingView {
	var list []findingView
	for i, f := range g.Findings {
		if i >= m.few(maxItems) {
			list = append(list, findingView{Reason: many(len(g.Findings)-i, "more finding", "more findings") + ": warden status"})
			break
		}
		v := findingView{Reason: m.plain(f.Reason, maxText), Next: m.plain(f.Next, maxText)}
		if f.Result != g.Result {
			_, w := rank(results, f.Result)
			v.Kind = m.plain(w.text, maxName)
		}
		for j, item := range f.Items {
			if j >= m.few(maxItems) {
				v.More = "and " + many(len(f.Items)-j, "more", "more")
				break
			}
			v.Items = append(v.Items, m.named(item, maxText))
		}
		list = append(list, v)
	}
	return list
}

// diffs are the changes of a gate, each to be unfolded.
func (m *maker) diffs(g *Gate) ([]diffView, string) {
	var list []diffView
	for _, d := range g.Diffs {
		if len(list) >= m.few(maxDiffs) || len(d.Lines) == 0 {
			break
		}
		list = append(list, m.diff(d))
	}
	if n := max(g.Changes, len(g.Diffs)) - len(list); n > 0 {
		how := "warden status"
		if g.ID != "" {
			how = "warden diff " + m.plain(g.ID, maxName)
		}
		return list, many(n, "change is", "changes are") + " not shown here: " + how
	}
	return list, ""
}

func (m *maker) diff(d Diff) diffView {
	v := diffView{Name: m.named(d.Lines[0], maxText)}
	lines := d.Lines[1:]
	// The two lines that name the files say what the first line said.
	if len(lines) >= 2 && strings.HasPrefix(lines[0], "--- ") && strings.HasPrefix(lines[1], "+++ ") {
		lines = lines[2:]
	}
	shown := take(&m.lines, min(len(lines), maxDiffLines))
	for _, line := range lines[:shown] {
		kind := kindOf(line)
		if n := len(v.Runs); n == 0 || v.Runs[n-1].Kind != kind {
			v.Runs = append(v.Runs, run{Kind: kind})
		}
		last := &v.Runs[len(v.Runs)-1]
		last.Lines = append(last.Lines, m.plain(line, maxLine))
	}
	if n := len(lines) - shown; n > 0 {
		v.More = many(n, "more line", "more lines")
	}
	return v
}

func kindOf(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "added"
	case strings.HasPrefix(line, "-"):
		return "removed"
	case strings.HasPrefix(line, "@@"):
		return "place"
	default:
		return "same"
	}
}
