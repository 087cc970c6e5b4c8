package vendorgate

import (
	"fmt"
	"strings"

	"gatehouse/manifest"
)

// A gitFile is a regular file below files/, by the path of its entry.
type gitFile struct {
	path       string
	executable bool
	size       int64
	sha256     string
}

// merge joins the files that git has with what only manifest.json can say. listed is nil where there is none.
func merge(gate string, files []gitFile, listed *manifest.Generation) (*manifest.Generation, error) {
	entries := make(map[string]manifest.Entry, len(files))
	modes := make(map[string]manifest.Mode)
	if listed != nil {
		for _, e := range listed.Entries {
			if e.Type == manifest.File {
				modes[e.Path] = e.Mode // whether it is there is for git to say
			} else {
				entries[e.Path] = e
			}
		}
	}
	for _, f := range files {
		if e, ok := entries[f.path]; ok {
			return nil, conflict(f.path, e.Type)
		}
		entries[f.path] = manifest.Entry{Path: f.path, Type: manifest.File, Mode: f.mode(modes), Size: f.size, SHA256: f.sha256}
	}
	for _, f := range files {
		if err := addParents(entries, f.path); err != nil {
			return nil, err
		}
	}
	all := make([]manifest.Entry, 0, len(entries))
	for _, e := range entries {
		all = append(all, e)
	}
	return manifest.NewGeneration(gate, all), nil
}

// mode is the listed mode of a file, if its executable bit in git agrees with it.
func (f *gitFile) mode(listed map[string]manifest.Mode) manifest.Mode {
	mode, ok := listed[f.path]
	if !ok {
		mode = 0o644
	}
	switch {
	case f.executable == (mode&0o100 != 0):
		return mode
	case f.executable:
		return mode | 0o111
	default:
		return mode &^ 0o111
	}
}

// addParents adds the directories above path that manifest.json does not list.
func addParents(entries map[string]manifest.Entry, path string) error {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path, '/') {
		path = path[:i]
		switch e, ok := entries[path]; {
		case !ok:
			entries[path] = manifest.Entry{Path: path, Type: manifest.Dir, Mode: 0o755}
		case e.Type != manifest.Dir:
			return conflict(path+"/", e.Type)
		default:
			return nil // what is above a listed directory is listed too
		}
	}
	return nil
}

// conflict is about a name that is one thing below files/ and another in manifest.json.
func conflict(path string, listed manifest.Type) error {
	return fmt.Errorf("%q is below %s/ in git, but %s lists it as %s; change one of them",
		path, filesName, manifestName, listed)
}
