// Command proof runs the real agent clients against a model that is scripted, with the gate as their hook, and says for
// each of them whether a refused command ran, whether an allowed one did, and what happens where the gate fails.
//
// One case is one run of a client in a home directory of its own: the policy is written, "gate hook install" is run as a
// person would, the client is started with one prompt, the model asks for one shell command, and afterwards a file says
// whether the command ran. Clients reach no other machine for it: the model listens on loopback.
//
// The packages are installed by packaging/clients, which runs this. Nothing of it is part of the gate.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if code, done := private(); done {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var (
		dir   = flag.String("clients", "", "the `directory` that packaging/clients has installed the clients into")
		gate  = flag.String("gate", "", "the gate `program`")
		only  = flag.String("only", "", "these `clients` only, with commas between")
		cases = flag.String("cases", "", "these `cases` only, with commas between")
		keep  = flag.String("keep", "", "keep the homes of all runs below this `directory`")
		asObj = flag.Bool("json", false, "print each outcome as a JSON object")
	)
	flag.Parse()
	code, err := run(ctx, *dir, *gate, list(*only), list(*cases), *keep, *asObj)
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		code = 2
	}
	os.Exit(code)
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// An outcome is what one case came to.
type outcome struct {
	Client string `json:"client"`
	Case   string `json:"case"`
	Ran    bool   `json:"ran"`
	Want   string `json:"want"` // ran or not
	Good   bool   `json:"good"`
	Millis int64  `json:"ms"`
	Saw    string `json:"model_saw,omitempty"` // what the model was told of the call
	// Skipped says why the case could not be tried here.
	Skipped string `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

func run(ctx context.Context, dir, gate string, only, cases []string, keep string, asObj bool) (code int, err error) {
	if dir == "" || gate == "" {
		return 2, fmt.Errorf("--clients and --gate are needed")
	}
	if gate, err = filepath.Abs(gate); err != nil {
		return 2, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return 2, err
	}
	base := keep
	if base == "" {
		if base, err = os.MkdirTemp("", "gatehouse-proof-"); err != nil {
			return 2, err
		}
		defer os.RemoveAll(base)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return 2, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return 2, err
	}
	show := func(o outcome) error {
		switch {
		case o.Skipped != "":
			code = 2
		case !o.Good:
			code = max(code, 1)
		}
		if !asObj {
			fmt.Println(line(o))
			return nil
		}
		return json.NewEncoder(os.Stdout).Encode(o)
	}
	for _, c := range clients(dir) {
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		if _, err := os.Stat(c.argv[0]); err != nil {
			if err := show(outcome{Client: c.name, Case: "all", Skipped: "it is not installed: " + err.Error()}); err != nil {
				return 2, err
			}
			continue
		}
		for _, k := range allCases(c) {
			if len(cases) > 0 && !slices.Contains(cases, k.name) {
				continue
			}
			o := prove(ctx, c, k, gate, filepath.Join(base, c.name+"-"+k.name))
			if ctx.Err() != nil {
				return 2, ctx.Err()
			}
			if err := show(o); err != nil {
				return 2, err
			}
		}
	}
	return code, nil
}

func line(o outcome) string {
	word, ran := "ok   ", "did not run"
	if o.Skipped != "" {
		return fmt.Sprintf("skip   %-12s %-20s %s", o.Client, o.Case, o.Skipped)
	}
	if !o.Good {
		word = "WRONG"
	}
	if o.Ran {
		ran = "ran"
	}
	text := fmt.Sprintf("%s  %-12s %-20s %-12s %6d ms  %s", word, o.Client, o.Case, ran, o.Millis, short(o.Saw))
	if o.Error != "" {
		text += "  " + o.Error
	}
	return text
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 160 {
		return s[:160] + "…"
	}
	return s
}
