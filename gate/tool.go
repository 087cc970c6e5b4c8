package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/policy"
	"gatehouse/gate/rules"
)

// tool judges the call of a client's own tool: by what the policy says of tools of that name, by what protects the gate,
// and by the rules. A tool that runs a shell is not judged here: its line is.
func (j *judge) tool() {
	t := j.r.Tool
	event := rules.Tool(t.Name, t.Args, j.cwd)
	items := j.p.ToolsFor(t.Name)
	for _, name := range event.Also {
		for _, item := range j.p.ToolsFor(name) {
			if !slices.Contains(items, item) {
				items = append(items, item)
			}
		}
	}
	for _, item := range items {
		if action, ok := ask(item.Unlisted); ok {
			j.add(Reason{Action: action, Stage: StageEntry, Call: -1, Source: t.Name, Rule: strings.Join(item.Names, ", "), At: item.At,
				Text: fmt.Sprintf("the tool %s is one that the policy wants %s", t.Name, wants(action))})
		}
	}
	for _, f := range event.Files {
		if !path.IsAbs(f.Path) {
			continue
		}
		j.toolFile(t.Name, items, f)
	}
	if j.s.content.rules.Len() > 0 && j.s.content.rules.ConcernsTool(t.Name) {
		j.held([]rules.Event{event})
	}
}

func wants(a Action) string {
	if a == Ask {
		return "to be asked about"
	}
	return "refused"
}

// toolFile judges one file that a tool names.
func (j *judge) toolFile(name string, items []*policy.Tool, f rules.Touch) {
	p := path.Clean(f.Path)
	s := j.view.at(p)
	object := func(stage Stage, rule, at, format string, args ...any) {
		j.add(Reason{Stage: stage, Call: -1, Source: name, Rule: rule, At: at, Text: fmt.Sprintf(format, args...)})
	}
	for _, place := range []string{p, s.real} {
		if !f.Reads && j.protected(place) {
			r := protectReason(-1, j.show(place))
			r.Source = name
			j.add(r)
			return
		}
		if r, is := j.orders(-1, place); is && !f.Reads {
			r.Source = name
			j.add(r)
			return
		}
		if !f.Reads && mayNameHooks(place) {
			r := hooksReason(-1, j.show(place))
			r.Source = name
			j.dynamic(r)
		}
		lists := []policy.Paths{{Deny: j.p.Paths.Deny, ReadOnly: j.p.Paths.ReadOnly}}
		for _, item := range items {
			lists = append(lists, item.Paths)
		}
		for _, paths := range lists {
			if hit := paths.Deny.Match(place, j.ground.place); hit != nil {
				object(StagePaths, hit.Text, hit.At, "%s is among the paths that %s may not touch%s", j.show(place), name, via(p, place))
				return
			}
			if hit := paths.ReadOnly.Match(place, j.ground.place); hit != nil && !f.Reads {
				object(StagePaths, hit.Text, hit.At, "%s may be read, and %s writes it%s", j.show(place), name, via(p, place))
				return
			}
			if len(paths.Redirects)+len(paths.Create) > 0 && !f.Reads && paths.Redirects.Match(place, j.ground.place) == nil &&
				(s.exists || paths.Create.Match(place, j.ground.place) == nil) {
				object(StagePaths, "redirects", "", "%s is not among the files that %s may write", j.show(place), name)
				return
			}
		}
	}
}
