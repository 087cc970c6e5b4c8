package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/gate/policy"
	"gatehouse/gate/spec"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/internal/spelling"
	defaultgate "gatehouse/vendor-gate/default"
)

type initOptions struct {
	policy  string
	project string
	print   bool
	dryRun  bool
	json    bool
	noFlags bool
}

func newInitCommand(g *globals) *cobra.Command {
	var opts initOptions
	cmd := &cobra.Command{
		Use:   "init [PRESET...]",
		Short: "Write a policy for this project and this machine",
		Long: `Write gate.yaml and rules.yaml into the policy directory (--policy, then $GATEHOUSE_POLICY, then ~/.config/gatehouse), with
comments that say why each entry is there. Files that are there already are never overwritten.

Without a PRESET the project around the present directory is looked at: go.mod, package.json with its scripts,
pyproject.toml, Cargo.toml, Makefiles with their targets, Dockerfiles, Terraform and more, in its own directory and those
right below. Nothing in it is run. Entries for programs that are not on this machine are written as comments. Then the
programs that the policy allows are asked for their flags (gate flags), so that checks know them.

Presets, of which several may be named:
  go node python rust make   that kind of project, whether its files are there or not
  ops                        an agent that looks after hosts: it reads services, logs and clusters, and changes nothing
  strict                     what no entry covers is refused and not asked about; no network; redirections into build/ only
  observe                    for two weeks everything passes, and the log says what would have been refused
  default                    the policy that ships with Gatehouse, byte for byte; alone

On a host with a warden root's accepted copy stays in force until a person accepts the new files.`,
		Example: `  gate init
  gate init observe
  gate init strict go ops --print
  gate init --project ~/src/app --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			hooks := slices.ContainsFunc(cmd.Root().Commands(), func(c *cobra.Command) bool { return c.Name() == "hook" })
			return runInit(cmd.Context(), g, opts, args, hooks)
		},
	}
	set := cmd.Flags()
	set.StringVar(&opts.policy, "policy", "", "write into this policy `directory` ($GATEHOUSE_POLICY)")
	set.StringVar(&opts.project, "project", "", "look at the project around this `directory` (the present one)")
	set.BoolVar(&opts.print, "print", false, "print the files and write nothing")
	set.BoolVar(&opts.dryRun, "dry-run", false, "say what would be written, and write nothing")
	set.BoolVar(&opts.json, "json", false, "print what was done as JSON")
	set.BoolVar(&opts.noFlags, "no-flags", false, "do not ask the programs for their flags")
	return cmd
}

// An initResult is what gate init did.
type initResult struct {
	Schema  string       `json:"schema"`
	Policy  string       `json:"policy"`
	Project string       `json:"project,omitempty"`
	Presets []string     `json:"presets"`
	Found   []string     `json:"found"`
	Files   []string     `json:"files"`
	Written bool         `json:"written"`
	Allow   int          `json:"allow"`
	LeftOut int          `json:"left_out"`
	Flags   *harvestJSON `json:"flags,omitempty"`
}

// A policyFile is one file to write.
type policyFile struct {
	name string
	data []byte
}

func runInit(ctx context.Context, g *globals, opts initOptions, presets []string, hooks bool) error {
	if err := checkPresets(presets); err != nil {
		return err
	}
	dir, err := g.policyDir(opts.policy)
	if err != nil {
		return err
	}
	result := initResult{Schema: "gatehouse/init/v1", Policy: dir, Presets: append([]string{}, presets...), Found: []string{}}
	var files []policyFile
	if slices.Contains(presets, "default") {
		files, err = defaultFiles()
	} else {
		files, err = g.draftFiles(opts.project, presets, &result)
	}
	if err != nil {
		return err
	}
	p, err := policy.Parse(filepath.Join(dir, "gate.yaml"), files[0].data, spec.Bundled())
	if err != nil {
		return fmt.Errorf("the policy that was made is not in order: %w", err)
	}
	result.Allow = len(p.Allow)
	for _, file := range files {
		result.Files = append(result.Files, filepath.Join(dir, file.name))
	}
	if opts.print {
		for i, file := range files {
			if i > 0 {
				fmt.Fprintln(g.streams.Out)
			}
			fmt.Fprintf(g.streams.Out, "# --- %s\n%s", file.name, file.data)
		}
		return nil
	}
	if err := absent(dir, result.Files); err != nil {
		return err
	}
	if !opts.dryRun {
		if err := writePolicy(dir, files); err != nil {
			return err
		}
		result.Written = true
		if !opts.json {
			g.printInit(result)
		}
		if !opts.noFlags {
			result.Flags = g.harvest(ctx, p, opts.policy)
		}
	} else if !opts.json {
		g.printInit(result)
	}
	if opts.json {
		return cli.PrintJSON(g.streams.Out, result)
	}
	if own, err := g.policyDir(""); err == nil && own == dir {
		opts.policy = ""
	}
	g.printNext(result, opts.policy, hooks)
	return ctx.Err()
}

func checkPresets(presets []string) error {
	known := []string{"default", "strict", "observe", "ops"}
	for _, k := range kinds()[:5] {
		known = append(known, k.name)
	}
	for _, name := range presets {
		if !slices.Contains(known, name) {
			hint := "there are " + strings.Join(known, ", ")
			if nearest := spelling.Nearest(name, known); nearest != "" {
				hint = "did you mean " + nearest + "?"
			}
			return fmt.Errorf("no preset %q; %s", name, hint)
		}
	}
	if len(presets) > 1 && slices.Contains(presets, "default") {
		return errors.New("the preset default is a policy of its own: it goes with no other")
	}
	return nil
}

// policyDir is the directory that a new policy goes to.
func (g *globals) policyDir(policy string) (string, error) {
	if policy == "" {
		policy = g.streams.Getenv("GATEHOUSE_POLICY")
	}
	if home := g.streams.Getenv("HOME"); policy == "" && filepath.IsAbs(home) {
		policy = filepath.Join(home, ".config/gatehouse")
	}
	if policy == "" {
		return "", errors.New("there is no $HOME to write a policy into: name the directory with --policy")
	}
	return filepath.Abs(policy)
}

func defaultFiles() (files []policyFile, err error) {
	for _, name := range []string{"gate.yaml", "rules.yaml", "tools.json"} {
		data, err := fs.ReadFile(defaultgate.Files(), "policy/"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, policyFile{name, data})
	}
	return files, nil
}

// draftFiles makes a policy for the project around dir.
func (g *globals) draftFiles(dir string, presets []string, result *initResult) ([]policyFile, error) {
	cwd, err := directory(dir)
	if err != nil {
		return nil, err
	}
	p, err := findProject(cwd)
	if err != nil {
		return nil, fmt.Errorf("look at the project: %w", err)
	}
	d := &draft{
		project: p, home: filepath.Clean(g.streams.Getenv("HOME")), presets: presets, now: time.Now(), missing: missingProgram(),
		strict: slices.Contains(presets, "strict"), observe: slices.Contains(presets, "observe"),
	}
	d.choose()
	gate, rules := d.gateYAML(), d.rulesYAML()
	result.Project, result.Found, result.LeftOut = p.dir, append(result.Found, d.found...), d.left
	return []policyFile{{"gate.yaml", []byte(gate)}, {"rules.yaml", []byte(rules)}}, nil
}

// choose picks the sections: what every policy has, what was found or named, and what a host needs.
func (d *draft) choose() {
	d.sections = []section{lookingSection(), changingSection(), gitSection(d.strict)}
	var named []string
	for _, preset := range d.presets {
		if preset != "strict" && preset != "observe" {
			named = append(named, preset)
		}
	}
	for _, k := range kinds() {
		files := d.project.find(k.files)
		if len(named) > 0 && !slices.Contains(named, k.name) || len(named) == 0 && len(files) == 0 {
			continue
		}
		s := k.section(d.project, files)
		where := "asked for"
		if len(files) > 0 {
			where = strings.Join(files[:min(3, len(files))], ", ")
			if more := len(files) - 3; more > 0 {
				where += fmt.Sprintf(" and %d more", more)
			}
		}
		d.found = append(d.found, fmt.Sprintf("%s (%s)", k.title, where))
		s.title = fmt.Sprintf("%s (%s). %s", k.title, where, s.title)
		d.sections = append(d.sections, s)
	}
	if slices.Contains(named, "ops") {
		d.sections = append(d.sections, hostSection())
		d.found = append(d.found, "the host (asked for)")
	}
	d.sections = append(d.sections, askingSection(), otherUsersSection())
	d.dropDoubles()
	for _, dir := range []string{".github/workflows", "migrations", "db/migrate", "alembic/versions"} {
		if d.project.hasDir(dir) {
			d.dirs = append(d.dirs, dir)
		}
	}
}

// dropDoubles leaves each entry where it stands first.
func (d *draft) dropDoubles() {
	seen := map[string]bool{}
	for i := range d.sections {
		d.sections[i].allow = slices.DeleteFunc(d.sections[i].allow, func(s suggestion) bool {
			double := seen[s.call]
			seen[s.call] = true
			return double
		})
	}
}

// missingProgram tells which programs are not on this machine. What is a part of the shell is always there, and so is
// what lies in the project.
func missingProgram() func(string) bool {
	known := map[string]bool{}
	for _, builtin := range []string{"cd", "pwd", "echo", "printf", "test", "true", "false", "read", "command", "type", "set", "export", "local", "unset", "wait",
		"exit", "return", "shift", ":"} {
		known[builtin] = false
	}
	return func(name string) bool {
		missing, ok := known[name]
		if !ok {
			_, err := exec.LookPath(name)
			missing = err != nil && !strings.Contains(name, "/")
			known[name] = missing
		}
		return missing
	}
}

// absent refuses to overwrite.
func absent(dir string, files []string) error {
	var there []string
	for _, file := range files {
		if _, err := os.Lstat(file); err == nil {
			there = append(there, filepath.Base(file))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(there) == 0 {
		return nil
	}
	return fmt.Errorf("%s already has %s; nothing was changed\n"+
		"One policy holds what all your projects need. To go on:\n"+
		"  gate init --print              what would be written for this project, to take entries from\n"+
		"  gate policy                    what is in force\n"+
		"  gate init --policy DIRECTORY   another policy, elsewhere; to start anew, move the files away", cli.Printable(dir), strings.Join(there, " and "))
}

func writePolicy(dir string, files []policyFile) error {
	disk := durable.Disk{}
	if err := disk.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range slices.Backward(files) { // gate.yaml last: with it the policy is in force
		if err := disk.WriteFile(filepath.Join(dir, file.name), file.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (g *globals) printInit(r initResult) {
	out := g.streams.Out
	verb := "wrote"
	if !r.Written {
		verb = "would write"
	}
	for _, file := range r.Files {
		fmt.Fprintf(out, "%s %s\n", verb, cli.Printable(file))
	}
	if r.Project != "" {
		fmt.Fprintf(out, "  for %s\n", cli.Printable(r.Project))
	}
	for _, found := range r.Found {
		fmt.Fprintf(out, "    %s\n", cli.Line(found))
	}
	fmt.Fprintf(out, "  %d commands are allowed", r.Allow)
	if r.LeftOut > 0 {
		fmt.Fprintf(out, "; %d more stand there as comments, with the reason", r.LeftOut)
	}
	fmt.Fprintln(out)
}

// printNext says what comes after.
// printNext says what follows; elsewhere is the directory that was asked for, "" for the one that decides.
func (g *globals) printNext(r initResult, elsewhere string, hooks bool) {
	out := g.streams.Out
	if r.Flags != nil {
		fmt.Fprintf(out, "  the flags of %d commands are known now\n", r.Flags.Known)
		if len(r.Flags.Without) > 0 {
			fmt.Fprintf(out, "  without help that could be read: %s\n", cli.Line(strings.Join(r.Flags.Without, ", ")))
		}
		for _, problem := range r.Flags.Problems {
			fmt.Fprintf(g.streams.Err, "gate: %s\n", cli.Line(problem))
		}
	}
	if index, err := config.ReadIndex(g.index); err == nil && elsewhere == "" {
		if gates := index.ForUID(uint32(os.Getuid())); len(gates) > 0 && gates[0].Decide != config.DecideLive {
			fmt.Fprintf(out, "\nRoot's accepted copy of gate %s stays in force: what was written here counts once it is published (gate publish)\nand a person accepts it (warden accept, as root).\n",
				cli.Line(gates[0].Gate))
		}
	}
	if elsewhere != "" {
		fmt.Fprintf(out, "\nIt decides where it is named, as in\n  gate check --policy %s \"git status\"\n", cli.Printable(elsewhere))
		return
	}
	fmt.Fprint(out, "\nnext\n  gate check \"git status\"    try a line\n  gate policy                see what is in force, and from which line\n  gate doctor                see what would keep the gate from working\n")
	if hooks {
		fmt.Fprint(out, "  gate hook install --all    let the agent clients ask it\n")
	}
}
