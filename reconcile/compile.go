package reconcile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gatehouse/manifest"
)

// compiledName is the file in an accepted generation with the policy as the gate reads it fast.
const compiledName = "compiled"

// A PolicyError says why a policy does not compile: the gate could not read it, and would refuse every call.
type PolicyError struct {
	Gate     string
	Problems []string // each of one line, with file and line number where it has a place
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("the policy of gate %s does not compile:\n%s", e.Gate, strings.Join(e.Problems, "\n"))
}

// compile stores the policy of the generation in dir in its fast form beside the files, readable for the gate's user. A
// policy that does not compile is a *PolicyError.
func (w *Warden) compile(g Gate, dir string) error {
	if w.Compile == nil {
		return nil
	}
	stored, err := manifest.OpenGeneration(dir, g.Source.Limits)
	if err != nil {
		return err
	}
	defer stored.Close()
	compiled, err := w.compiled(stored)
	if err != nil {
		return &PolicyError{g.Name, strings.Split(strings.TrimSpace(err.Error()), "\n")}
	}
	path := filepath.Join(dir, compiledName)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, compiled) {
		return nil
	}
	// The group before the name: there may be somebody who reads it.
	unnamed := path + ".new"
	if err := w.Disk.WriteFile(unnamed, compiled, 0o640); err != nil {
		return err
	}
	if g.GroupID >= 0 {
		if err := w.Disk.Do("chown", unnamed, func() error { return os.Chown(unnamed, -1, g.GroupID) }); err != nil {
			return err
		}
	}
	return w.Disk.Rename(unnamed, path)
}

// compiled calls the compiler. A panic of it is a refusal like any other: the files are a suspect's until they are
// accepted, and later ones of a release that reads them anew.
func (w *Warden) compiled(stored *manifest.StoredGeneration) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("the compiler failed: %v", p)
		}
	}()
	var paths []string
	for i := range stored.Generation.Entries {
		if e := &stored.Generation.Entries[i]; e.Type == manifest.File {
			paths = append(paths, e.Path)
		}
	}
	return w.Compile(paths, stored.Open)
}

// recompile brings the fast form of the accepted policy up to date: an upgrade of the programs may have changed it, and
// an older release may have written none. It returns why the policy does not compile; err is for all else.
func (w *Warden) recompile(g Gate) (broken, err error) {
	target, err := os.Readlink(w.acceptedLink(g.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the accepted copy: %w", err)
	}
	err = w.compile(g, filepath.Join(filepath.Dir(w.acceptedLink(g.Name)), target))
	if policy := new(PolicyError); errors.As(err, &policy) {
		return policy, nil
	}
	return nil, err
}

// CheckPolicy reports whether a policy is accepted for g, and why it does not compile. It changes nothing.
func (w *Warden) CheckPolicy(g Gate) (accepted bool, err error) {
	stored, err := w.accepted(g)
	if err != nil || stored == nil {
		return false, err
	}
	defer stored.Close()
	if w.Compile == nil {
		return true, nil
	}
	_, err = w.compiled(stored)
	return true, err
}

// brokenPolicy is the finding that the accepted policy does not compile.
func brokenPolicy(err error) Finding {
	f := Finding{Result: BrokenPolicy, Reason: "the accepted policy does not compile, so the gate refuses every call; " +
		"mend it, and have it accepted or deployed"}
	policy := new(PolicyError)
	if !errors.As(err, &policy) {
		return f
	}
	for _, problem := range policy.Problems {
		f.Items = append(f.Items, Item{ID: "policy/" + problem, Text: problem})
	}
	return f
}
