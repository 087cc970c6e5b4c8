package gate

import (
	"path"

	"gatehouse/gate/memory"
	"gatehouse/gate/rules"
)

// rules holds the calls against what the session and the project did before.
func (j *judge) rules() {
	if j.s.content.rules.Len() == 0 || !j.s.content.rules.Concerns(j.calls) {
		return
	}
	j.held(j.events(j.calls))
}

// held adds what the rules say of events.
func (j *judge) held(events []rules.Event) {
	m, err := j.g.remembered(j)
	if err != nil {
		j.add(Reason{Stage: StageRules, Call: -1, Text: "what the rules remember cannot be read: " + err.Error()})
		return
	}
	for _, v := range j.s.content.rules.Judge(m, events, j.surroundings()) {
		if j.alone && v.Kind != rules.Never {
			continue
		}
		r := reasonOf(v)
		if v.Action == rules.Note {
			j.notes = append(j.notes, r)
			continue
		}
		j.add(r)
	}
}

// reasonOf is a verdict of the rules as a reason.
func reasonOf(v rules.Verdict) Reason {
	r := Reason{Stage: StageRules, Call: v.Call, Rule: v.Rule, At: v.At, Text: v.Text, Why: v.Why, Fix: v.Fix}
	switch v.Action {
	case rules.Note:
		r.Action = Allow
	case rules.Ask:
		r.Action = Ask
	case rules.Deny:
		if v.Mode == rules.Warn {
			r.Hint = "it is refused once: if it is right all the same, make the same call again, and it passes"
		}
	case rules.Stop:
		r.Hint = "stop here and tell the person; nothing more will pass until they have answered"
	}
	return r
}

// memories are what is remembered for a request, by name: of its session and of its project.
func (j *judge) memories() (ids []memory.ID) {
	if j.r.Session != "" {
		ids = append(ids, memory.Session(j.r.Session))
	}
	return append(ids, memory.Project(j.ground.place.Project))
}

// remembered reads them.
func (g *Gate) remembered(j *judge) (m rules.Memories, err error) {
	if g.state == "" {
		return m, nil
	}
	states, err := g.store().Load(j.memories())
	if err != nil {
		return m, err
	}
	if j.r.Session != "" {
		m.Session = states[0]
	}
	m.Project = states[len(states)-1]
	return m, nil
}

func (g *Gate) store() memory.Store { return memory.Store{Dir: g.state, Disk: g.writes} }

// surroundings are what rules may ask of the disk.
func (j *judge) surroundings() rules.Surroundings {
	return rules.Surroundings{
		Project: j.ground.place.Project, Home: j.home, Cwd: j.cwd, Generation: j.r.Generation,
		Exists:  func(p string) bool { return j.view.at(path.Clean(p)).exists },
		Resolve: func(p string) string { return j.view.at(path.Clean(p)).real },
		Glob:    func(pattern string) ([]string, bool) { return j.view.glob(pattern, j.globs) },
		Below: func(dir string, match func(string) bool) (bool, bool) {
			found, ok := j.view.find(dir, match, passes{dir: hooks})
			return found != "", ok
		},
	}
}
