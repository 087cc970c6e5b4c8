package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFile bounds tools.json and tools.lock.
const maxFile = 4 << 20

// Bounds and defaults of what a catalogue may say.
const (
	maxTools       = 1000
	maxSteps       = 100_000
	maxTimeout     = 24 * time.Hour
	maxOutput      = 16 << 20
	defaultTimeout = time.Minute
	defaultOutput  = 64 << 10
)

// An Invalid lists everything that is wrong with a catalogue.
type Invalid struct {
	Name     string // of the file
	Problems []Problem
}

// A Problem is one thing that is wrong with a catalogue.
type Problem struct {
	Line int
	Key  string // where in the document: tools[2].argv[0]
	Text string
	Code Code
}

func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s:%d: %s%s", e.Name, p.Line, p.Key, p.Text)
	}
	return strings.Join(lines, "\n")
}

// Parse reads a tools.json. name is how the file is called in problems. The error is of type *Error around an *Invalid,
// with the Code of the first problem.
func Parse(name string, data []byte) (*Catalogue, error) {
	p := &parser{}
	sum := sha256.Sum256(data)
	c := &Catalogue{Digest: hex.EncodeToString(sum[:])}
	if len(data) > maxFile {
		p.bad(&node{line: 1}, "", BadCatalogue, "is larger than %d bytes", maxFile)
	} else if root, err := readJSON(data); err != nil {
		p.bad(&node{line: max(p.lineOf(err), 1)}, "", BadCatalogue, "%s", strings.TrimPrefix(err.Error(), fmt.Sprintf("line %d: ", p.lineOf(err))))
	} else {
		p.catalogue(root, c)
	}
	if len(p.problems) > 0 {
		return nil, &Error{Code: p.problems[0].Code, Err: &Invalid{Name: name, Problems: p.problems}}
	}
	return c, nil
}

type parser struct{ problems []Problem }

func (p *parser) bad(at *node, key string, code Code, format string, args ...any) {
	if key != "" {
		key += ": "
	}
	p.problems = append(p.problems, Problem{Line: at.line, Key: key, Text: fmt.Sprintf(format, args...), Code: code})
}

// lineOf finds the line in an error of readJSON.
func (p *parser) lineOf(err error) int {
	rest, _ := strings.CutPrefix(err.Error(), "line ")
	number, _, _ := strings.Cut(rest, ":")
	line, _ := strconv.Atoi(number)
	return line
}

func (p *parser) catalogue(root *node, c *Catalogue) {
	if !p.object(root, "", []string{"version", "steps", "tools"}, nil) {
		return
	}
	if v := root.get("version"); v != nil && v.value != json.Number("1") {
		p.bad(v, "version", BadCatalogue, "has to be 1")
	}
	c.Steps = int(p.whole(root, "steps", "steps", 1, maxSteps, 0))
	tools, ok := p.list(root, "tools", "tools")
	if !ok {
		return
	}
	if len(tools) == 0 || len(tools) > maxTools {
		p.bad(root.get("tools"), "tools", BadCatalogue, "has %d entries; 1 to %d are possible", len(tools), maxTools)
		return
	}
	for i, n := range tools {
		t := p.tool(n, fmt.Sprintf("tools[%d]", i))
		if t.Name != "" && c.Find(t.Name) != nil {
			p.bad(n, fmt.Sprintf("tools[%d].name", i), BadCatalogue, "%q is there twice", t.Name)
		}
		c.Tools = append(c.Tools, t)
	}
}

func (p *parser) tool(n *node, key string) (t Tool) {
	t.Line = n.line
	must := []string{"name", "description", "args", "argv", "cwd"}
	may := []string{"env", "timeout_seconds", "output_bytes", "cut_output", "ok_exit", "limits", "confine"}
	if !p.object(n, key, must, may) {
		return t
	}
	t.Name, _ = p.text(n, "name", key+".name")
	if n.get("name") != nil && !validName(t.Name) {
		p.bad(n.get("name"), key+".name", BadCatalogue, "%q is not 1 to 64 of a-z, 0-9 and _, beginning with a letter", t.Name)
	}
	t.Description, _ = p.text(n, "description", key+".description")
	if n.get("description") != nil && (strings.TrimSpace(t.Description) == "" || !plainText(t.Description)) {
		p.bad(n.get("description"), key+".description", BadCatalogue, "is empty or holds control characters")
	}
	p.schema(n.get("args"), key+".args", &t)
	p.argv(n, key, &t)
	t.Cwd, _ = p.text(n, "cwd", key+".cwd")
	if n.get("cwd") != nil && placed(t.Cwd) != nil {
		p.bad(n.get("cwd"), key+".cwd", BadCatalogue, "%v", placed(t.Cwd))
	}
	p.environment(n, key, &t)
	t.Timeout = time.Duration(p.whole(n, "timeout_seconds", key+".timeout_seconds", 1, int64(maxTimeout.Seconds()),
		int64(defaultTimeout.Seconds()))) * time.Second
	t.Output = int(p.whole(n, "output_bytes", key+".output_bytes", 256, maxOutput, defaultOutput))
	t.CutOutput = p.flag(n, "cut_output", key+".cut_output")
	t.OKExit = []int{0}
	if n.get("ok_exit") != nil {
		t.OKExit = nil
		codes, _ := p.list(n, "ok_exit", key+".ok_exit")
		for i, c := range codes {
			t.OKExit = append(t.OKExit, int(p.number(c, fmt.Sprintf("%s.ok_exit[%d]", key, i), 0, 255)))
		}
	}
	p.limits(n.get("limits"), key+".limits", &t.Limits)
	p.confine(n.get("confine"), key+".confine", &t)
	return t
}

func (p *parser) limits(n *node, key string, l *Limits) {
	if n == nil || !p.object(n, key, nil, []string{"cpu_seconds", "memory_bytes", "file_bytes", "processes", "open_files"}) {
		return
	}
	get := func(name string, least int64) uint64 {
		return uint64(p.whole(n, name, key+"."+name, least, 1<<50, 0))
	}
	l.CPUSeconds, l.Memory, l.FileSize = get("cpu_seconds", 1), get("memory_bytes", 1<<20), get("file_bytes", 1)
	l.Processes, l.Descriptors = get("processes", 1), get("open_files", 8)
}

func (p *parser) confine(n *node, key string, t *Tool) {
	if n == nil || !p.object(n, key, []string{"read"}, []string{"write", "connect_tcp"}) {
		return
	}
	c := &Confine{}
	paths := func(name string) (list []string) {
		if n.get(name) == nil {
			return nil
		}
		for i, text := range p.texts(n, name, key+"."+name) {
			if err := placed(text); err != nil {
				p.bad(n.get(name), fmt.Sprintf("%s.%s[%d]", key, name, i), BadCatalogue, "%v", err)
			}
			list = append(list, text)
		}
		return list
	}
	c.Read, c.Write = paths("read"), paths("write")
	if ports := n.get("connect_tcp"); ports != nil {
		c.Connect = []uint16{}
		list, _ := p.list(n, "connect_tcp", key+".connect_tcp")
		for i, port := range list {
			c.Connect = append(c.Connect, uint16(p.number(port, fmt.Sprintf("%s.connect_tcp[%d]", key, i), 1, 65535)))
		}
	}
	t.Confine = c
}

// object reports whether n is an object, and says which keys are missing or strange.
func (p *parser) object(n *node, key string, must, may []string) bool {
	members, ok := n.value.([]member)
	if !ok {
		p.bad(n, key, BadCatalogue, "is %s and has to be an object", n.kind())
		return false
	}
	for _, name := range must {
		if n.get(name) == nil {
			p.bad(n, join(key, name), BadCatalogue, "is missing")
		}
	}
	for _, m := range members {
		if !slices.Contains(must, m.name) && !slices.Contains(may, m.name) {
			p.bad(m.node, join(key, m.name), BadCatalogue, "is no key here; %s are", strings.Join(slices.Concat(must, may), ", "))
		}
	}
	return true
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func (p *parser) text(n *node, name, key string) (string, bool) {
	v := n.get(name)
	if v == nil {
		return "", false
	}
	text, ok := v.value.(string)
	if !ok {
		p.bad(v, key, BadCatalogue, "is %s and has to be a string", v.kind())
	}
	return text, ok
}

func (p *parser) list(n *node, name, key string) ([]*node, bool) {
	v := n.get(name)
	if v == nil {
		return nil, false
	}
	list, ok := v.value.([]*node)
	if !ok {
		p.bad(v, key, BadCatalogue, "is %s and has to be a list", v.kind())
	}
	return list, ok
}

func (p *parser) texts(n *node, name, key string) (texts []string) {
	list, _ := p.list(n, name, key)
	for i, item := range list {
		text, ok := item.value.(string)
		if !ok {
			p.bad(item, fmt.Sprintf("%s[%d]", key, i), BadCatalogue, "is %s and has to be a string", item.kind())
		}
		texts = append(texts, text)
	}
	return texts
}

func (p *parser) flag(n *node, name, key string) bool {
	v := n.get(name)
	if v == nil {
		return false
	}
	flag, ok := v.value.(bool)
	if !ok {
		p.bad(v, key, BadCatalogue, "is %s and has to be true or false", v.kind())
	}
	return flag
}

func (p *parser) whole(n *node, name, key string, least, most, otherwise int64) int64 {
	v := n.get(name)
	if v == nil {
		return otherwise
	}
	return p.number(v, key, least, most)
}

func (p *parser) number(n *node, key string, least, most int64) int64 {
	number, ok := n.value.(json.Number)
	value, err := number.Int64()
	if !ok || err != nil || value < least || value > most {
		p.bad(n, key, BadCatalogue, "has to be a whole number from %d to %d", least, most)
		return least
	}
	return value
}

func validName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// placed says what is wrong with a place: "project", a clean path below it, or a clean absolute path.
func placed(text string) error {
	rest, inProject := strings.CutPrefix(text, "project")
	switch {
	case !plainText(text):
		return errors.New("holds control characters")
	case strings.HasPrefix(text, "/") && (text == "/" || cleanPath(text[1:])), inProject && rest == "":
		return nil
	case inProject && rest[0] == '/' && cleanPath(rest[1:]):
		return nil
	}
	return fmt.Errorf("%q is neither project, project/DIRECTORY nor a clean absolute path", text)
}

// cleanPath reports whether a path has neither empty parts nor dots.
func cleanPath(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
