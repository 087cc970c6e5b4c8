package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/peer"
)

type peersOptions struct {
	json     bool
	exitZero bool
}

func newPeersCommand(g *globals) *cobra.Command {
	var opts peersOptions
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Show how other hosts stand, as this one last saw them",
		Long: `Show each host that this one watches, the worst first: whether heartbeats come from it and are its own, how its gates
stood at its last pass, and what a person does about it. Nothing is asked over the network; "warden beat" looks anew. A
last look that is too long ago is itself said.

Exit codes: 0 all is well, 1 a host is not, 2 that is not known: the exchange cannot be reached, a host was never seen, or
nobody looked.`,
		Example: `  warden peers
  warden peers --json
  warden peers key`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPeers(g, opts) },
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the hosts as JSON")
	cmd.Flags().BoolVar(&opts.exitZero, "exit-zero", false, "exit with 0 whatever the results are")
	cmd.AddCommand(newPeersKeyCommand(g), newPeersForgetCommand(g))
	return cmd
}

// A peerRow is one host as peers shows it, in both forms.
type peerRow struct {
	Host        string        `json:"host"`
	Finding     peer.Kind     `json:"finding,omitempty"` // the worst; empty where all is well
	Findings    []peerFinding `json:"findings"`
	Heartbeat   uint64        `json:"heartbeat"`     // number of the last that was believed, 0 for none
	QuietFor    int64         `json:"quiet_seconds"` // that this host looked, since then
	PassedAt    time.Time     `json:"passed_at,omitzero"`
	Version     string        `json:"version,omitempty"`
	Maintenance string        `json:"maintenance,omitempty"` // as announced; counts while Left is not over
	Left        int64         `json:"maintenance_seconds,omitempty"`
	Gates       []peer.Gate   `json:"gates"`
	Pending     *peer.Pending `json:"pending,omitempty"`
	quiet       time.Duration
}

type peerFinding struct {
	Kind   peer.Kind `json:"kind"`
	Gate   string    `json:"gate,omitempty"`
	Reason string    `json:"reason"`
	Next   string    `json:"next,omitempty"`
	For    int64     `json:"for_seconds"`
}

// A peersView is what this host knows of others, from its state alone.
type peersView struct {
	Schema   string          `json:"schema"`
	Host     string          `json:"host"`
	LookedAt string          `json:"looked,omitempty"` // how long ago the exchange was reached, or why that is not known
	Fresh    bool            `json:"fresh"`            // it is not too long ago
	Own      *peer.Heartbeat `json:"heartbeat,omitempty"`
	Peers    []peerRow       `json:"peers"`
	Findings []peerFinding   `json:"findings"` // about no single host
	Strange  []string        `json:"not_in_inventory,omitempty"`
	Ping     *pingRow        `json:"ping,omitempty"`
}

type pingRow struct {
	At      time.Time `json:"at,omitzero"`
	Error   string    `json:"error,omitempty"`
	Failing time.Time `json:"failing_since,omitzero"`
}

const peersSchema = "gatehouse/peers/v1"

func runPeers(g *globals, opts peersOptions) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	view, err := s.peersView()
	if err != nil {
		return err
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, view)
	} else {
		err = g.printPeers(s, view)
	}
	if err != nil || opts.exitZero {
		return err
	}
	return cli.Exit(view.code())
}

func (v *peersView) code() int {
	var all []peer.Finding
	for _, f := range v.Findings {
		all = append(all, peer.Finding{Kind: f.Kind})
	}
	for _, r := range v.Peers {
		for _, f := range r.Findings {
			all = append(all, peer.Finding{Kind: f.Kind})
		}
	}
	code := findingsCode(all)
	if code == cli.Yes && !v.Fresh && len(v.Peers) > 0 {
		return cli.Unknown
	}
	return code
}

// peersView reads what the last look left in the state. It asks nobody and holds nobody up.
func (s *site) peersView() (*peersView, error) {
	if s.config.Peers == nil && s.config.Ping == "" {
		return nil, errAlone
	}
	v := &peersView{Schema: peersSchema, Host: s.config.Host, Peers: []peerRow{}, Findings: []peerFinding{}}
	if s.config.Ping != "" {
		p, err := s.lastPing()
		if err != nil {
			return nil, err
		}
		v.Ping = &pingRow{p.At, p.Error, p.Failing}
	}
	if s.config.Peers == nil {
		return v, nil
	}
	memory, err := peer.LoadMemory(s.peersDir())
	if err != nil && !errors.Is(err, durable.ErrCorrupt) { // which the next look says, and makes good
		return nil, err
	}
	if v.Own, err = peer.Last(s.peersDir()); err != nil && !errors.Is(err, durable.ErrCorrupt) {
		return nil, err
	}
	inventory, err := s.inventory()
	if err != nil {
		return nil, err
	}
	now, err := s.clock()
	if err != nil {
		return nil, err
	}
	v.looked(memory.Seen, now)
	v.Strange = memory.Strange
	for _, f := range memory.Findings {
		if f.Host == "" {
			v.Findings = append(v.Findings, findingRow(f))
		}
	}
	for _, h := range inventory {
		v.Peers = append(v.Peers, rowOfPeer(h, memory))
	}
	slices.SortStableFunc(v.Peers, func(a, b peerRow) int {
		return cmp.Or(cmp.Compare(b.Finding.Severity(), a.Finding.Severity()), cmp.Compare(len(b.Findings), len(a.Findings)),
			strings.Compare(a.Host, b.Host))
	})
	return v, nil
}

// looked says how long ago the last look was that reached the exchange, by the clock that is never set.
func (v *peersView) looked(last, now peer.Reading) {
	switch {
	case last.BootID == "":
		v.LookedAt = "never"
	case last.BootID != now.BootID || last.Monotonic > now.Monotonic:
		v.LookedAt = "before this host was started"
	default:
		ago := now.Monotonic - last.Monotonic
		v.LookedAt, v.Fresh = ago.Round(time.Second).String()+" ago", ago <= 6*beatEvery
	}
}

func findingRow(f peer.Finding) peerFinding {
	return peerFinding{f.Kind, f.Gate, f.Reason, f.Next, int64(f.For / time.Second)}
}

func rowOfPeer(h peer.Host, memory peer.Memory) peerRow {
	row := peerRow{Host: h.Name, Findings: []peerFinding{}, Gates: []peer.Gate{}}
	for _, f := range memory.Findings {
		if f.Host == h.Name {
			row.Findings = append(row.Findings, findingRow(f))
			if row.Finding == "" {
				row.Finding = f.Kind
			}
		}
	}
	known := memory.Hosts[h.Name]
	if known == nil || known.Key != peer.FormatKey(h.Key) {
		return row
	}
	row.quiet = known.Quiet
	row.QuietFor = int64(known.Quiet / time.Second)
	if b := known.Beat; b != nil {
		row.Heartbeat, row.PassedAt, row.Version, row.Gates = b.Sequence, b.LastPass(), b.Version, b.Gates
		if b.Pending.Count > 0 {
			row.Pending = &b.Pending
		}
		if left := known.Excused(); left > known.Quiet {
			row.Maintenance, row.Left = b.Maintenance.Why, int64((left-known.Quiet)/time.Second)
		}
	}
	return row
}

func (g *globals) printPeers(s *site, v *peersView) error {
	out, paint := g.streams.Out, painter(g.streams.Colour())
	if s.config.Peers != nil {
		switch {
		case v.Own == nil:
			fmt.Fprintf(out, "%s has made no heartbeat yet; one is made after a completed pass\n", v.Host)
		default:
			fmt.Fprintf(out, "%s made heartbeat %d, of the pass at %s\n", v.Host, v.Own.Sequence, v.Own.LastPass().Format(time.RFC3339))
		}
		fmt.Fprintf(out, "looked at %s: %s\n", count(len(v.Peers), "other host"), v.LookedAt)
	}
	if len(v.Peers) > 0 {
		fmt.Fprintln(out)
		var text strings.Builder
		table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, r := range v.Peers {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", cli.Printable(r.Host), r.word(), r.last(), r.gates())
		}
		if err := table.Flush(); err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		for i, r := range v.Peers {
			line := strings.TrimRight(lines[i], " ")
			if r.Finding != "" {
				line = strings.Replace(line, string(r.Finding), paint(r.Finding.Code(), string(r.Finding)), 1)
			}
			fmt.Fprintln(out, line)
			printPeerFindings(out, r.Findings)
		}
	}
	if len(v.Findings) > 0 {
		fmt.Fprintln(out)
		for _, f := range v.Findings {
			subject := "exchange"
			if f.Gate != "" {
				subject = "gate " + cli.Printable(f.Gate)
			}
			fmt.Fprintf(out, "%s  %s\n", subject, paint(f.Kind.Code(), string(f.Kind)))
			printPeerFindings(out, []peerFinding{f})
		}
	}
	if len(v.Strange) > 0 {
		var names []string
		for _, name := range v.Strange {
			names = append(names, cli.Printable(name))
		}
		fmt.Fprintf(out, "\nnot in peers.hosts, and so not watched: %s\n", strings.Join(names, ", "))
	}
	if v.Ping != nil {
		printPing(out, v.Ping)
	}
	if s.config.Peers != nil && !v.Fresh && len(v.Peers) > 0 {
		fmt.Fprintf(out, "\nwhat was seen last is too old to tell; look anew with: %s beat\n", s.warden.Program)
	}
	return nil
}

func printPeerFindings(out io.Writer, findings []peerFinding) {
	for _, f := range findings {
		fmt.Fprintf(out, "  %s: %s (for %v)\n", f.Kind, cli.Line(f.Reason), inWords((time.Duration(f.For) * time.Second).Round(time.Minute)))
		if f.Next != "" {
			fmt.Fprintf(out, "  → %s\n", cli.Line(f.Next))
		}
	}
}

func printPing(out io.Writer, p *pingRow) {
	switch {
	case p.Error != "":
		fmt.Fprintf(out, "\nping  warning: %s; since %s\n", cli.Line(p.Error), p.Failing.Format(time.RFC3339))
	case p.At.IsZero():
		fmt.Fprintf(out, "\nping  not asked for yet; it is after a completed pass\n")
	default:
		fmt.Fprintf(out, "\nping  answered at %s\n", p.At.Format(time.RFC3339))
	}
}

func (r *peerRow) word() string {
	switch {
	case r.Finding != "":
		return string(r.Finding)
	case r.Left > 0:
		return "maintenance"
	case r.Heartbeat == 0:
		return "not seen yet"
	default:
		return "well"
	}
}

func (r *peerRow) last() string {
	if r.Heartbeat == 0 {
		return "-"
	}
	text := fmt.Sprintf("heartbeat %d, %v ago", r.Heartbeat, inWords(r.quiet.Round(time.Minute)))
	if r.Left > 0 {
		text += fmt.Sprintf("; %s, %v left", cli.Line(r.Maintenance), inWords((time.Duration(r.Left) * time.Second).Round(time.Minute)))
	}
	return text
}

// gates are the worst of the host's gates in a few words.
func (r *peerRow) gates() string {
	var parts []string
	for i, g := range r.Gates {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more", len(r.Gates)-i))
			break
		}
		parts = append(parts, cli.Printable(g.Name)+" "+g.Result)
	}
	return strings.Join(parts, ", ")
}
