package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/cli"
	"gatehouse/manifest"
	"gatehouse/notify"
	"gatehouse/reconcile"
)

// statusSchema is the schema of what status and reconcile print as JSON.
const statusSchema = "gatehouse/status/v1"

// A row is one gate as status and reconcile show it, in both forms.
type row struct {
	reconcile.Report
	Pause   *reconcile.Pause `json:"pause,omitempty"`
	Grants  []grantRow       `json:"grants,omitempty"`
	Unseen  bool             `json:"-"` // no pass was made yet
	later   bool             // what is pending is sent by another unit
	Notices []notice         `json:"notices"`
}

// A notice is a subject in the outbox that is open, or of which somebody has not been told that it is over.
type notice struct {
	ID      string    `json:"id"`
	Since   time.Time `json:"since"`
	Pending []string  `json:"pending,omitempty"` // sinks that have not taken it yet
	Error   string    `json:"error,omitempty"`   // of the last attempt
}

// rows adds what the outbox knows to reports.
func (s *site) rows(reports []reconcile.Report) []row {
	// A record that cannot be read is set aside and named by the next delivery; the others are still worth showing.
	open, _ := s.warden.Outbox.Open("")
	pending, _ := s.warden.Outbox.Pending()
	rows := make([]row, len(reports))
	for i, r := range reports {
		rows[i] = row{Report: r, Notices: []notice{}, later: len(s.warden.Outbox.Later) > 0}
		for _, record := range open {
			if record.Gate == r.Gate {
				rows[i].Notices = append(rows[i].Notices, notice{ID: record.ID(), Since: record.OpenedAt})
			}
		}
		for _, p := range pending {
			if p.Gate != r.Gate {
				continue
			}
			n := slices.IndexFunc(rows[i].Notices, func(n notice) bool { return n.ID == p.Record })
			if n < 0 {
				n = len(rows[i].Notices)
				rows[i].Notices = append(rows[i].Notices, notice{ID: p.Record, Since: p.Since})
			}
			rows[i].Notices[n].Pending = append(rows[i].Notices[n].Pending, p.Sink)
			if p.Error != "" {
				rows[i].Notices[n].Error = p.Error
			}
		}
	}
	return rows
}

// A failure is a run of a unit that failed and was not followed by a good one.
type failure struct {
	Unit    string    `json:"unit"`
	Summary string    `json:"summary"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// openFailures lists the failed runs that the outboxes hold.
func (g *globals) openFailures(s *site) []failure {
	failures := []failure{}
	for _, outbox := range g.outboxes(s) {
		open, _ := outbox.Open("") // a record that cannot be read is named by the next delivery
		for _, r := range open {
			if r.Kind == kindFailed {
				failures = append(failures, failure{strings.TrimPrefix(r.Subject, unsaved), r.Summary, r.Command, r.OpenedAt})
			}
		}
	}
	return failures
}

func (g *globals) printRows(s *site, rows []row, asJSON bool) error {
	return g.printAll(s, rows, nil, nil, asJSON)
}

// printAll prints the gates of this host, those of other hosts, and the runs that failed.
func (g *globals) printAll(s *site, rows []row, fleets []*reconcile.FleetStatus, failures []failure, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(g.streams.Out, struct {
			Schema   string     `json:"schema"`
			Host     string     `json:"host"`
			Gates    []row      `json:"gates"`
			Fleet    []fleetRow `json:"fleet,omitempty"`
			Failures []failure  `json:"failures,omitempty"`
		}{statusSchema, s.config.Host, rows, fleetRows(fleets), failures})
	}
	paint := painter(g.streams.Colour())
	for _, r := range rows {
		printRow(g.streams.Out, paint, &r, time.Now())
	}
	printFleets(g.streams.Out, paint, fleets, time.Now())
	for _, f := range failures {
		fmt.Fprintf(g.streams.Out, "%s  %s\n  → %s\n", paint(cli.Unknown, cli.Line(f.Summary)), since(f.Since, time.Now()), cli.Line(f.Command))
	}
	return nil
}

func printRow(w io.Writer, paint func(int, string) string, r *row, now time.Time) {
	word := string(r.Result)
	switch {
	case r.Unseen:
		word = "not looked at yet"
	case r.Result == reconcile.InSync:
		word = "in sync"
	case r.Result == reconcile.Unknown:
		word = "what it has loaded is unknown"
	case r.Result == reconcile.BrokenPolicy:
		word = "its policy does not compile"
	}
	fmt.Fprintf(w, "%s  %s", r.Gate, paint(r.Result.Code(), word))
	if r.ID != "" {
		fmt.Fprintf(w, "  %s", r.ID)
	}
	if r.Result == reconcile.InSync {
		fmt.Fprintf(w, "  tree %.12s", r.Accepted)
	}
	if !r.Unseen {
		fmt.Fprintf(w, "  %s", since(r.Since, now))
	}
	fmt.Fprintln(w)
	for _, f := range r.Findings {
		if f.Result != r.Result {
			fmt.Fprintf(w, "  %s:", f.Result)
		}
		fmt.Fprintf(w, "  %s\n", cli.Line(f.Reason))
		for i, item := range f.Items {
			if i == maxShown {
				fmt.Fprintf(w, "    and %d more\n", len(f.Items)-i)
				break
			}
			fmt.Fprintf(w, "    %s\n", cli.Line(item.Text))
		}
		if isDirection(f.Result) {
			printChanges(w, r.Changes)
		}
		if f.Next != "" {
			fmt.Fprintf(w, "  → %s\n", f.Next)
		}
	}
	for _, p := range r.Processes {
		if p.Verdict == reconcile.Loaded || p.Verdict == reconcile.NotRunning { // the others are among the findings
			fmt.Fprintf(w, "  %s: %s\n", p.Verdict, cli.Line(p.Unit))
		}
	}
	if r.Pause != nil {
		fmt.Fprintf(w, "  notices are held until %s by %s: %s\n", r.Pause.Until.Local().Format(clockFormat),
			cli.Printable(r.Pause.By), cli.Line(r.Pause.Why))
	}
	for _, grant := range r.Grants {
		fmt.Fprintf(w, "  exception %s until %s by %s: %s\n", grant.ID, grant.ExpiresAt.Local().Format(clockFormat),
			cli.Printable(grant.By), oneLine(grant.Text()))
	}
	for _, n := range r.Notices {
		switch {
		case len(n.Pending) == 0:
		case n.Error != "":
			fmt.Fprintf(w, "  notice %s is still pending for %s: %s\n", n.ID, strings.Join(n.Pending, ", "), cli.Line(n.Error))
		case r.later:
			fmt.Fprintf(w, "  notice %s is left to gatehouse-notify.service, for %s\n", n.ID, strings.Join(n.Pending, ", "))
		default:
			fmt.Fprintf(w, "  notice %s is still pending for %s\n", n.ID, strings.Join(n.Pending, ", "))
		}
	}
}

const (
	maxShown    = 20
	clockFormat = "2006-01-02 15:04:05 MST"
)

func printChanges(w io.Writer, changes []manifest.Change) {
	for i := range changes {
		if i == maxShown {
			fmt.Fprintf(w, "    and %d more\n", len(changes)-i)
			return
		}
		fmt.Fprintf(w, "    %s\n", reconcile.ChangeText(&changes[i]))
	}
}

// isDirection reports whether the changes of a report are what the finding is about.
func isDirection(r reconcile.Result) bool {
	switch r {
	case reconcile.Drifted, reconcile.Diverged, reconcile.Behind, reconcile.Rejected:
		return true
	}
	return false
}

// printDelivery says what was said, and to whom it could not be.
func (g *globals) printDelivery(d notify.Delivery) {
	for _, sink := range d.Sinks {
		if sink.Error != "" {
			fmt.Fprintf(g.streams.Err, "warden: notices: %s: %s\n", sink.Sink, cli.Line(sink.Error))
		}
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(g.streams.Err, "warden: notices: %s\n", cli.Line(warning))
	}
}

// painter colours by exit code: green for good, red for findings, yellow for what could not be told.
func painter(colour bool) func(code int, text string) string {
	return func(code int, text string) string {
		if !colour {
			return text
		}
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", map[int]int{cli.Yes: 32, cli.No: 31, cli.Unknown: 33}[code], text)
	}
}

func since(at, now time.Time) string {
	age := now.Sub(at)
	switch {
	case age < time.Minute:
		return "since just now"
	case age < time.Hour:
		return fmt.Sprintf("for %d min", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("for %d h", int(age.Hours()))
	default:
		return "since " + at.Local().Format("2006-01-02")
	}
}

// complain says what went wrong, and that the run goes on all the same. Of several errors each has its line.
func (g *globals) complain(err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(g.streams.Err, "warden: %s\n", cli.Line(strings.TrimSuffix(line, "\n")))
	}
}
