package gate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"gatehouse/gate/policy"
	"gatehouse/gate/rules"
	"gatehouse/gate/spec"
	"gatehouse/internal/wire"
)

// compiledMagic begins the compiled form; the number goes up with every change to it.
const compiledMagic = "gatehouse/compiled/v1\n"

// errVersion means that a compiled form is one of another version of this program.
var errVersion = errors.New("it is not of this version")

// Compile turns the files of an accepted generation into the form that Open reads fast. paths are those of all its files,
// each beginning with the name of its live root; the policy is the root that has a gate.yaml at its top. The error lists
// everything that is wrong, each problem with file and line. The same files give the same bytes.
func Compile(paths []string, open func(path string) (io.ReadCloser, error)) ([]byte, error) {
	c, err := gather(paths, open)
	if err != nil {
		return nil, err
	}
	if c.has && c.policy.Paths.Root == policy.Cwd {
		return nil, fmt.Errorf("%s/%s: paths.root: cwd is not for an accepted policy, since the agent chooses its working directory; "+
			"write project, or absolute paths", c.name, policyFile)
	}
	return c.encode(), nil
}

func (c *content) encode() []byte {
	var w wire.Writer
	w.Raw(compiledMagic)
	w.Text(spec.Edition())
	w.Bool(c.has)
	if !c.has {
		return w.Bytes()
	}
	w.Text(c.name)
	w.Uint(uint64(len(c.files)))
	for _, f := range c.files {
		w.Text(f.name)
		w.Text(f.sha256)
	}
	w.Texts(c.specs)
	c.policy.Append(&w)
	c.rules.Append(&w)
	return w.Bytes()
}

func decode(data string) (content, error) {
	if !strings.HasPrefix(data, compiledMagic) {
		return content{}, errVersion
	}
	r := wire.NewReader(data)
	r.Raw(compiledMagic)
	if r.Text() != spec.Edition() { // entries were taken apart by other specs
		return content{}, errVersion
	}
	c := content{has: r.Bool(), packs: spec.Bundled()}
	if !c.has {
		return c, r.Done()
	}
	c.name = r.Text()
	for range r.Len() {
		c.files = append(c.files, policyBytes{name: r.Text(), sha256: r.Text()})
	}
	var err error
	c.specs = r.Texts()
	for _, layer := range c.specs {
		if c.packs, err = c.packs.With(layer); err != nil {
			return content{}, err
		}
	}
	if c.policy, err = policy.Read(r); err != nil {
		return content{}, err
	}
	if c.rules, err = rules.Read(r); err != nil {
		return content{}, err
	}
	return c, r.Done()
}

// Commands lists, of a compiled policy, the programs and subcommands whose flags its check of flags needs: those of its
// allow entries. It is empty where nothing is checked against a program's help.
func Commands(compiled []byte) ([][]string, error) {
	c, err := decode(string(compiled))
	if err != nil || !c.has || c.policy.CheckFlags != policy.Help {
		return nil, err
	}
	return c.policy.Commands(), nil
}

// readTrusted reads a file that only root can have written.
func readTrusted(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	case !ok || st.Uid != 0 || info.Mode().Perm()&0o022 != 0:
		return "", fmt.Errorf("%s is not one that only root can write, and is not believed", path)
	}
	if info.Size() > maxCompiled {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxCompiled)
	}
	var text strings.Builder
	text.Grow(int(info.Size()) + 1)
	_, err = io.CopyBuffer(&text, io.LimitReader(f, maxCompiled), make([]byte, min(info.Size()+1, 8<<10)))
	return text.String(), err
}

const maxCompiled = 64 << 20
