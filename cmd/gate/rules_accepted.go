package main

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/rules"
	"gatehouse/gate/spec"
	"gatehouse/manifest"
)

// acceptedRules reads the rule files and the specs in root's accepted copy of a gate, which has each live directory under
// its name.
func (g *globals) acceptedRules(gate string) (files []rules.File, packs *spec.Packs, err error) {
	all, from, err := g.all()
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, func(t target) bool { return t.gate == gate })
	if i < 0 {
		return nil, nil, unknownGate(gate, all, from)
	}
	stored, err := manifest.OpenGeneration(all[i].accepted, all[i].source.Limits)
	if err != nil {
		return nil, nil, fmt.Errorf("the accepted copy of gate %s: %w", gate, err)
	}
	defer stored.Close()
	return rulesOf(stored)
}

func rulesOf(stored *manifest.StoredGeneration) (files []rules.File, packs *spec.Packs, err error) {
	has := func(name string) bool {
		return slices.ContainsFunc(stored.Generation.Entries, func(e manifest.Entry) bool { return e.Type == manifest.File && e.Path == name })
	}
	var own []spec.File
	for _, e := range stored.Generation.Entries {
		live, name, ok := strings.Cut(e.Path, "/")
		if !ok || e.Type != manifest.File || !has(live+"/gate.yaml") {
			continue
		}
		rule := slices.Contains(ruleFiles[:], name)
		if !rule && (path.Dir(name) != "specs" || path.Ext(name) != ".yaml") {
			continue
		}
		data, err := readStored(stored, e.Path)
		if err != nil {
			return nil, nil, err
		}
		if rule {
			files = append(files, rules.File{Name: e.Path, Data: data})
		} else {
			own = append(own, spec.File{Name: e.Path, Data: data})
		}
	}
	packs = spec.Bundled()
	if len(own) == 0 {
		return files, packs, nil
	}
	compiled, err := spec.Compile(own, packs)
	if err != nil {
		return nil, nil, err
	}
	packs, err = packs.With(string(compiled))
	return files, packs, err
}

func readStored(stored *manifest.StoredGeneration, name string) ([]byte, error) {
	const most = 2 << 20
	in, err := stored.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s: larger than %d bytes", name, most)
	}
	return data, err
}
