package rules

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"gatehouse/gate/ltl"
	"gatehouse/internal/document"
)

// kindKeys are the keys of which a rule has exactly one.
const kindKeys = "never, before, require, at_most, finally, ltl or formula"

// readRuleOf reads one rule.
func readRuleOf(v document.Value, r *rule) {
	var kinds []string
	var level target // conditions that stand beside the kind
	var levelAt document.Value
	kind := func(name string, read func(document.Value)) document.Field {
		return document.May(name, func(v document.Value) {
			kinds = append(kinds, name)
			read(v)
		})
	}
	condition := func(name string) document.Field {
		return document.May(name, func(v document.Value) {
			levelAt = v
			readCondition(v, name, &level)
		})
	}
	v.Mapping([]document.Field{
		document.Need("id", func(v document.Value) { r.ID = readID(v) }),
		document.May("why", func(v document.Value) { r.Why = readProse(v) }),
		document.May("fix", func(v document.Value) { r.Fix = readProse(v) }),
		document.May("mode", func(v document.Value) { readMode(v, &r.Mode); r.hasMode = true }),
		document.May("scope", func(v document.Value) { readScope(v, &r.Scope); r.hasScope = true }),
		document.May("from", func(v document.Value) { r.From = readFrom(v) }),
		condition("with"), condition("where"),
		kind("never", func(v document.Value) { r.Kind, r.first = Never, readPatternOf(v) }),
		kind("require", func(v document.Value) { r.Kind, r.first = Require, readPatternOf(v) }),
		kind("before", func(v document.Value) { r.readBefore(v) }),
		kind("at_most", func(v document.Value) { r.readAtMost(v) }),
		kind("finally", func(v document.Value) { r.readFinally(v) }),
		kind("ltl", func(v document.Value) { r.readLTL(v) }),
		kind("formula", func(v document.Value) { r.readFormula(v) }),
	})
	switch {
	case len(kinds) == 0:
		v.Bad("a rule needs one of %s", kindKeys)
		return
	case len(kinds) > 1:
		v.Bad("a rule has one kind, and this one has %s", strings.Join(kinds, " and "))
		return
	}
	if len(level.with)+len(level.where) > 0 {
		if r.Kind != Never && r.Kind != Require && r.Kind != AtMost {
			levelAt.Bad("stands beside never, require and at_most only; write it into the target")
			return
		}
		for i := range r.first {
			r.first[i].with = append(r.first[i].with, level.with...)
			r.first[i].where = append(r.first[i].where, level.where...)
		}
	}
	r.checkVars(v)
	if r.Kind == Require {
		for _, t := range r.first {
			if len(t.with)+len(t.where) == 0 && t.exists == either {
				v.Bad("require: each target needs with or where: %s", t)
			}
		}
	}
}

func (r *rule) readBefore(v document.Value) {
	r.Kind = Before
	if v.Node.Kind == yaml.SequenceNode {
		if len(v.Node.Content) != 2 {
			v.Bad("must have two targets, [first, then], or be {first: …, then: …, since: …}")
			return
		}
		i := 0
		v.Items(func(v document.Value) {
			if i == 0 {
				r.first = readPatternOf(v)
			} else {
				r.then = readPatternOf(v)
			}
			i++
		})
		return
	}
	v.Mapping([]document.Field{
		document.Need("first", func(v document.Value) { r.first = readPatternOf(v) }),
		document.Need("then", func(v document.Value) { r.then = readPatternOf(v) }),
		document.May("since", func(v document.Value) { r.since = readPatternOf(v) }),
	})
}

func (r *rule) readAtMost(v document.Value) {
	r.Kind = AtMost
	v.Mapping([]document.Field{
		document.Need("call", func(v document.Value) { r.first = readPatternOf(v) }),
		document.Need("times", func(v document.Value) { readCount(v, &r.times, 0) }),
	})
}

func (r *rule) readFinally(v document.Value) {
	r.Kind = Finally
	if v.Node.Kind != yaml.MappingNode || !hasKey(v.Node, "call") {
		r.first = readPatternOf(v)
		return
	}
	v.Mapping([]document.Field{
		document.Need("call", func(v document.Value) { r.first = readPatternOf(v) }),
		document.May("since", func(v document.Value) { r.since = readPatternOf(v) }),
	})
}

func (r *rule) readLTL(v document.Value) {
	r.Kind = LTL
	text, ok := v.Scalar("text", "!!str")
	if !ok {
		return
	}
	f, err := ltl.Parse(text, nil)
	if err != nil {
		v.Bad("%v", err)
		return
	}
	r.setFormula(v, f)
}

// setFormula takes a formula that can be enforced.
func (r *rule) setFormula(v document.Value, f ltl.Formula) {
	if class := ltl.Classify(f); class != ltl.Safe {
		v.Bad("the formula is %s: %s", class, class.Advice())
		return
	}
	if _, err := ltl.NewMonitor(f); err != nil {
		v.Bad("%v", err)
		return
	}
	r.formula = f.String()
}

// checkVars holds the variables of a rule to what they can mean.
func (r *rule) checkVars(v document.Value) {
	r.vars = r.then.vars()
	for _, p := range []pattern{r.first, r.since, r.then} {
		if r.Kind != Before && len(p.vars()) > 0 {
			v.Bad("$%s: variables stand in before only", p.vars()[0])
			return
		}
	}
	if r.Kind != Before || len(r.vars)+len(r.first.vars())+len(r.since.vars()) == 0 {
		return
	}
	if r.since != nil {
		v.Bad("since cannot be combined with variables")
		return
	}
	all := r.vars
	for _, name := range r.first.vars() {
		all = appendNew(all, name)
	}
	for _, side := range []struct {
		name string
		p    pattern
	}{{"first", r.first}, {"then", r.then}} {
		for _, t := range side.p {
			for _, name := range all {
				if !slices.Contains(pattern{t}.vars(), name) {
					v.Bad("%s: each target has to name $%s: %s", side.name, name, t)
				}
			}
			if side.name == "first" && (len(t.where) > 0 || t.exists != either) {
				v.Bad("first: with a variable it takes with and succeeded only: %s", t)
			}
		}
	}
}

// readPatternOf reads a target: a name, a list of names, one target written out, or a list that has such in it.
func readPatternOf(v document.Value) pattern {
	switch v.Node.Kind {
	case yaml.ScalarNode:
		if name, ok := readTool(v); ok {
			return pattern{{tools: name}}
		}
		return nil
	case yaml.MappingNode:
		return pattern{readTarget(v)}
	case yaml.SequenceNode:
		if len(v.Node.Content) == 0 {
			v.Bad("must not be empty")
			return nil
		}
		var p pattern
		var names []string
		v.Items(func(v document.Value) {
			if v.Node.Kind == yaml.ScalarNode {
				name, _ := readTool(v)
				names = append(names, name...)
				return
			}
			p = append(p, readPatternOf(v)...)
		})
		if names != nil {
			p = append(pattern{{tools: names}}, p...)
		}
		return p
	default:
		v.Bad("must be a tool, a list of tools, or {tool: …, with: …, where: …}")
		return nil
	}
}

func readTarget(v document.Value) target {
	var t target
	condition := func(name string) document.Field {
		return document.May(name, func(v document.Value) { readCondition(v, name, &t) })
	}
	v.Mapping([]document.Field{
		document.Need("tool", func(v document.Value) {
			eachItem(v, func(v document.Value) {
				names, _ := readTool(v)
				t.tools = append(t.tools, names...)
			})
		}),
		condition("with"), condition("where"), condition("touches"), condition("reads"), condition("writes"),
		document.May("exists", func(v document.Value) { readWanted(v, &t.exists) }),
		document.May("succeeded", func(v document.Value) { readWanted(v, &t.succeeded) }),
		document.May("sure", func(v document.Value) { readTruth(v, &t.sure) }),
	})
	return t
}

func readWanted(v document.Value, to *wanted) {
	var on bool
	if readTruth(v, &on) {
		*to = no
		if on {
			*to = yes
		}
	}
}

// readTool reads the name of a tool. A name that is written as the command is (apt-get) also stands for that of its
// calls (apt_get).
func readTool(v document.Value) ([]string, bool) {
	name, ok := v.Text()
	if !ok {
		return nil, false
	}
	if strings.ContainsFunc(name, unicode.IsSpace) {
		v.Bad("%q is no name of a tool; calls of subcommands are named like git_push, and arguments go into with or where", name)
		return nil, false
	}
	if other := underscored(name); other != name {
		return []string{name, other}, true
	}
	return []string{name}, true
}

// underscored is the name that the calls of a command have: underscores in the place of other signs.
func underscored(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == ':' {
			return '_'
		}
		return r
	}, name)
}

func readCondition(v document.Value, name string, t *target) {
	switch name {
	case "with":
		if v.Node.Kind == yaml.MappingNode && len(v.Node.Content) == 0 {
			v.Bad("must not be empty")
		}
		pairs(v, func(arg string, v document.Value) { t.with = append(t.with, readEquals(arg, v)) })
	case "where":
		if v.Node.Kind == yaml.MappingNode && len(v.Node.Content) == 0 {
			v.Bad("must not be empty")
		}
		pairs(v, func(arg string, v document.Value) { t.where = append(t.where, globs{arg: arg, patterns: readGlobs(v)}) })
	default:
		t.where = append(t.where, globs{patterns: readGlobs(v), use: map[string]use{"touches": touches, "reads": reads, "writes": writes}[name]})
	}
}

func readGlobs(v document.Value) []string {
	if v.Node.Kind == yaml.SequenceNode && len(v.Node.Content) == 0 {
		v.Bad("must not be empty")
	}
	var all []string
	eachItem(v, func(v document.Value) {
		text, ok := v.Scalar("a pattern", "!!str", "!!int", "!!float", "!!bool")
		if !ok {
			return
		}
		if err := globCheck(text); err != nil {
			v.Bad("%v", err)
			return
		}
		all = append(all, text)
	})
	return all
}

func readEquals(arg string, v document.Value) equals {
	c := equals{arg: arg}
	if v.Node.Kind == yaml.ScalarNode && v.Node.ShortTag() == "!!str" {
		if name, ok := strings.CutPrefix(v.Node.Value, "$"); ok && isWord(name) {
			c.name = name
			return c
		}
	}
	c.value = readAny(v)
	return c
}

// readAny reads a value of an argument: a single value, null, or a list.
func readAny(v document.Value) any {
	if v.Node.Kind == yaml.ScalarNode && v.Node.ShortTag() == "!!null" {
		return nil
	}
	if v.Node.Kind == yaml.SequenceNode {
		list := []any{}
		v.Items(func(v document.Value) { list = append(list, readAny(v)) })
		return list
	}
	text, ok := v.Scalar("a single value or a list", "!!str", "!!int", "!!float", "!!bool", "!!timestamp")
	if !ok {
		return nil
	}
	switch v.Node.ShortTag() {
	case "!!bool":
		return strings.EqualFold(text, "true")
	case "!!int":
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			return n
		}
	case "!!float":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	return text
}
