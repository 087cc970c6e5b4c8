package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate"
	"gatehouse/gate/call"
	"gatehouse/gate/policy"
	"gatehouse/internal/cli"
)

type policyOptions struct {
	policy string
	cwd    string
	lint   bool
	json   bool
}

func newPolicyCommand(g *globals) *cobra.Command {
	var opts policyOptions
	cmd := &cobra.Command{
		Use:   "policy [CALL...]",
		Short: "Show the policy in force, and from which line each setting comes",
		Long: `Show every setting that is in force, with its file and line or "default", and the remarks that there are about it. With a
CALL, as one line in quotes or as its words, say which entries cover it and which refuse it; whether it may run is decided
by more than that (gate check).

The policy is that of --policy, else what root's index says is in force for you, else $GATEHOUSE_POLICY, else
~/.config/gatehouse. --lint prints only the remarks, such as an entry that another one makes useless or that lets in any
program, and the exit code is 1 if there are any.`,
		Example: `  gate policy
  gate policy git push --force
  gate policy --lint --policy ./gate.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error { return runPolicy(cmd.Context(), g, opts, args) },
	}
	set := cmd.Flags()
	set.SetInterspersed(false)
	set.StringVar(&opts.policy, "policy", "", "show this policy `directory` or gate.yaml ($GATEHOUSE_POLICY)")
	set.StringVar(&opts.cwd, "cwd", "", "the `directory` in which the call would run (the present one)")
	set.BoolVar(&opts.lint, "lint", false, "print the remarks only")
	set.BoolVar(&opts.json, "json", false, "print the policy as JSON")
	return cmd
}

func runPolicy(ctx context.Context, g *globals, opts policyOptions, args []string) error {
	judge, err := g.open(opts.policy)
	if err != nil {
		return err
	}
	from := judge.Provenance()
	fmt.Fprintf(g.streams.Err, "gate: %s\n", cli.Line(provenance(from)))
	p := judge.Policy()
	if p == nil {
		return policyProblem(judge)
	}
	if len(args) > 0 {
		return g.policyOfCall(ctx, opts, judge, p, args)
	}
	remarks := append(p.Lint(), judge.Withheld()...)
	switch {
	case opts.json:
		err = cli.PrintJSON(g.streams.Out, policyDocument(from, p, remarks))
	case opts.lint && len(remarks) == 0:
		fmt.Fprintln(g.streams.Err, "gate: there is nothing to remark")
	case opts.lint:
		printRemarks(g.streams.Out, p, remarks)
	default:
		err = printPolicy(g.streams.Out, p, remarks)
	}
	if err == nil && opts.lint && len(remarks) > 0 {
		err = cli.Exit(cli.No)
	}
	return err
}

// policyProblem is why there is no policy to show.
func policyProblem(judge *gate.Gate) error {
	if err := judge.Problem(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.New("there is no policy: gate init writes one")
}

type policyDoc struct {
	Schema   string       `json:"schema"`
	Policy   policyIs     `json:"policy"`
	Settings []settingDoc `json:"settings"`
	Remarks  []remarkDoc  `json:"remarks"`
}

type settingDoc struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	At    string `json:"at,omitempty"` // FILE:LINE; none: it is the default
}

type remarkDoc struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

func policyDocument(from gate.Provenance, p *policy.Policy, remarks []policy.Problem) policyDoc {
	doc := policyDoc{Schema: "gatehouse/policy/v1", Policy: policyJSON(from), Settings: []settingDoc{}, Remarks: []remarkDoc{}}
	for _, key := range p.Lines() {
		setting := settingDoc{Name: key.Name, Value: key.Value}
		if key.Line > 0 {
			setting.At = fmt.Sprintf("%s:%d", p.File, key.Line)
		}
		doc.Settings = append(doc.Settings, setting)
	}
	for _, r := range remarks {
		doc.Remarks = append(doc.Remarks, remarkDoc(r))
	}
	return doc
}

// printPolicy lists the settings; the items of a list stand below its name.
func printPolicy(w io.Writer, p *policy.Policy, remarks []policy.Problem) error {
	out := bufio.NewWriter(w)
	list := ""
	for _, key := range p.Lines() {
		at := "default"
		if key.Line > 0 {
			at = fmt.Sprintf("%s:%d", filepath.Base(p.File), key.Line)
		}
		name, rest, item := strings.Cut(key.Name, "[")
		if item {
			if name != list {
				fmt.Fprintln(out, cli.Line(name))
			}
			_, sub, _ := strings.Cut(rest, "].")
			text := key.Value
			if sub != "" {
				text = "  " + sub + ": " + text
			}
			fmt.Fprintln(out, cli.Line(fmt.Sprintf("  %-40s  %s", text, at)))
		} else {
			fmt.Fprintln(out, cli.Line(fmt.Sprintf("%-42s  %s", fmt.Sprintf("%-22s %s", key.Name, key.Value), at)))
		}
		list = ""
		if item {
			list = name
		}
	}
	if len(remarks) > 0 {
		fmt.Fprintln(out, "\nremarks")
		printRemarks(out, p, remarks)
	}
	return out.Flush()
}

func printRemarks(out io.Writer, p *policy.Policy, remarks []policy.Problem) {
	dir := filepath.Dir(p.File) + "/"
	for _, r := range remarks {
		fmt.Fprintln(out, cli.Line(fmt.Sprintf("  %s: %s", strings.TrimPrefix(r.At, dir), strings.ReplaceAll(r.Text, dir, ""))))
	}
}

// A callCover is what the entries say of one call.
type callCover struct {
	Source string    `json:"source"`
	Allow  *entryDoc `json:"allow,omitempty"`
	Free   string    `json:"free,omitempty"` // why it needs no entry
	Why    string    `json:"why,omitempty"`  // why no entry covers it
	Deny   *entryDoc `json:"deny,omitempty"`
	Maybe  bool      `json:"maybe,omitempty"` // whether deny stands against it depends on what is known at run time only
}

type entryDoc struct {
	Text string `json:"text"`
	At   string `json:"at"`
	Why  string `json:"why,omitempty"`
	Fix  string `json:"fix,omitempty"`
}

// policyOfCall says what entries cover the calls of a line, or refuse them.
func (g *globals) policyOfCall(ctx context.Context, opts policyOptions, judge *gate.Gate, p *policy.Policy, args []string) error {
	cwd, err := directory(opts.cwd)
	if err != nil {
		return err
	}
	request := gate.Request{Argv: args, Cwd: cwd, Env: g.lookupEnv}
	if len(args) == 1 {
		request.Argv, request.Line = nil, args[0]
	}
	d := judge.Check(ctx, request)
	if len(d.Calls) == 0 {
		for _, r := range d.Reasons {
			return fmt.Errorf("%q: %s", shorten(requestText(request), 60), r.Text)
		}
		return fmt.Errorf("%q calls nothing", requestText(request))
	}
	covers := coversOf(p, d.Calls, g.host())
	if request.Argv != nil {
		covers[0].Source = quoteWords(args)
	}
	refused := false
	for _, c := range covers {
		refused = refused || c.Deny != nil || c.Allow == nil && c.Free == ""
	}
	if opts.json {
		err = cli.PrintJSON(g.streams.Out, struct {
			Schema string      `json:"schema"`
			Policy policyIs    `json:"policy"`
			Calls  []callCover `json:"calls"`
		}{"gatehouse/policy-call/v1", policyJSON(judge.Provenance()), covers})
	} else {
		printCovers(g.streams.Out, covers, filepath.Dir(p.File)+"/")
	}
	if err == nil && refused {
		err = cli.Exit(cli.No)
	}
	return err
}

func coversOf(p *policy.Policy, calls []call.Call, h policy.Host) []callCover {
	covers := make([]callCover, len(calls))
	for i, cover := range p.Cover(calls, h) {
		c := &covers[i]
		c.Source, c.Free = calls[i].Meta.Source, cover.Free
		if cover.Entry != nil {
			c.Allow = &entryDoc{Text: cover.Entry.Text, At: cover.Entry.At}
		} else if cover.Free == "" {
			c.Why = cover.Why
		}
		if entry, match := p.Denied(&calls[i], h); match != policy.No {
			c.Deny, c.Maybe = &entryDoc{denyText(entry), entry.At, entry.Why, entry.Fix}, match == policy.Maybe
		}
	}
	return covers
}

// denyText is a deny entry in one line.
func denyText(e *policy.Entry) string {
	if len(e.Flags) == 0 {
		return e.Text
	}
	return e.Text + " " + strings.Join(e.Flags, "|")
}

// printCovers names places in the policy without its directory, which stands before all else.
func printCovers(w io.Writer, covers []callCover, dir string) {
	for _, c := range covers {
		fmt.Fprintln(w, cli.Line(shorten(c.Source, 120)))
		switch {
		case c.Allow != nil:
			fmt.Fprintln(w, cli.Line(fmt.Sprintf("  covered by   %s  (%s)", c.Allow.Text, strings.TrimPrefix(c.Allow.At, dir))))
		case c.Free != "":
			fmt.Fprintln(w, cli.Line("  needs no entry: "+c.Free))
		case c.Why != "":
			fmt.Fprintln(w, cli.Line("  not covered: "+strings.ReplaceAll(c.Why, dir, "")))
		default:
			fmt.Fprintln(w, "  not covered by any entry")
		}
		if c.Deny != nil {
			verb := "refused by   "
			if c.Maybe {
				verb = "perhaps refused, when it runs, by "
			}
			fmt.Fprintln(w, cli.Line(fmt.Sprintf("  %s%s  (%s)", verb, c.Deny.Text, strings.TrimPrefix(c.Deny.At, dir))))
			if c.Deny.Why != "" {
				fmt.Fprintln(w, cli.Line("    why: "+c.Deny.Why))
			}
			if c.Deny.Fix != "" {
				fmt.Fprintln(w, cli.Line("    instead: "+c.Deny.Fix))
			}
		}
	}
}

// host is what matching may ask about this machine.
func (g *globals) host() policy.Host {
	return policy.Host{Find: func(name string) string {
		path, err := exec.LookPath(name)
		if err != nil {
			return ""
		}
		if path, err = filepath.Abs(path); err != nil {
			return ""
		}
		return path
	}, Dashed: func(*call.Call, int) bool {
		return false // whether such a file is there is for gate check; here the entries are shown as they are written
	}}
}
