package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
	"gatehouse/gate/spec"
	"gatehouse/internal/cli"
)

type translateOptions struct {
	jsonl, json bool
	policy      string
	ask         translation // what the flags say of every line
}

// A translation is a line with what is known of the place where it will run. It is also the form of --jsonl.
type translation struct {
	Line    string            `json:"line"`
	Cwd     string            `json:"cwd"`
	Root    string            `json:"root"`
	Strict  bool              `json:"strict"`
	Effects bool              `json:"effects"`
	Files   map[string]string `json:"files"` // contents of files that count as existing, by name in cwd
}

// translated is what came of it.
type translated struct {
	Line  string      `json:"line"`
	Calls []call.Call `json:"calls"`
	Error *refusal    `json:"error"`
}

type refusal struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Source  string `json:"source"`
}

func newTranslateCommand(g *globals) *cobra.Command {
	var opts translateOptions
	cmd := &cobra.Command{
		Use:   "translate [LINE... | -]",
		Short: "Show the calls that a shell line can make, without running it",
		Long: `Translate each shell line into the calls it can make, in the order in which it makes them: one JSON object a line, with
name, args, argv and meta. Each argument is a line of its own; without any, or with -, each line of standard input is.
A line that is not understood as a whole is refused, with the kind of the refusal and the way to rewrite it, and the exit
code is 1.

With --effects paths become absolute, redirections and paths that are not known become arguments (redirect_to,
overwrite_to, redirect_from, unknown_paths), and "effects" lists what is read, written, deleted, run or reached, and how
sure that is. What a call does in a container or on another host stands in its "elsewhere".

With --jsonl each line of standard input is an object {"line", "cwd", "root", "strict", "effects", "files"}, of which all
but line may be missing and other keys are not looked at, and each line of output is, in the same order,
{"line", "calls": [...], "error": null or {"kind", "message", "source"}}. "files" are contents of files that count as
existing, by their names in cwd. Refusals are results there, and do not change the exit code.

Commands of the policy's specs/*.yaml are known too: --policy, then $GATEHOUSE_POLICY, then ~/.config/gatehouse.`,
		Example: `  gate translate "sudo rm -rf build && make"
  gate translate --effects --cwd /srv/app "cp a.txt /tmp; echo x > log"
  gate translate --strict - < lines.txt
  echo '{"line": "rm f", "cwd": "/srv", "effects": true}' | gate translate --jsonl`,
		RunE: func(_ *cobra.Command, args []string) error { return runTranslate(g, opts, args) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.BoolVar(&opts.jsonl, "jsonl", false, "read objects from standard input, write one result a line")
	flags.BoolVar(&opts.json, "json", false, "print one JSON document with all lines")
	flags.BoolVar(&opts.ask.Strict, "strict", false, "refuse if, case, and loops that cannot be unrolled")
	flags.BoolVar(&opts.ask.Effects, "effects", false, "add what each call does, with absolute paths")
	flags.StringVar(&opts.ask.Cwd, "cwd", "", "the `directory` in which the line will run (the present one)")
	flags.StringVar(&opts.ask.Root, "root", "", "mark effects outside of this `directory`")
	flags.StringVar(&opts.policy, "policy", "", "take specs/*.yaml from this policy `directory` ($GATEHOUSE_POLICY)")
	return cmd
}

func runTranslate(g *globals, opts translateOptions, args []string) error {
	packs, err := g.packs(opts.policy)
	if err != nil {
		return err
	}
	if opts.ask.Cwd, err = directory(opts.ask.Cwd); err != nil {
		return err
	}
	if opts.ask.Root != "" {
		if opts.ask.Root, err = filepath.Abs(opts.ask.Root); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(g.streams.Out)
	defer out.Flush()
	if opts.jsonl {
		if len(args) > 0 || opts.json {
			return errors.New("--jsonl reads standard input: give it neither a line nor --json")
		}
		return g.translateObjects(out, packs, opts.ask)
	}
	lines := args
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		if len(args) == 0 && g.streams.Interactive() {
			return errors.New(`give a line, such as gate translate "git status | head", or - to read lines`)
		}
		if lines, err = readLines(g.streams.In); err != nil {
			return err
		}
	}
	if len(args) > 1 && !strings.ContainsAny(strings.Join(args, ""), " \t\n;|&") {
		fmt.Fprintf(g.streams.Err, "gate: each argument is a line of its own; for one line: gate translate %q\n", strings.Join(args, " "))
	}
	return g.translateLines(out, packs, opts, lines)
}

func (g *globals) translateLines(out *bufio.Writer, packs *spec.Packs, opts translateOptions, lines []string) error {
	all := []translated{}
	refused := false
	for _, line := range lines {
		ask := opts.ask
		ask.Line = line
		got := g.translate(packs, ask)
		refused = refused || got.Error != nil
		if opts.json {
			all = append(all, got)
			continue
		}
		if e := got.Error; e != nil {
			fmt.Fprintf(g.streams.Err, "gate: refused (%s): %s: %q\n", e.Kind, e.Message, e.Source)
		}
		for i := range got.Calls {
			if err := writeLine(out, got.Calls[i]); err != nil {
				return err
			}
		}
	}
	if opts.json {
		err := cli.PrintJSON(out, struct {
			Schema string       `json:"schema"`
			Lines  []translated `json:"lines"`
		}{"gatehouse/translate/v1", all})
		if err != nil {
			return err
		}
	}
	if refused {
		return cli.Exit(cli.No)
	}
	return out.Flush()
}

// translateObjects answers each object before it waits for the next one.
func (g *globals) translateObjects(out *bufio.Writer, packs *spec.Packs, defaults translation) error {
	in := bufio.NewReaderSize(g.streams.In, 1<<16)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("standard input: %w", err)
		}
		if len(text) > 0 && strings.TrimSpace(string(text)) != "" {
			ask := defaults
			if err := json.Unmarshal(text, &ask); err != nil {
				return errors.Join(out.Flush(), fmt.Errorf("standard input, line %d: %w", number, err))
			}
			for _, dir := range []string{ask.Cwd, ask.Root} {
				if dir != "" && !filepath.IsAbs(dir) {
					return errors.Join(out.Flush(), fmt.Errorf("standard input, line %d: %q is no absolute path", number, dir))
				}
			}
			if err := writeLine(out, g.translate(packs, ask)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return out.Flush()
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func (g *globals) translate(packs *spec.Packs, ask translation) translated {
	cwd, root := ask.Cwd, ask.Root
	if cwd != "" {
		cwd = filepath.Clean(cwd)
	}
	if root != "" {
		root = filepath.Clean(root)
	}
	calls, err := spec.Line(ask.Line, spec.Options{
		Shell:   shell.Options{Strict: ask.Strict, Dir: cwd, Home: g.streams.Getenv("HOME")},
		Packs:   packs,
		Effects: ask.Effects,
		Root:    root,
		ReadFile: func(path string) ([]byte, error) {
			for name, content := range ask.Files {
				if !filepath.IsAbs(name) {
					name = filepath.Join(cwd, name)
				}
				if filepath.Clean(name) == path {
					return []byte(content), nil
				}
			}
			return readSmall(path)
		},
	})
	got := translated{Line: ask.Line, Calls: calls}
	if got.Calls == nil {
		got.Calls = []call.Call{}
	}
	if refused := new(shell.Error); errors.As(err, &refused) {
		got.Error = &refusal{string(refused.Kind), refused.Message, refused.Source}
	} else if err != nil {
		got.Error = &refusal{"fault", err.Error(), ""}
	}
	return got
}

// writeLine writes v as one line of JSON in which <, > and & stay readable.
func writeLine(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func readLines(in io.Reader) ([]string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines, nil
}

// directory returns dir, or the present directory, as an absolute path.
func directory(dir string) (string, error) {
	if dir == "" {
		return os.Getwd()
	}
	return filepath.Abs(dir)
}
