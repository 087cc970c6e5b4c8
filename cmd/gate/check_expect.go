package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"gatehouse/gate"
	"gatehouse/internal/cli"
	"gatehouse/internal/spelling"
)

// An expectation is one line of a file for --expect.
type expectation struct {
	at     string // FILE:LINE
	action gate.Action
	line   string
}

// parseExpectations reads "allow: LINE", "ask: LINE" and "deny: LINE"; it names everything that is none of them.
func parseExpectations(name string, data []byte) (list []expectation, err error) {
	var errs []error
	number := 0
	for text := range strings.Lines(string(data)) {
		number++
		text = strings.TrimRight(text, "\r\n")
		if skipped(text) {
			continue
		}
		at := fmt.Sprintf("%s:%d", name, number)
		word, line, found := strings.Cut(text, ":")
		e := expectation{at: at, line: strings.TrimSpace(line)}
		switch word := strings.ToLower(strings.TrimSpace(word)); {
		case !found:
			errs = append(errs, fmt.Errorf("%s: %q is no expectation; write \"allow: LINE\", \"ask: LINE\" or \"deny: LINE\"", at, shorten(text, 60)))
			continue
		case word == "allow":
			e.action = gate.Allow
		case word == "ask":
			e.action = gate.Ask
		case word == "deny":
			e.action = gate.Deny
		default:
			hint := "use allow, ask or deny"
			if nearest := spelling.Nearest(word, []string{"allow", "ask", "deny"}); nearest != "" {
				hint = "did you mean " + nearest + "?"
			}
			errs = append(errs, fmt.Errorf("%s: %q is no answer; %s", at, shorten(word, 40), hint))
			continue
		}
		if e.line == "" {
			errs = append(errs, fmt.Errorf("%s: %q has no line behind it", at, word))
			continue
		}
		list = append(list, e)
	}
	return list, errors.Join(errs...)
}

type expectJSON struct {
	Schema string           `json:"schema"`
	Policy policyIs         `json:"policy"`
	Passed int              `json:"passed"`
	Failed int              `json:"failed"`
	Lines  []expectedAnswer `json:"lines"`
}

type expectedAnswer struct {
	At       string      `json:"at"`
	Expected gate.Action `json:"expected"`
	Pass     bool        `json:"pass"`
	checkedJSON
}

// expect judges the lines of the files and shows what differs.
func (c *checker) expect(ctx context.Context) error {
	var all []expectation
	var errs []error
	for _, name := range c.opts.expect {
		data, err := c.readExpectations(name)
		if err == nil {
			var list []expectation
			list, err = parseExpectations(name, data)
			all = append(all, list...)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s expects nothing: write lines like \"deny: git push --force\"", strings.Join(c.opts.expect, ", "))
	}
	doc := expectJSON{Schema: "gatehouse/expect/v1", Policy: policyJSON(c.gate.Provenance()), Lines: []expectedAnswer{}}
	for _, e := range all {
		r, d, err := c.judge(ctx, gate.Request{Line: e.line})
		if err != nil {
			return err
		}
		// In a policy that observes, the test is of what it says.
		says := d.Action
		if d.Observed {
			says = d.Would
		}
		answer := expectedAnswer{e.at, e.action, says == e.action, checkedAll(r, d)}
		doc.Lines = append(doc.Lines, answer)
		if answer.Pass {
			doc.Passed++
		} else {
			doc.Failed++
			c.code = cli.No
			if !c.opts.json {
				c.printDifference(e, says, d)
			}
		}
		if c.opts.explain && !c.opts.json {
			c.print(r, d)
			c.explain(r, d)
		}
	}
	if c.gate.Problem() != nil {
		c.code = cli.Unknown
	}
	if c.opts.json {
		return cli.PrintJSON(c.out, doc)
	}
	fmt.Fprintf(c.out, "%d of %d lines are answered as expected\n", doc.Passed, len(all))
	return nil
}

func (c *checker) readExpectations(name string) ([]byte, error) {
	if name != "-" {
		return readSmall(name)
	}
	data, err := io.ReadAll(io.LimitReader(c.g.streams.In, 2<<20))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return data, nil
}

func (c *checker) printDifference(e expectation, says gate.Action, d gate.Decision) {
	fmt.Fprintf(c.out, "FAIL   %s\n  %s expects %s, the policy says %s\n",
		cli.Line(e.line), cli.Line(e.at), strings.ToUpper(e.action.String()), c.verdict(says))
	for _, reason := range d.Reasons {
		c.printReason(reason, e.line)
	}
}
