package reconcile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"gatehouse/manifest"
)

func TestAHubThatIsFollowedAgainBringsBackNoOlderReview(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	adopt := func(hub string, sequence uint64, content string) error {
		h.t.Helper()
		entries := set(content)
		entries[1].SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		g := manifest.NewGeneration("claude", entries)
		_, _, err := h.must().Adopt(context.Background(), h.gate(), Adopted{Hub: hub, Sequence: sequence, Commit: strings.Repeat("c", 40),
			By: "ann", Generation: g, Open: func(manifest.Entry) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(content)), nil
			}})
		in, failed := h.must().AcceptedTree(h.gate())
		if failed != nil {
			t.Fatal(failed)
		}
		if (in == g.Tree) != (err == nil) {
			t.Errorf("%s %d: in force: %v, and the error is %v", hub, sequence, in == g.Tree, err)
		}
		return err
	}
	for _, step := range []struct {
		hub      string
		sequence uint64
		content  string
		refused  bool
	}{
		{"a", 4, "one", false},
		{"a", 5, "two", false},
		{"b", 2, "three", false},
		{"a", 4, "one", true},   // from before
		{"a", 5, "other", true}, // there was another 5
		{"a", 5, "two", false},  // as it was
		{"b", 1, "one", true},
		{"b", 3, "four", false},
		{"a", 6, "five", false},
		{"b", 2, "three", true},
	} {
		err := adopt(step.hub, step.sequence, step.content)
		if errors.Is(err, ErrNotAcceptable) != step.refused || !step.refused && err != nil {
			t.Fatalf("%s %d: %v", step.hub, step.sequence, err)
		}
	}
}
