package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fileOrRoom = regexp.MustCompile("`([a-z][a-z-]*(?:/[a-z_-]+)*(?:/?[a-z_]+\\.go)?)`")

func TestTheWalkNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "house.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		var rooms, bare []string
		for _, match := range fileOrRoom.FindAllStringSubmatch(paragraph, -1) {
			name := match[1]
			file := strings.HasSuffix(name, ".go")
			switch {
			case file && !strings.Contains(name, "/"):
				bare = append(bare, name)
			case !exists(name) && (file || strings.Contains(name, "/")):
				t.Errorf("docs/house.md: there is no %s", name)
			case exists(name):
				found++
				rooms = append(rooms, strings.TrimSuffix(name, "/"+path.Base(name)), name)
			}
		}
		for _, name := range bare {
			found++
			if !slices.ContainsFunc(rooms, func(room string) bool { return exists(path.Join(room, name)) }) {
				t.Errorf("docs/house.md: there is no %s in %v, the rooms of its paragraph", name, rooms)
			}
		}
	}
	if found < 30 {
		t.Errorf("docs/house.md: only %d files and rooms found", found)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	marks   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere follows the links of the pages. They stay among the pages that the package has too, in the same
// directories.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	text := map[string]string{}
	for _, file := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"), filepath.Join(root, "BENCHMARKS.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(data)
	}
	for name, page := range text {
		for _, match := range link.FindAllStringSubmatch(page, -1) {
			file, anchor, _ := strings.Cut(match[1], "#")
			if strings.HasPrefix(file, "https:") {
				continue
			}
			target := path.Join(path.Dir(name), file)
			if file == "" {
				target = name
			}
			there, ok := text[target]
			if !ok {
				t.Errorf("%s: %s is none of the pages", name, match[1])
			}
			if anchor != "" && !slices.Contains(anchors(there), anchor) {
				t.Errorf("%s: %s has no heading for %q", name, target, anchor)
			}
		}
	}
}

// anchors are the names under which the headings of a page can be linked to.
func anchors(page string) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		names = append(names, strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	return names
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}
