// Package library is the rules that come with the program: a rule file takes an entry of it by name, with "use".
//
// An entry is one file, entries/NAME.yaml: a summary, tags, and rules in the format of rules.yaml; a bundle includes other
// entries. Beside it stands testdata/NAME.txt, lines that it must catch and lines that it must not, in the format that
// "gate rules test" reads; every entry is held to them.
//
// Here entries are text. What they mean, and whether they are right, is the business of gate/rules, which reads them as it
// reads the file that uses them.
package library

import (
	"embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed entries/*.yaml
var entries embed.FS

// Names returns the names of all entries, sorted.
func Names() []string {
	files, err := entries.ReadDir("entries")
	if err != nil {
		return nil
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".yaml")
	}
	return names
}

// Source returns the text of an entry, and whether there is one of that name.
func Source(name string) ([]byte, bool) {
	if strings.ContainsAny(name, "/\\") {
		return nil, false
	}
	data, err := entries.ReadFile("entries/" + name + ".yaml")
	return data, err == nil
}

// Entries is the library as whoever reads rule files asks for it.
type Entries struct{}

// Open is Source.
func (Entries) Open(name string) ([]byte, bool) { return Source(name) }

// Names is the function of that name.
func (Entries) Names() []string { return Names() }

// An Info is what a person needs to know of an entry to choose it.
type Info struct {
	Name    string     `json:"name"`
	Summary string     `json:"summary"`
	Tags    []string   `json:"tags"`
	Include []string   `json:"include,omitempty"` // entries that it consists of
	Rules   []RuleInfo `json:"rules,omitempty"`
}

// A RuleInfo is what a person needs to know of one rule of an entry.
type RuleInfo struct {
	ID   string `json:"id"`
	Mode string `json:"mode"`
	Why  string `json:"why"`
	Fix  string `json:"fix"`
}

// Describe returns what the entry says about itself. An entry that is not there, or cannot be read, is an error.
func Describe(name string) (Info, error) {
	text, ok := Source(name)
	if !ok {
		return Info{}, fmt.Errorf("the library has no entry %q", name)
	}
	info := Info{Name: name}
	var rules struct {
		Summary string
		Tags    []string
		Include []string
		Rules   []RuleInfo
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		return Info{}, fmt.Errorf("entry %s of the library: %w", name, err)
	}
	info.Summary, info.Tags, info.Include, info.Rules = rules.Summary, rules.Tags, rules.Include, rules.Rules
	return info, nil
}
