package vendorgate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/durable"
)

// sshKey makes a key and lets git verify with it.
func sshKey(t *testing.T, g *gitRepo, passphrase string) (key string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("needs ssh-keygen")
	}
	key = filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	write(t, key+".allowed", "op@example "+string(public))
	g.git("config", "commit.gpgsign", "true")
	g.git("config", "gpg.format", "ssh")
	g.git("config", "user.signingkey", key)
	g.git("config", "gpg.ssh.allowedSignersFile", key+".allowed")
	return key
}

func TestCommitIsSignedWithSSH(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".pub"} {
		g := newGitRepo(t)
		key := sshKey(t, g, "")
		g.git("config", "user.signingkey", key+suffix)
		commit := g.accept(first)
		out, err := gitCommand(g.path, "verify-commit", commit).CombinedOutput()
		if err != nil || !strings.Contains(string(out), `Good "git" signature for op@example`) {
			t.Errorf("git verify-commit: %v\n%s", err, out)
		}
		g.fsck()
		if got := g.line("log", "-1", "--format=%G?"); got != "G" {
			t.Errorf("git log calls the signature %q", got)
		}
	}
}

func TestCommitIsSignedWithGPG(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("needs gpg")
	}
	home, err := os.MkdirTemp("", "gpg") // the name of the agent's socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	})
	t.Setenv("GNUPGHOME", home)
	cmd := exec.Command("gpg", "--batch", "--passphrase", "",
		"--quick-gen-key", "Op Erator <op@example>", "default", "default", "never")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gpg: %v\n%s", err, out)
	}
	g := newGitRepo(t)
	g.git("config", "commit.gpgsign", "true")
	commit := g.accept(first)
	out, err := gitCommand(g.path, "verify-commit", commit).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Good signature") {
		t.Errorf("git verify-commit: %v\n%s", err, out)
	}
	g.fsck()
}

func TestConditionsThatSayNothingOfSigningAreNoObstacle(t *testing.T) {
	t.Parallel()
	g := newGitRepo(t)
	g.git("config", "includeIf.gitdir:/elsewhere/.path", "work")
	g.git("config", "includeIf.gitdir:/nowhere/.path", "/nowhere/config")
	write(t, filepath.Join(g.path, ".git/work"), "[user]\n\tname = At Work\n")
	g.accept(first)
	write(t, filepath.Join(g.path, ".git/work"), "[commit]\n\tgpgSign = true\n")
	g.git("config", "commit.gpgsign", "false") // for this repository that is settled
	g.accept(second)
}

func TestCommitIsNotMadeWhenSigningFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		configure func(t *testing.T, g *gitRepo)
		want      string
	}{
		{"no key", func(t *testing.T, g *gitRepo) { g.git("config", "gpg.format", "ssh") }, "user.signingkey is not set"},
		{"key is missing", func(t *testing.T, g *gitRepo) {
			g.git("config", "gpg.format", "ssh")
			g.git("config", "user.signingkey", "/nowhere/key")
		}, "/nowhere/key does not exist"},
		{"relative key", func(t *testing.T, g *gitRepo) {
			g.git("config", "gpg.format", "ssh")
			g.git("config", "user.signingkey", "key")
		}, "no absolute path"},
		{"agent's key", func(t *testing.T, g *gitRepo) {
			g.git("config", "gpg.format", "ssh")
			g.git("config", "user.signingkey", "key::ssh-ed25519 AAAA")
		}, "path of a private key"},
		{"passphrase", func(t *testing.T, g *gitRepo) { sshKey(t, g, "secret") }, "ssh-keygen"},
		{"x509", func(t *testing.T, g *gitRepo) { g.git("config", "gpg.format", "x509") }, "openpgp or ssh"},
		{"no program", func(t *testing.T, g *gitRepo) { g.git("config", "gpg.program", "/nowhere/gpg") }, "/nowhere/gpg"},
		{"program fails", func(t *testing.T, g *gitRepo) { g.git("config", "gpg.program", "/bin/false") }, "/bin/false"},
		{"program says nothing", func(t *testing.T, g *gitRepo) { g.git("config", "gpg.program", "/bin/true") }, "no signature"},
		{"somebody else's program", func(t *testing.T, g *gitRepo) {
			if os.Geteuid() != 0 {
				t.Skip("needs root: gives files to another user")
			}
			program := filepath.Join(t.TempDir(), "gpg")
			write(t, program, "#!/bin/sh\necho -----BEGIN\n")
			if err := errors.Join(os.Chmod(program, 0o755), os.Chown(program, 65534, -1)); err != nil {
				t.Fatal(err)
			}
			g.git("config", "gpg.program", program)
		}, "belongs to uid 65534"},
		{"under a condition", func(t *testing.T, g *gitRepo) {
			g.git("config", "--unset", "commit.gpgsign")
			g.git("config", "includeIf.gitdir:"+g.path+"/.path", "signed")
			write(t, filepath.Join(g.path, ".git/signed"), "[commit]\n\tgpgSign = true\n")
		}, "config commit.gpgsign true"},
		{"under two conditions", func(t *testing.T, g *gitRepo) {
			g.git("config", "--unset", "commit.gpgsign")
			g.git("config", "includeIf.onbranch:main.path", "one")
			write(t, filepath.Join(g.path, ".git/one"), "[includeIf \"gitdir:"+g.path+"/\"]\n\tpath = signed\n")
			write(t, filepath.Join(g.path, ".git/signed"), "[commit]\n\tgpgSign\n")
		}, "config commit.gpgsign true"},
		{"a condition that includes itself", func(t *testing.T, g *gitRepo) {
			g.git("config", "--unset", "commit.gpgsign")
			g.git("config", "includeIf.onbranch:x.path", "config")
		}, "include each other"},
		{"odd switch", func(t *testing.T, g *gitRepo) { g.git("config", "commit.gpgsign", "maybe") }, "commit.gpgsign"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newGitRepo(t)
			g.accept(first)
			g.git("config", "commit.gpgsign", "true")
			test.configure(t, g)
			before := g.whole()
			start := time.Now()
			commit, err := g.tryAccept(durable.Disk{}, second)
			if commit != "" || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got commit %q and error %v, want %q", commit, err, test.want)
			}
			if took := time.Since(start); took > signTime {
				t.Errorf("it took %v: something waited for a passphrase", took)
			}
			after := g.whole()
			delete(before, "objects")
			delete(after, "objects")
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the refused commit changed (-before +after):\n%s", diff)
			}
		})
	}
}
