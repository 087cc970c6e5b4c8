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

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}
