package harness

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// spelled returns the arguments of a tool, with those files under paths that a client would find in them and a plain
// look at the usual members would not: deeper inside, under a second name for the same, or spelled as only the client
// reads it ("~/x", "file:///x", "@x", with space around).
func spelled(args object, cwd, home string) object {
	var found []any
	names := 0
	for key := range args {
		if _, alias := plainly(key); alias {
			names++
		}
	}
	add := func(key string, top bool, text string) {
		file, local := spell(text, home)
		plain, alias := plainly(key)
		switch {
		case text == "", web(key) && !local:
			return
		case top && plain && file == text && !strings.Contains(text, "://") && (!alias || names == 1):
			return // it is looked at as it stands
		}
		if !path.IsAbs(file) && cwd != "" {
			file = path.Join(cwd, file)
		}
		if file = path.Clean(file); !slices.Contains(found, any(file)) {
			found = append(found, file)
		}
	}
	filesIn(args, "", 0, add)
	if len(found) == 0 {
		return args
	}
	args = maps.Clone(args)
	for _, p := range allTexts(args["paths"]) {
		found = append(found, p)
	}
	args["paths"] = found
	return args
}

// filesIn calls add for each text that stands below a name for files.
func filesIn(v any, key string, depth int, add func(key string, top bool, text string)) {
	switch v := v.(type) {
	case string:
		if key != "" {
			add(key, depth == 1, v)
		}
	case []any:
		for _, item := range v {
			filesIn(item, key, depth, add)
		}
	case object:
		for _, k := range sortedKeys(v) {
			inner := key
			if namesFile(k) {
				inner = k
			}
			filesIn(v[k], inner, depth+1, add)
		}
	}
}

// namesFile reports whether members of that name hold files, in whatever client's spelling: notebook_path, targetFile.
func namesFile(key string) bool {
	key = strings.TrimSuffix(key, "s")
	for _, word := range []string{"path", "file", "filename", "filepath", "dir", "directory", "directorie", "source", "destination", "uri", "url"} {
		before, ok := strings.CutSuffix(key, word)
		if ok && (before == "" || strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-")) || strings.HasSuffix(key, strings.ToUpper(word[:1])+word[1:]) {
			return true
		}
	}
	return false
}

// web reports whether members of that name hold addresses, which may be those of files.
func web(key string) bool {
	key = strings.ToLower(strings.TrimSuffix(key, "s"))
	return strings.HasSuffix(key, "uri") || strings.HasSuffix(key, "url")
}

// plainly reports whether rules look for files under that name at the top, and whether it is one of the names that they
// take for the same: of several, they see one.
func plainly(key string) (plain, alias bool) {
	switch key {
	case "file_path", "path", "filePath", "filepath", "absolute_path", "target_file", "filename":
		return true, true
	case "notebook_path", "paths", "file", "files", "directory", "source", "destination":
		return true, false
	default:
		return false, false
	}
}

// spell is the file that a client may read a text as, and whether the text is the address of a file.
func spell(text, home string) (file string, local bool) {
	file = strings.Map(func(c rune) rune { // macOS writes other spaces into names, and some clients make them plain
		if isSpace(c) {
			return ' '
		}
		return c
	}, strings.TrimPrefix(strings.TrimFunc(text, isSpace), "@"))
	if local = len(file) > 5 && strings.EqualFold(file[:5], "file:"); local {
		rest := file[5:]
		if host, ok := strings.CutPrefix(rest, "//"); ok {
			rest = host[max(0, strings.IndexByte(host, '/')):]
		}
		rest, _, _ = strings.Cut(rest, "?")
		rest, _, _ = strings.Cut(rest, "#")
		if plain, err := url.PathUnescape(rest); err == nil {
			rest = plain
		}
		file = rest
	}
	if rest, ok := strings.CutPrefix(file, "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
		file = path.Join(home, rest)
	}
	return file, local
}

// isSpace is what JavaScript trims, and a little more.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }

// allTexts are the texts in a value, however deep.
func allTexts(v any) (all []string) {
	filesIn(v, "paths", 0, func(_ string, _ bool, text string) { all = append(all, text) })
	return all
}

// patchBegin is the first line of a patch in the format that agents write.
const patchBegin = "*** Begin Patch"

// patched lists the files that a patch names. Lines of content that look like the name of a file count as one: there can
// only be more of them than there are.
func patched(text string) (files []any) {
	for l := range strings.Lines(text) {
		for _, mark := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if file, ok := strings.CutPrefix(strings.TrimSpace(l), mark); ok {
				files = append(files, strings.TrimSpace(file))
			}
		}
	}
	return files
}
