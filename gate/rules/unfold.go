package rules

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxUnfolded bounds what the aliases of a file can unfold to.
const maxUnfolded = 1 << 16

// An unfolder writes out the anchors and aliases that rule files of AgentLTL may have.
type unfolder struct {
	nodes int
	open  map[*yaml.Node]bool
}

// unfold replaces each alias in node by what it stands for, at the line of the alias, and merges "<<" into its mapping.
func unfold(node *yaml.Node) error {
	u := &unfolder{open: make(map[*yaml.Node]bool)}
	out, err := u.copy(node, 0)
	if err == nil {
		*node = *out
	}
	return err
}

func (u *unfolder) copy(node *yaml.Node, line int) (*yaml.Node, error) {
	if u.nodes++; u.nodes > maxUnfolded {
		return nil, &lineError{node.Line, fmt.Sprintf("the file unfolds to more than %d values", maxUnfolded)}
	}
	if node.Kind == yaml.AliasNode {
		if u.open[node.Alias] {
			return nil, &lineError{node.Line, "the anchor contains itself"}
		}
		u.open[node.Alias] = true
		defer delete(u.open, node.Alias)
		if line == 0 {
			line = node.Line
		}
		return u.copy(node.Alias, line)
	}
	out := *node
	out.Anchor, out.Content = "", nil
	if line != 0 {
		out.Line = line
	}
	if node.Kind == yaml.MappingNode {
		return &out, u.mapping(&out, node, line)
	}
	for _, child := range node.Content {
		c, err := u.copy(child, line)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, c)
	}
	return &out, nil
}

func (u *unfolder) mapping(out, node *yaml.Node, line int) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		v, err := u.copy(value, line)
		if err != nil {
			return err
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, v)
			continue
		}
		k, err := u.copy(key, line)
		if err != nil {
			return err
		}
		out.Content = append(out.Content, k, v)
	}
	for len(merged) > 0 {
		from := merged[0]
		merged = merged[1:]
		switch from.Kind {
		case yaml.SequenceNode:
			merged = append(append([]*yaml.Node{}, from.Content...), merged...)
		case yaml.MappingNode:
			for i := 0; i+1 < len(from.Content); i += 2 {
				if !hasKey(out, from.Content[i].Value) {
					out.Content = append(out.Content, from.Content[i], from.Content[i+1])
				}
			}
		default:
			return &lineError{from.Line, `"<<" takes a mapping, or a list of mappings`}
		}
	}
	return nil
}

func hasKey(node *yaml.Node, key string) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return true
		}
	}
	return false
}

type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }
