package catalog

// maxCall bounds the JSON of one call.
const maxCall = 1 << 20

// A bound is a call of a tool of the catalogue, held against it.
type bound struct {
	tool *Tool
	args map[string]any
	argv []string
}

// bind reads a call and puts its arguments into the template of its tool. name is that of the tool where it is known.
func (c *Catalogue) bind(data []byte) (b bound, name string, err error) {
	if len(data) > maxCall {
		return b, "", failed(BadCall, "the call is larger than %d bytes", maxCall)
	}
	root, err := readJSON(data)
	if err != nil {
		return b, "", failed(BadCall, `the call is not one JSON object {"tool", "args"}: %w`, err)
	}
	members, ok := root.value.([]member)
	if !ok {
		return b, "", failed(BadCall, `the call is %s, not a JSON object {"tool", "args"}`, root.kind())
	}
	for _, m := range members {
		if m.name != "tool" && m.name != "args" {
			return b, "", failed(BadCall, "the call has a key %q; tool and args are all it may have", m.name)
		}
	}
	tool, args := root.get("tool"), root.get("args")
	if tool == nil || args == nil {
		return b, "", failed(BadCall, "the call has no tool or no args; a tool without arguments takes {}")
	}
	name, ok = tool.value.(string)
	if !ok {
		return b, "", failed(BadCall, "tool is %s and has to be a string", tool.kind())
	}
	if b.tool = c.Find(name); b.tool == nil {
		return b, "", failed(UnknownTool, "there is no tool %q; gate catalog list shows those there are", name)
	}
	if b.args, err = b.tool.hold(args); err != nil {
		return b, name, err
	}
	b.argv = b.tool.expand(b.args)
	return b, name, nil
}

// expand puts values into the template. Each is exactly one word of the result.
func (t *Tool) expand(args map[string]any) []string {
	argv := make([]string, len(t.Argv))
	for i, word := range t.Argv {
		argv[i] = word
		if slot, ok := slotOf(word); ok && i > 0 {
			argv[i], _ = args[slot].(string)
		}
	}
	return argv
}
