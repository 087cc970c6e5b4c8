package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gatehouse/gate/policy"
)

// fixes checks that what deny entries offer instead passes the policy as a whole: an offer that would be refused in its
// turn sends the agent round in circles. What depends on the machine, its files and its programs, is not asked here.
func (c *content) fixes() error {
	var errs []error
	for i := range c.policy.Deny {
		e := &c.policy.Deny[i]
		if e.Fix == "" {
			continue
		}
		p := *c.policy
		p.CheckFlags, p.Dynamic = policy.Off, policy.Allow
		p.Paths.Root, p.Paths.Roots, p.Paths.ReadsMustExist = policy.Absolute, []string{"/"}, false
		s := &source{content: *c}
		s.content.policy = &p
		g := &Gate{sources: []*source{s}, disk: nothing{}, home: "/home/somebody"}
		j := g.judge(context.Background(), s, &Request{Line: e.Fix, Cwd: "/home/somebody/project"})
		j.alone = true
		j.stages()
		for _, r := range j.reasons {
			if r.Action == Deny && r.Stage == StageRules {
				c.withheld = append(c.withheld, policy.Problem{At: e.At,
					Text: fmt.Sprintf("the fix %q is not offered, since the rule %s refuses it", e.Fix, r.Rule)})
				e.Fix = ""
				break
			}
			if r.Action == Deny {
				errs = append(errs, fmt.Errorf("%s: deny[%d].fix.run: %q would not pass: %s", e.At, i, e.Fix, r.Text))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// nothing is a disk with nothing on it.
type nothing struct{}

func (nothing) Lstat(path string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }
func (nothing) Readlink(path string) (string, error)   { return "", fs.ErrNotExist }
func (nothing) Straight(path string) bool              { return false }
func (nothing) List(dir string, max int) ([]fs.DirEntry, bool, error) {
	return nil, false, fs.ErrNotExist
}
