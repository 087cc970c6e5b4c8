package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A project is the directory that a policy is made for, as far as gate init looks at it: its own files and those of
// the directories right below. Nothing in it is run.
type project struct {
	dir   string   // absolute
	git   bool     // a .git is in it
	files []string // names below dir, with / between
}

// A script is an entry of scripts in a package.json.
type script struct{ name, text string }

const mostFiles = 5000 // that are looked at; a larger directory is no project's

// findProject returns the nearest directory above cwd, or cwd itself, that has a .git; else cwd.
func findProject(cwd string) (*project, error) {
	p := &project{dir: cwd}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			p.dir, p.git = dir, true
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	top, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	p.add("", top)
	for _, entry := range top {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"node_modules", "vendor", "target", "build", "dist"}, entry.Name()) {
			continue
		}
		if below, err := os.ReadDir(filepath.Join(p.dir, entry.Name())); err == nil {
			p.add(entry.Name()+"/", below)
		}
	}
	return p, nil
}

func (p *project) add(prefix string, entries []fs.DirEntry) {
	for _, entry := range entries {
		if len(p.files) < mostFiles && entry.Type().IsRegular() {
			p.files = append(p.files, prefix+entry.Name())
		}
	}
}

// find returns the files whose own names match one of the patterns, those in the project's directory first.
func (p *project) find(patterns []string) (found []string) {
	for _, file := range p.files {
		for _, pattern := range patterns {
			if ok, _ := filepath.Match(pattern, filepath.Base(file)); ok {
				found = append(found, file)
				break
			}
		}
	}
	return found
}

// has reports whether the project has a file of this name in its own directory.
func (p *project) has(name string) bool { return slices.Contains(p.files, name) }

// hasDir reports whether the project has a directory of this name.
func (p *project) hasDir(name string) bool {
	info, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil && info.IsDir()
}

// ordinary reports whether a name can stand in a policy without quotes, and means nothing to a shell.
func ordinary(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("_.:@+-", c) < 0) {
			return false
		}
	}
	return name != ""
}

// scripts returns the scripts of a package.json in their order, but for those that run by themselves around others.
func (p *project) scripts(file string) (list []script) {
	data, err := readSmall(filepath.Join(p.dir, file))
	if err != nil {
		return nil
	}
	var doc struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(data, &doc) != nil {
		return nil
	}
	for name, text := range doc.Scripts {
		_, pre := doc.Scripts[strings.TrimPrefix(name, "pre")]
		_, post := doc.Scripts[strings.TrimPrefix(name, "post")]
		around := strings.HasPrefix(name, "pre") && pre || strings.HasPrefix(name, "post") && post
		if !around && ordinary(name) {
			list = append(list, script{name, text})
		}
	}
	slices.SortFunc(list, func(a, b script) int { return strings.Compare(a.name, b.name) })
	return list
}

// targets returns the targets of a Makefile that stand for something to do: the phony ones where it names them, else
// those that do not look like files.
func (p *project) targets(file string) (list []string) {
	data, err := readSmall(filepath.Join(p.dir, file))
	if err != nil {
		return nil
	}
	var phony, all []string
	text := strings.ReplaceAll(string(data), "\\\n", " ")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "#") {
			continue
		}
		names, rest, found := strings.Cut(line, ":")
		if !found || strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":=") || strings.ContainsAny(names, "=$%\"'") {
			continue
		}
		for _, name := range strings.Fields(names) {
			switch {
			case name == ".PHONY":
				phony = append(phony, strings.Fields(rest)...)
			case !strings.ContainsAny(name, "./"):
				all = append(all, name)
			}
		}
	}
	if len(phony) > 0 {
		all = phony
	}
	const most = 60
	for _, name := range all {
		if ordinary(name) && !slices.Contains(list, name) && len(list) < most {
			list = append(list, name)
		}
	}
	return list
}
