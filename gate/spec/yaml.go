package spec

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"gatehouse/internal/spelling"
)

// maxNodes bounds what the aliases of a file can unfold to.
const maxNodes = 1 << 18

type reader struct {
	file  string
	errs  []error
	nodes int
	sets  map[string][]option
}

func (r *reader) bad(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", r.file, n.Line, fmt.Sprintf(format, args...)))
}

// mapping calls member for each key of a map, and refuses keys that come twice.
func (r *reader) mapping(n *yaml.Node, member func(key string, k, v *yaml.Node)) {
	n = r.resolve(n)
	if n.Kind != yaml.MappingNode {
		if n.Tag != "!!null" {
			r.bad(n, "a map is wanted here")
		}
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			r.bad(k, "a key is a plain word")
			continue
		}
		if line, twice := seen[k.Value]; twice {
			r.bad(k, "key %q is already on line %d", k.Value, line)
			continue
		}
		seen[k.Value] = k.Line
		member(k.Value, k, v)
	}
}

// member returns the value of a key of a map, nil if there is none.
func member(n *yaml.Node, key string) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.bad(n, "the file unfolds to more than %d values", maxNodes)
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (r *reader) unknown(k *yaml.Node, known ...string) {
	hint := ""
	if near := spelling.Nearest(k.Value, known); near != "" {
		hint = "; did you mean " + near + "?"
	}
	r.bad(k, "unknown key %q%s", k.Value, hint)
}

func (r *reader) text(n *yaml.Node) string {
	n = r.resolve(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.bad(n, "a text is wanted here")
		return ""
	}
	return n.Value
}

func (r *reader) truth(n *yaml.Node) bool {
	n = r.resolve(n)
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
		r.bad(n, "true or false is wanted here")
	}
	return n.Value == "true"
}

// texts reads a list of texts, or one text.
func (r *reader) texts(n *yaml.Node) (list []string) {
	n = r.resolve(n)
	if n.Kind != yaml.SequenceNode {
		return []string{r.text(n)}
	}
	for _, item := range n.Content {
		list = append(list, r.text(item))
	}
	return list
}

func (r *reader) number(n *yaml.Node) int {
	v, err := strconv.Atoi(r.text(n))
	if err != nil || v < 1 || v > 9 {
		r.bad(n, "a number from 1 to 9 is wanted here")
	}
	return v
}

func (r *reader) items(n *yaml.Node) []*yaml.Node {
	n = r.resolve(n)
	if n.Kind != yaml.SequenceNode {
		if n.Tag != "!!null" {
			r.bad(n, "a list is wanted here")
		}
		return nil
	}
	return n.Content
}
