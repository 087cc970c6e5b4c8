package reconcile

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refusing is a compiler that refuses everything.
func refusing([]string, func(string) (io.ReadCloser, error)) ([]byte, error) {
	return nil, errors.New("policy/gate.yaml:1: no such key\npolicy/rules.yaml:2: no such kind")
}

func TestCompileRefusesBeforeAnythingIsCommitted(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	r := h.expect(Drifted)
	w := h.must()
	w.Compile = refusing
	_, _, err := w.Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"})
	var policy *PolicyError
	if !errors.As(err, &policy) || len(policy.Problems) != 2 || policy.Problems[1] != "policy/rules.yaml:2: no such kind" {
		t.Fatalf("accept: %v", err)
	}
	if _, err := os.Stat(h.path("repo/.git/refs/heads/main")); err == nil {
		t.Error("something was committed")
	}
	w.Compile = func([]string, func(string) (io.ReadCloser, error)) ([]byte, error) { panic("index out of range") }
	if _, _, err := w.Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); !errors.As(err, &policy) {
		t.Errorf("a compiler that panics: %v", err)
	}
	var seen []string
	w.Compile = func(paths []string, open func(string) (io.ReadCloser, error)) ([]byte, error) {
		seen = paths
		return compileTest(paths, open)
	}
	if _, _, err := w.Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"policy/gate.yaml", "policy/rules.yaml"}, seen); diff != "" {
		t.Errorf("the compiler is given other files:\n%s", diff)
	}
	h.compiled("allow: [git status]\nrules: []\n")
}

// compiled fails the test unless the accepted policy has this compiled form, readable for its group and not for others.
func (h *host) compiled(want string) {
	h.t.Helper()
	path := h.path("state/accepted/claude/compiled")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		h.t.Errorf("compiled: %q %v, want %q", got, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		h.t.Errorf("compiled: %v %v", info, err)
	}
}

func TestDeployAndRollbackRefuseAPolicyThatDoesNotCompile(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	h.accept()
	h.drift("allow: [git log]\n")
	h.accept()
	before := h.git("rev-parse", "HEAD")
	w := h.must()
	w.Compile = refusing
	var policy *PolicyError
	if _, _, err := w.Rollback(context.Background(), h.gate(), "", Decision{By: "ann"}); !errors.As(err, &policy) {
		t.Errorf("rollback: %v", err)
	}
	if after := h.git("rev-parse", "HEAD"); after != before {
		t.Error("rollback committed something")
	}
	h.compiled("allow: [git log]\nrules: []\n")
	if err := os.WriteFile(h.path("repo/vendor-gate/claude/files/policy/gate.yaml"), []byte("allow: [ls]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.git("commit", "-qam", "reviewed")
	if _, err := w.Deploy(context.Background(), h.gate(), Decision{By: "ann"}); !errors.As(err, &policy) {
		t.Errorf("deploy: %v", err)
	}
	h.compiled("allow: [git log]\nrules: []\n")
}

// A generation that a crash left whole but for its compiled form must not be taken for one that was compiled.
func TestAGenerationWithoutItsCompiledFormIsCompiledAnew(t *testing.T) {
	h := newHost(t, "")
	h.publish()
	r := h.expect(Drifted)
	w := h.must()
	w.Compile = nil
	if _, _, err := w.Accept(context.Background(), h.gate(), r.Fingerprint, Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(h.path("state/accepted/claude/compiled")); err == nil {
		t.Fatal("there is a compiled form already")
	}
	h.expect(InSync) // a pass of a release that compiles
	h.compiled("allow: [git status]\nrules: []\n")
	if err := os.WriteFile(h.path("state/accepted/claude/compiled"), []byte("of an older release"), 0o640); err != nil {
		t.Fatal(err)
	}
	h.expect(InSync)
	h.compiled("allow: [git status]\nrules: []\n")
}

func TestAnAcceptedPolicyThatDoesNotCompileIsAFindingAndCanBeMended(t *testing.T) {
	received := newReceiver(t)
	h := newHost(t, received.URL)
	h.publish()
	h.accept()
	w := h.must()
	w.Compile = refusing
	for range 2 {
		pass, err := w.Reconcile(context.Background(), []Gate{h.gate()})
		if err != nil {
			t.Fatal(err)
		}
		r := pass.Reports[0]
		if r.Result != BrokenPolicy || r.Files() != InSync || len(r.Findings[0].Items) != 2 {
			t.Fatalf("%+v", r)
		}
	}
	if n := received.count("broken-policy", "open"); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
	h.drift("allow: [git log]\n")
	pass, err := w.Reconcile(context.Background(), []Gate{h.gate()})
	if err != nil || !pass.Reports[0].Has(Drifted) || !pass.Reports[0].Has(BrokenPolicy) {
		t.Fatalf("%+v %v", pass, err)
	}
	if _, _, err := h.must().Accept(context.Background(), h.gate(), pass.Reports[0].Fingerprint, Decision{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	h.expect(InSync)
	if n := received.count("broken-policy", "closed"); n != 1 {
		t.Errorf("told %d times that it is over, want once", n)
	}
	if !strings.Contains((&PolicyError{"claude", []string{"a:1: b"}}).Error(), "does not compile:\na:1: b") {
		t.Error("the error does not list its problems")
	}
}
