package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/gate"
	"gatehouse/internal/cli"
	"gatehouse/manifest"
)

// A state is how one thing stands. The zero state is that this could not be told.
type state string

const (
	unknown state = ""
	ok      state = "ok"
	wrong   state = "wrong"
	none    state = "none" // there is nothing of the kind, and that is no fault
)

// A finding is one answer of verify or doctor.
type finding struct {
	What  string   `json:"what"`
	State state    `json:"state"`
	Text  string   `json:"text"`
	More  []string `json:"more,omitempty"` // what it consists of
	Way   string   `json:"way_out,omitempty"`
}

func newVerifyCommand(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that the gate is accepted and asked, and its log whole",
		Long: `Answer four questions, each from the files themselves:

  policy    can the policy that is in force be read?
  accepted  are the live files those that a person accepted? (the live files are hashed, and the accepted copy is)
  hook      which agent clients are here, and which of them ask the gate?
  log       is the chain of hashes through the log of decisions whole?

A hook that is in a client's settings proves that the client was told to ask, not that it does: gate log shows when it
last did. What this user's files say is only as good as this user; root's side of it is warden status.

Exit codes: 0 all is well, 1 something is not, 2 something could not be told.`,
		Example: `  gate verify
  gate verify --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			return runVerify(ctx, g, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answers as JSON")
	return cmd
}

func runVerify(ctx context.Context, g *globals, asJSON bool) error {
	judge, err := g.open("")
	if err != nil {
		return err
	}
	findings := []finding{policyFinding(judge)}
	findings = append(findings, g.acceptedFindings(ctx)...)
	findings = append(findings, g.hookFindings()...)
	findings = append(findings, logFinding(ctx, judge.StateDir()))
	return g.report("gatehouse/verify/v1", findings, asJSON)
}

// report prints findings and makes the exit code of them.
func (g *globals) report(schema string, findings []finding, asJSON bool) error {
	if asJSON {
		type document struct {
			finding
			State string `json:"state"`
		}
		docs := []document{}
		for _, f := range findings {
			docs = append(docs, document{f, f.State.word()})
		}
		err := cli.PrintJSON(g.streams.Out, struct {
			Schema   string     `json:"schema"`
			Findings []document `json:"findings"`
		}{schema, docs})
		if err != nil {
			return err
		}
	} else {
		printFindings(g.streams.Out, findings, g.streams.Colour())
	}
	code := cli.Yes
	for _, f := range findings {
		switch f.State {
		case unknown:
			code = cli.Unknown
		case wrong:
			code = max(code, cli.No)
		}
	}
	return cli.Exit(code)
}

func (s state) word() string {
	if s == unknown {
		return "unknown"
	}
	return string(s)
}

func printFindings(w io.Writer, findings []finding, colour bool) {
	width := 0
	for _, f := range findings {
		width = max(width, len(f.What))
	}
	for _, f := range findings {
		word := fmt.Sprintf("%-7s", map[state]string{ok: "ok", wrong: "WRONG", none: "-", unknown: "UNKNOWN"}[f.State])
		if code := map[state]string{ok: "32", wrong: "31", unknown: "33"}[f.State]; colour && code != "" {
			word = "\x1b[" + code + "m" + word + "\x1b[0m"
		}
		text := strings.Split(strings.TrimRight(f.Text, "\n"), "\n")
		fmt.Fprintf(w, "%s  %-*s  %s\n", word, width, cli.Line(f.What), cli.Line(text[0]))
		indent := strings.Repeat(" ", 11+width)
		for _, line := range append(text[1:], f.More...) {
			fmt.Fprintf(w, "%s%s\n", indent, cli.Line(line))
		}
		if f.Way != "" {
			fmt.Fprintf(w, "%s→ %s\n", indent, cli.Line(f.Way))
		}
	}
}

// policyFinding says whether the policy in force can be read.
func policyFinding(judge *gate.Gate) finding {
	from := judge.Provenance()
	if err := judge.Problem(); err != nil {
		f := finding{What: "policy", State: wrong, Text: err.Error(), Way: "until a person mends it, every command is refused"}
		if from.Mode == gate.ModeNone && from.Gate == "" && from.Dir != "" {
			f.Way = "write one with gate init; until then every command is refused"
		}
		return f
	}
	return finding{What: "policy", State: ok, Text: strings.TrimPrefix(provenance(from), "policy ")}
}

// acceptedFindings compares the live files with root's accepted copy, gate by gate.
func (g *globals) acceptedFindings(ctx context.Context) []finding {
	index, err := config.ReadIndex(g.index)
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{{What: "accepted", State: none, Text: "there is no warden on this host, and so no accepted copy to compare with"}}
	}
	if err != nil {
		return []finding{{What: "accepted", State: unknown, Text: err.Error(), Way: "root's index has to be mended: warden doctor, as root"}}
	}
	gates := index.ForUID(uint32(os.Getuid()))
	if len(gates) == 0 {
		return []finding{{What: "accepted", State: none, Text: fmt.Sprintf("root's index lists no gate of uid %d", os.Getuid())}}
	}
	var findings []finding
	for _, e := range gates {
		findings = append(findings, acceptedFinding(ctx, e))
	}
	return findings
}

func acceptedFinding(ctx context.Context, e config.IndexGate) finding {
	f := finding{What: "accepted"}
	if e.Accepted == "" {
		f.State, f.Text = wrong, fmt.Sprintf("gate %s: nobody has accepted it yet", e.Gate)
		f.Way = "warden accept, as root, after a gate publish"
		return f
	}
	accepted, err := manifest.OpenGeneration(e.Accepted, e.Limits)
	if err != nil {
		f.Text = fmt.Sprintf("gate %s: read the accepted copy: %v", e.Gate, err)
		return f
	}
	defer accepted.Close()
	if err := accepted.Verify(ctx); err != nil {
		f.Text = fmt.Sprintf("gate %s: check the accepted copy: %v", e.Gate, err)
		return f
	}
	live, err := manifest.Scan(ctx, manifest.Source{Live: e.Live, Owner: uint32(os.Getuid()), Limits: e.Limits})
	if err != nil {
		f.Text = fmt.Sprintf("gate %s: hash the live files: %v", e.Gate, err)
		return f
	}
	changes := manifest.Diff(accepted.Generation.Entries, live.Entries)
	if len(changes) == 0 && len(live.Refused) == 0 {
		f.State = ok
		f.Text = fmt.Sprintf("gate %s: all %d live entries are as accepted, tree %.12s", e.Gate, len(live.Entries), accepted.Generation.Tree)
		return f
	}
	f.State = wrong
	f.Text = fmt.Sprintf("gate %s: the live files differ from what was accepted in %s", e.Gate, count(len(changes)+len(live.Refused), "place"))
	const most = 10
	for _, c := range changes {
		f.More = append(f.More, fmt.Sprintf("%s %s", c.Kind, cli.Printable(c.Path)))
	}
	for _, r := range live.Refused {
		f.More = append(f.More, fmt.Sprintf("refused %s: %s", cli.Printable(r.Path), r.Reason))
	}
	if more := len(f.More) - most; more > 0 {
		f.More = append(f.More[:most], fmt.Sprintf("and %d more", more))
	}
	f.Way = "gate restore puts the accepted files back; warden accept, as root, takes the new ones"
	return f
}
