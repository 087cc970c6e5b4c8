package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gatehouse/gate/spec"
	"gatehouse/internal/cli"
)

func newSpecsCommand(g *globals) *cobra.Command {
	var asJSON, asJSONL bool
	var policy string
	cmd := &cobra.Command{
		Use:   "specs [PATTERN]",
		Short: "List the calls that are known by name, and their arguments",
		Long: `List every call that has a spec: its name, and the command that makes it. With a PATTERN (as of a file name: git*), only
those whose name, command or program matches; where that leaves at most five, their arguments too. With --json the JSON
Schema of each call's arguments, in which "default" is what an argument is where nothing sets it and "x-effects" what is
done with its value.

Commands of the policy's specs/*.yaml are listed too: --policy, then $GATEHOUSE_POLICY, then ~/.config/gatehouse. Such a
file is a map from a program to its spec, and docs/specs.md has all keys:

  deployctl:
    options: [{flags: [-f, --plan], effect: read}, {flags: [--force], type: bool}]
    positionals: [{name: services, nargs: "+"}]`,
		Example: `  gate specs
  gate specs git_push          # with its arguments
  gate specs "docker*" --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			pattern := ""
			if len(args) > 0 {
				pattern = args[0]
			}
			return runSpecs(g, pattern, policy, asJSON, asJSONL)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON Schemas as one document")
	cmd.Flags().BoolVar(&asJSONL, "jsonl", false, "print one JSON Schema a line")
	cmd.Flags().StringVar(&policy, "policy", "", "take specs/*.yaml from this policy `directory` ($GATEHOUSE_POLICY)")
	return cmd
}

func runSpecs(g *globals, pattern, policy string, asJSON, asJSONL bool) error {
	packs, err := g.packs(policy)
	if err != nil {
		return err
	}
	schemas, err := packs.Schemas(pattern)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	if len(schemas) == 0 {
		return fmt.Errorf("no call matches %q: gate specs lists all, and a pattern may have * and ?", pattern)
	}
	out := bufio.NewWriter(g.streams.Out)
	defer out.Flush()
	switch {
	case asJSON:
		err := cli.PrintJSON(out, struct {
			Schema string        `json:"schema"`
			Specs  []spec.Schema `json:"specs"`
		}{"gatehouse/specs/v1", schemas})
		if err != nil {
			return err
		}
	case asJSONL:
		for _, s := range schemas {
			if err := writeLine(out, s); err != nil {
				return err
			}
		}
	default:
		printSpecs(out, schemas)
	}
	return out.Flush()
}

func printSpecs(out io.Writer, schemas []spec.Schema) {
	width := 0
	for _, s := range schemas {
		width = max(width, len(s.Name))
	}
	width = min(width, 40)
	for _, s := range schemas {
		fmt.Fprintf(out, "%-*s  %s\n", width, s.Name, s.Command)
		if len(schemas) > 5 {
			continue
		}
		fmt.Fprintf(out, "  %s\n", s.Description)
		for _, p := range s.Properties {
			fmt.Fprintf(out, "  %-24s %s\n", p.Name, describe(p))
		}
	}
}

// describe says in one line what an argument holds.
func describe(p spec.Property) string {
	parts := []string{p.Type}
	if p.Also != "" {
		parts[0] += " or " + p.Also
	}
	if p.Path {
		parts = append(parts, "path")
	}
	parts = append(parts, p.Effects...)
	text := strings.Join(parts, ", ")
	if len(p.Choices) > 0 {
		text += ": " + strings.Join(p.Choices, " ")
	}
	if p.Description != "" {
		text += "; " + p.Description
	}
	return text
}

// packs returns the specs in force: those of the program, and over them those of the policy.
func (g *globals) packs(policy string) (*spec.Packs, error) {
	packs := spec.Bundled()
	named := policy != ""
	if policy == "" {
		policy = g.streams.Getenv("GATEHOUSE_POLICY")
		named = policy != ""
	}
	if home := g.streams.Getenv("HOME"); policy == "" && home != "" {
		policy = filepath.Join(home, ".config/gatehouse")
	}
	if policy == "" {
		return packs, nil
	}
	if _, err := os.Stat(policy); named && err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(policy, "specs", "*.yaml"))
	if err != nil || len(names) == 0 {
		return packs, err
	}
	var files []spec.File
	for _, name := range names {
		data, err := readSmall(name)
		if err != nil {
			return nil, err
		}
		files = append(files, spec.File{Name: name, Data: data})
	}
	compiled, err := spec.Compile(files, packs)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(g.streams.Err, "gate: with the specs of %s\n", cli.Printable(policy))
	return packs.With(string(compiled))
}

// readSmall reads a regular file of at most two megabytes. It does not wait for anything.
func readSmall(name string) ([]byte, error) {
	const most = 2 << 20
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d bytes", most)}
	}
	return data, nil
}
