package vendorgate

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommitInAnEmptyRepository(t *testing.T) {
	for _, args := range [][]string{nil, {"--bare"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			g := newGitRepo(t, args...)
			commit := g.accept(first)
			if got := g.line("rev-parse", "HEAD"); got != commit {
				t.Errorf("HEAD is %s, want %s", got, commit)
			}
			g.fsck()
			if args == nil {
				if got := g.git("status", "--porcelain=v2"); got != "" {
					t.Errorf("status after the commit:\n%s", got)
				}
			}
			g.accept(second)
			g.fsck()
			want := gateDir + "/files/policy/gate.yaml\n" + gateDir + "/files/policy/old.yaml\n" +
				gateDir + "/files/policy/rules/b.yaml\n" + gateDir + "/manifest.json\n"
			if got := g.git("diff", "--name-only", "HEAD^", "HEAD"); got != want {
				t.Errorf("the second commit changes\n%s, want\n%s", got, want)
			}
			v := g.accepted()
			if diff := cmp.Diff(second.generation(), v.Generation); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			f, err := v.Open("policy/gate.yaml")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if data, err := io.ReadAll(f); err != nil || string(data) != second["policy/gate.yaml"] {
				t.Errorf("policy/gate.yaml is %q, %v", data, err)
			}
		})
	}
}
