package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gatehouse/config"
	"gatehouse/gate/policy"
	"gatehouse/internal/cli"
)

type doctorOptions struct {
	policy string
	learn  bool
	json   bool
}

func newDoctorCommand(g *globals) *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what would keep the gate from working, and the way out",
		Long: `Look at everything that a decision needs: root's index, the policy with its lines, the programs that it allows and the PATH
that finds them, their flags, the state directory, the program itself, and whether the agent clients ask it. What is wrong
comes with the way out. Nothing is changed, but that --learn asks the allowed programs whose flags are not known yet for them.

Exit codes: 0 all is well, 1 something is wrong, 2 something could not be told.`,
		Example: `  gate doctor
  gate doctor --learn
  gate doctor --policy ./policy --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), g, opts) },
	}
	set := cmd.Flags()
	set.StringVar(&opts.policy, "policy", "", "look at this policy `directory` or gate.yaml ($GATEHOUSE_POLICY)")
	set.BoolVar(&opts.learn, "learn", false, "ask the allowed programs for the flags that are not known yet")
	set.BoolVar(&opts.json, "json", false, "print the findings as JSON")
	return cmd
}

func runDoctor(ctx context.Context, g *globals, opts doctorOptions) error {
	judge, err := g.open(opts.policy)
	if err != nil {
		return err
	}
	findings := []finding{g.indexFinding(), policyFinding(judge)}
	if p := judge.Policy(); p != nil {
		if opts.learn {
			g.harvest(ctx, p, g.flagsPolicy(opts.policy))
		}
		findings = append(findings, observeFinding(p), remarkFinding(p), rootFinding(p, judge.Home()))
		findings = append(findings, g.programFindings(p)...)
		findings = append(findings, g.flagsFinding(p, opts.policy))
	}
	findings = append(findings, g.pathFinding(), stateFinding(judge.StateDir()), g.selfFinding())
	findings = append(findings, g.hookFindings()...)
	findings = slices.DeleteFunc(findings, func(f finding) bool { return f.What == "" })
	return g.report("gatehouse/doctor/v1", findings, opts.json)
}

// flagsPolicy is the policy directory whose flags/ is used beside root's.
func (g *globals) flagsPolicy(policy string) string {
	if info, err := os.Stat(policy); err == nil && !info.IsDir() {
		return filepath.Dir(policy)
	}
	return policy
}

// indexFinding says whether root's index can be read.
func (g *globals) indexFinding() finding {
	f := finding{What: "index"}
	index, err := config.ReadIndex(g.index)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Text = none, "no warden on this host ("+g.index+" is not there): the live policy decides"
	case err != nil:
		f.State, f.Text = wrong, err.Error()
		f.Way = "every command is refused until root mends it: warden doctor"
	case len(index.ForUID(uint32(os.Getuid()))) == 0:
		f.State, f.Text = none, fmt.Sprintf("%s lists no gate of uid %d: the live policy decides", g.index, os.Getuid())
	default:
		f.State = ok
		var names []string
		for _, e := range index.ForUID(uint32(os.Getuid())) {
			names = append(names, fmt.Sprintf("%s (decide: %s)", e.Gate, e.Decide))
		}
		f.Text = "written " + index.WrittenAt.Local().Format(time.DateTime) + ", gates: " + strings.Join(names, ", ")
	}
	return f
}

func observeFinding(p *policy.Policy) finding {
	switch {
	case !p.Observe:
		return finding{}
	case p.Observes(time.Now()):
		return finding{What: "enforce", State: none, Text: "the policy only observes, until " + p.Until.Format(time.DateOnly) + ": everything passes",
			Way: "gate log shows what would have been refused"}
	default:
		return finding{What: "enforce", State: none, Text: "observe_until has passed: the policy enforces", Way: "write enforce: deny into gate.yaml"}
	}
}

func remarkFinding(p *policy.Policy) finding {
	remarks := p.Lint()
	if len(remarks) == 0 {
		return finding{}
	}
	return finding{What: "policy", State: none, Text: fmt.Sprintf("%d remarks about it", len(remarks)), Way: "gate policy --lint"}
}

// rootFinding says whether the present directory is one in which the policy lets anything happen.
func rootFinding(p *policy.Policy, home string) finding {
	f := finding{What: "project"}
	cwd, err := os.Getwd()
	if err != nil {
		f.Text = err.Error()
		return f
	}
	if p.Paths.Root != policy.Project {
		return finding{}
	}
	project, err := findProject(cwd)
	within := p.Paths.Within.Expand(policy.Place{Home: home})
	switch {
	case err != nil:
		f.Text = err.Error()
	case !project.git:
		f.State, f.Text = none, cwd+" has no .git in or above it: commands that touch files are refused here (paths.root: project)"
		f.Way = "work in a project, git init, or set paths.root"
	case within != "" && !below(project.dir, within):
		f.State, f.Text = none, project.dir+" does not lie below "+within+": commands that touch files are refused here (paths.within)"
		f.Way = "set paths.within to a directory above your projects"
	default:
		f.State, f.Text = ok, project.dir
	}
	return f
}

// pathFinding says whether PATH finds programs in places that anybody can change.
func (g *globals) pathFinding() finding {
	f := finding{What: "PATH", State: ok}
	seen := map[string]bool{}
	list := filepath.SplitList(g.streams.Getenv("PATH"))
	for _, dir := range list {
		switch info, err := os.Stat(dir); {
		case dir == "" || !filepath.IsAbs(dir):
			f.More = append(f.More, fmt.Sprintf("%q is no absolute path: what a name means depends on the working directory", dir))
		case seen[dir] || err != nil: // twice or not there: it changes nothing
		case info.Mode().Perm()&0o002 != 0:
			f.More = append(f.More, fmt.Sprintf("%s can be written by everybody (mode %04o)", cli.Printable(dir), info.Mode().Perm()))
		}
		seen[dir] = true
	}
	f.Text = fmt.Sprintf("%d directories", len(list))
	if len(f.More) > 0 {
		f.State, f.Text, f.Way = wrong, "programs can be put in the way of others", "take these out of PATH, or close them for others"
	}
	return f
}

// stateFinding says whether the log and the memory of rules can be kept.
func stateFinding(dir string) finding {
	f := finding{What: "state"}
	if dir == "" {
		f.Text = "there is no home directory to keep the log and the memory of rules in"
		return f
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Text = none, dir+" is not there yet: the first decision makes it"
	case err != nil:
		f.Text = err.Error()
	case !info.IsDir():
		f.State, f.Text, f.Way = wrong, dir+" is no directory", "move it away"
	case info.Mode().Perm()&0o077 != 0:
		f.State, f.Text = wrong, fmt.Sprintf("%s can be read by others (mode %04o)", dir, info.Mode().Perm())
		f.Way = "chmod 0700 " + cli.Printable(dir)
	default:
		f.State, f.Text = ok, dir
	}
	return f
}

// selfFinding says whether a hook that calls gate by its name would find this program.
func (g *globals) selfFinding() finding {
	self, err := os.Executable()
	if err != nil {
		return finding{What: "program", Text: err.Error()}
	}
	f := finding{What: "program", State: ok, Text: self + ", " + cli.Version()}
	found, err := program("gate")
	if err != nil {
		f.State, f.Way = none, "PATH does not find a gate: a hook has to name this one by its path"
		return f
	}
	real, _ := filepath.EvalSymlinks(found)
	if self, _ = filepath.EvalSymlinks(self); real != self {
		f.State, f.Way = none, "PATH finds another one, "+found
	}
	return f
}
