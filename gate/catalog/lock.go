package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// lockSchema is the schema of tools.lock.
const lockSchema = "gatehouse/tools-lock/v1"

// A Lock is what tools.lock says: which bytes of tools.json were looked at, and which programs its tools mean.
type Lock struct {
	Schema    string            `json:"schema"`
	Catalogue string            `json:"catalogue"` // SHA-256 of tools.json
	Tools     map[string]frozen `json:"tools"`
}

// A frozen tool names its program as freezing found it. There are several digests where several hosts share a catalogue.
type frozen struct {
	Path   string   `json:"path"` // with all links followed
	SHA256 []string `json:"sha256"`
}

func (f *frozen) has(digest string) bool { return slices.Contains(f.SHA256, digest) }

// Freeze looks at the program of every tool. keep is the Lock that there was: its digests stay for programs that are still
// the same path, for hosts that have other builds of them; nil forgets them. The error lists every tool that cannot be
// frozen.
func (c *Catalogue) Freeze(keep *Lock) (*Lock, error) {
	l := &Lock{Schema: lockSchema, Catalogue: c.Digest, Tools: make(map[string]frozen)}
	seen := make(map[string]measured)
	var errs []error
	code := OK
	for i := range c.Tools {
		t := &c.Tools[i]
		m, ok := seen[t.Argv[0]]
		var err error
		if !ok {
			m, err = t.measureFirst()
			seen[t.Argv[0]] = m
		}
		if err != nil {
			if code == OK {
				code = CodeOf(err)
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; install it, or take the tool out of the catalogue", err)
			}
			errs = append(errs, fmt.Errorf("tool %s: %w", t.Name, err))
			continue
		}
		f := frozen{Path: m.real, SHA256: []string{m.sha256}}
		if keep != nil {
			if before, ok := keep.Tools[t.Name]; ok && before.Path == f.Path {
				for _, digest := range before.SHA256 {
					if !f.has(digest) {
						f.SHA256 = append(f.SHA256, digest)
					}
				}
			}
		}
		l.Tools[t.Name] = f
	}
	if len(errs) > 0 {
		return nil, &Error{Code: code, Err: errors.Join(errs...)}
	}
	return l, nil
}

// measureFirst is measure for a program that nobody has frozen: a copy of a shell is found by its bytes.
func (t *Tool) measureFirst() (measured, error) {
	if why := runsOthers(t.Argv[0]); why != "" {
		return measured{}, failed(Shell, "%s", why)
	}
	m, err := measure(t.Argv[0])
	if err != nil {
		return m, err
	}
	for _, shell := range knownShells {
		if other, err := measure(shell); err == nil && other.id.Size == m.id.Size && other.sha256 == m.sha256 {
			return m, failed(Shell, "%s is a copy of %s; a tool names the program itself", t.Argv[0], shell)
		}
	}
	return m, nil
}

// Marshal writes the file.
func (l *Lock) Marshal() ([]byte, error) {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", LockFile, err)
	}
	return append(data, '\n'), nil
}

// ParseLock reads a tools.lock.
func ParseLock(name string, data []byte) (*Lock, error) {
	bad := func(format string, args ...any) (*Lock, error) {
		return nil, failed(NotFrozen, "%s: "+format+"; a person can write it anew with: gate catalog freeze", append([]any{name}, args...)...)
	}
	if len(data) > maxFile {
		return bad("is larger than %d bytes", maxFile)
	}
	root, err := readJSON(data)
	if err != nil {
		return bad("%w", err)
	}
	p := &parser{}
	p.object(root, "", []string{"schema", "catalogue", "tools"}, nil)
	l := &Lock{Tools: make(map[string]frozen)}
	l.Schema, _ = p.text(root, "schema", "schema")
	l.Catalogue, _ = p.text(root, "catalogue", "catalogue")
	if tools := root.get("tools"); tools != nil {
		members, ok := tools.value.([]member)
		if !ok {
			p.bad(tools, "tools", NotFrozen, "is %s and has to be an object", tools.kind())
		}
		for _, m := range members {
			p.object(m.node, "tools."+m.name, []string{"path", "sha256"}, nil)
			f := frozen{}
			f.Path, _ = p.text(m.node, "path", "tools."+m.name+".path")
			f.SHA256 = p.texts(m.node, "sha256", "tools."+m.name+".sha256")
			for _, digest := range f.SHA256 {
				if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
					p.bad(m.node, "tools."+m.name+".sha256", NotFrozen, "%q is no SHA-256", digest)
				}
			}
			l.Tools[m.name] = f
		}
	}
	if len(p.problems) > 0 {
		first := p.problems[0]
		return bad("line %d: %s%s", first.Line, first.Key, first.Text)
	}
	if l.Schema != lockSchema {
		return bad("schema: %q is not %s", l.Schema, lockSchema)
	}
	return l, nil
}

// lock ties a catalogue to its Lock.
func (c *Catalogue) lock(l *Lock) error {
	if l.Catalogue != c.Digest {
		return failed(CatalogueChanged, "%s is not the one that was frozen (SHA-256 %.12s…, frozen %.12s…); a person can look at it and run: "+
			"gate catalog freeze", File, c.Digest, l.Catalogue)
	}
	for i := range c.Tools {
		f, ok := l.Tools[c.Tools[i].Name]
		if !ok || len(f.SHA256) == 0 || f.Path == "" {
			return failed(NotFrozen, "%s does not have the tool %s; a person can write it anew with: gate catalog freeze", LockFile, c.Tools[i].Name)
		}
		c.Tools[i].frozen = &f
	}
	return nil
}

// CheckLock holds a catalogue and the programs on this machine against a tools.lock. The error joins what is wrong.
func (c *Catalogue) CheckLock(name string) error {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(failed(NotFrozen, "there is no %s; a person can write it with: gate catalog freeze", name), c.programs())
	}
	if err != nil {
		return err
	}
	l, err := ParseLock(name, data)
	if err != nil {
		return errors.Join(err, c.programs())
	}
	if err := c.lock(l); err != nil {
		return errors.Join(err, c.programs())
	}
	var errs []error
	for i := range c.Tools {
		if _, err := c.Tools[i].verify(false); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// programs says which tools could not be frozen.
func (c *Catalogue) programs() error {
	_, err := c.Freeze(nil)
	return err
}
