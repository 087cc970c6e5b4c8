package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/gate/policy"
	"gatehouse/gate/rules"
	"gatehouse/gate/spec"
	"gatehouse/manifest"
)

// The files of a policy directory that decide.
const (
	policyFile = "gate.yaml"
	specsDir   = "specs/"
)

// rulesFiles are read unchanged, in this order.
var rulesFiles = [...]string{"rules.yaml", "AGENTLTL.yaml"}

// maxPolicyFile bounds one file of a policy.
const maxPolicyFile = 1 << 20

// content is what a policy says, in the form that judges.
type content struct {
	has    bool   // there is a policy at all
	name   string // of the live root that it was accepted from
	policy *policy.Policy
	packs  *spec.Packs
	specs  []string // compiled specs of its own, each on top of those before
	rules  *rules.Set
	files  []policyBytes
	tree   string // digest of the files, where nobody else has one

	withheld []policy.Problem // what deny entries offer and rules refuse
}

// policyBytes is one of the files that a policy was made of.
type policyBytes struct {
	name   string // relative to the policy directory
	sha256 string
	data   []byte // nil where it was read from the compiled form
}

// decides reports whether a file of a policy directory is one of those that decide.
func decides(name string) bool {
	if name == policyFile || slices.Contains(rulesFiles[:], name) {
		return true
	}
	rest, ok := strings.CutPrefix(name, specsDir)
	return ok && !strings.Contains(rest, "/") && strings.HasSuffix(rest, ".yaml") && rest[0] != '.'
}

// readPolicy reads a policy that a user wrote: a directory, or its gate.yaml alone.
func readPolicy(dir string) (content, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return content{}, err
	}
	if !info.IsDir() {
		data, err := readWhole(dir)
		if err != nil {
			return content{}, err
		}
		return parse([]policyBytes{{name: policyFile, data: data}}, func(string) string { return dir })
	}
	names := append([]string{policyFile}, rulesFiles[:]...)
	specs, more, err := machine{}.List(filepath.Join(dir, specsDir), maxSpecs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return content{}, err
	}
	if more {
		return content{}, fmt.Errorf("%s holds more than %d files", filepath.Join(dir, specsDir), maxSpecs)
	}
	for _, s := range specs {
		if name := specsDir + s.Name(); decides(name) {
			names = append(names, name)
		}
	}
	var files []policyBytes
	for _, name := range names {
		data, err := readWhole(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && name != policyFile {
			continue
		}
		if err != nil {
			return content{}, err
		}
		files = append(files, policyBytes{name: name, data: data})
	}
	return parse(files, func(name string) string { return filepath.Join(dir, name) })
}

const maxSpecs = 1000

func readWhole(path string) ([]byte, error) {
	data, err := readRegular(path, maxPolicyFile+1)
	if err == nil && len(data) > maxPolicyFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxPolicyFile)
	}
	return data, err
}

// parse makes a policy of its files. shown is how a file is called in problems. The error lists the problems of all files.
func parse(files []policyBytes, shown func(name string) string) (content, error) {
	slices.SortFunc(files, func(a, b policyBytes) int { return strings.Compare(a.name, b.name) })
	c := content{has: true, packs: spec.Bundled()}
	var own []spec.File
	var orders []rules.File
	var tree sums
	tree.add("gatehouse/policy/v1")
	var gate *policyBytes
	for i := range files {
		f := &files[i]
		sum := sha256.Sum256(f.data)
		f.sha256 = hex.EncodeToString(sum[:])
		tree.add(f.name, f.sha256)
		switch name := shown(f.name); {
		case f.name == policyFile:
			gate = f
		case strings.HasPrefix(f.name, specsDir):
			own = append(own, spec.File{Name: name, Data: f.data})
		default:
			orders = append(orders, rules.File{Name: name, Data: f.data})
		}
	}
	c.files, c.tree = files, tree.digest()
	if gate == nil {
		return c, fmt.Errorf("%s: %w", shown(policyFile), fs.ErrNotExist)
	}
	var errs []error
	fail := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	layer := func(compiled []byte, err error) {
		fail(err)
		if err != nil || len(compiled) == 0 {
			return
		}
		packs, err := c.packs.With(string(compiled))
		fail(err)
		if err == nil {
			c.packs, c.specs = packs, append(c.specs, string(compiled))
		}
	}
	if len(own) > 0 {
		layer(spec.Compile(own, c.packs))
	}
	layer(rules.Tools(orders, c.packs))
	var err error
	c.policy, err = policy.Parse(shown(policyFile), gate.data, c.packs)
	fail(err)
	c.rules, err = rules.Parse(orders, rules.ParseOptions{})
	fail(err)
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	err = c.fixes()
	return c, err
}

// readAccepted reads the policy in a generation that root wrote: its compiled form, or where that is of another version
// of this program the files themselves.
func readAccepted(dir string, limits manifest.Limits) (content, error) {
	data, err := readTrusted(filepath.Join(dir, "compiled"))
	if err == nil {
		c, err := decode(data)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errVersion) {
			return content{}, fmt.Errorf("read %s: %w", filepath.Join(dir, "compiled"), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return content{}, err
	}
	stored, err := manifest.OpenGeneration(dir, limits)
	if err != nil {
		return content{}, err
	}
	defer stored.Close()
	var paths []string
	for _, e := range stored.Generation.Entries {
		if e.Type == manifest.File {
			paths = append(paths, e.Path)
		}
	}
	return gather(paths, stored.Open)
}

// gather makes a policy of the files of a generation. One without a gate.yaml has no policy.
func gather(paths []string, open func(path string) (io.ReadCloser, error)) (content, error) {
	name := ""
	for _, p := range paths {
		root, file, _ := strings.Cut(p, "/")
		if file != policyFile {
			continue
		}
		if name != "" {
			return content{}, fmt.Errorf("%s and %s/%s: two policies in one gate; keep one of them", p, name, policyFile)
		}
		name = root
	}
	if name == "" {
		return content{}, nil
	}
	var files []policyBytes
	for _, p := range paths {
		root, file, _ := strings.Cut(p, "/")
		if root != name || !decides(file) {
			continue
		}
		data, err := readFrom(p, open)
		if err != nil {
			return content{}, err
		}
		files = append(files, policyBytes{name: file, data: data})
	}
	c, err := parse(files, func(file string) string { return path.Join(name, file) })
	c.name = name
	return c, err
}

func readFrom(p string, open func(path string) (io.ReadCloser, error)) ([]byte, error) {
	f, err := open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPolicyFile+1))
	if err == nil && len(data) > maxPolicyFile {
		err = errors.New("is larger than a policy may be")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return data, nil
}
