package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsAreThoseOfTheAllowEntriesEachOnce(t *testing.T) {
	p := listed(t, []string{"git push -f", "git push origin", "npm t", "./a.out x", "/opt/t", "{call: python3, only: [-m a, -m b]}", "[["}, []string{"rm"})
	want := [][]string{{"git", "push"}, {"npm", "test"}, {"./a.out"}, {"/opt/t"}, {"python3"}, {"test"}}
	if diff := cmp.Diff(want, through(t, p).Commands()); diff != "" {
		t.Error(diff)
	}
}
