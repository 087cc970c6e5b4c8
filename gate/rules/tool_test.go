package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAToolsEventIsTheSameEachTime(t *testing.T) {
	args := map[string]any{"path": "/w/a", "filePath": "/w/b", "target_file": "/w/c", "files": map[string]any{"x": "/w/x", "y": "/w/y", "z": "/w/z"}}
	first := Tool("write_file", args, "/w")
	for range 50 {
		if diff := cmp.Diff(first, Tool("write_file", args, "/w")); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestTwoSpellingsOfOneArgumentThatDifferAreNotKnown(t *testing.T) {
	e := Tool("write_file", map[string]any{"filePath": "/w/a", "target_file": "/w/b"}, "/w")
	if !e.unsure("file_path", false) {
		t.Error("a file_path of two values is known")
	}
	e = Tool("write_file", map[string]any{"filePath": "/w/a", "target_file": "/w/a"}, "/w")
	if e.unsure("file_path", false) || e.Args["file_path"] != "/w/a" {
		t.Errorf("a file_path of one value is not: %v", e.Args)
	}
}
