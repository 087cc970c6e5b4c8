package vendorgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing/object"
)

// signTime is how long the signing program may take.
const signTime = 30 * time.Second

// sign returns the signature of a commit that is encoded as payload, or nothing where the configuration wants none.
// Only then does it run a program: the one that git would run.
func (r *Repository) sign(ctx context.Context, who object.Signature, payload []byte) (string, error) {
	if wanted, err := r.wantsSignature(); err != nil || !wanted {
		return "", err
	}
	argv, err := r.signer(who)
	if err != nil {
		return "", fmt.Errorf("sign the commit: %w", err)
	}
	program, err := exec.LookPath(argv[0])
	if err == nil {
		err = trustedAt(program)
	}
	if err != nil {
		return "", fmt.Errorf("sign the commit: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = signEnvironment()
	cmd.Stdin = bytes.NewReader(payload)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal to ask for a passphrase
	cmd.WaitDelay = 5 * time.Second                      // a busy machine may be slow to read what was signed
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("sign the commit: %s: %w: %s", argv[0], errors.Join(err, ctx.Err()), lastLine(problems.String()))
	}
	signature := strings.ReplaceAll(out.String(), "\r", "")
	if !strings.HasPrefix(signature, "-----BEGIN ") {
		return "", fmt.Errorf("sign the commit: %s printed no signature", argv[0])
	}
	return signature, nil
}

// wantsSignature reports whether commits are to be signed. Where only a file that is included under a condition says so,
// that is for a person to decide.
func (r *Repository) wantsSignature() (bool, error) {
	const setting = "commit.gpgsign"
	if _, ok := r.config.get(setting); ok {
		return r.config.boolean(setting, false)
	}
	file, err := r.config.conditional(setting, 0)
	if err == nil && file != "" {
		err = fmt.Errorf("%s sets %s and is included under a condition, which is not looked at here; "+
			"say in the repository what counts: git -C %s config %[2]s true, or false", file, setting, r.path)
	}
	return false, err
}

// signer returns the command that signs what it reads and writes the signature.
func (r *Repository) signer(who object.Signature) ([]string, error) {
	key, _ := r.config.get("user.signingkey")
	format, _ := r.config.get("gpg.format")
	switch format {
	case "", "openpgp":
		if key == "" {
			key = who.Name + " <" + who.Email + ">"
		}
		return []string{r.program("gpg", "gpg.openpgp.program", "gpg.program"), "--batch", "-bsau", key}, nil
	case "ssh":
		switch {
		case key == "":
			return nil, errors.New("user.signingkey is not set; it must be the path of an SSH private key")
		case strings.HasPrefix(key, "key::"), strings.HasPrefix(key, "ssh-"):
			return nil, errors.New("user.signingkey is a key that an agent holds; set it to the path of a private key")
		}
		path := expandHome(key)
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("user.signingkey %q is no absolute path", key)
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("user.signingkey %s does not exist", path)
		}
		return []string{r.program("ssh-keygen", "gpg.ssh.program"), "-Y", "sign", "-n", "git", "-f", path}, nil
	default:
		return nil, fmt.Errorf("gpg.format %q is not supported; use openpgp or ssh, or unset commit.gpgsign", format)
	}
}

// program returns the program that the first of the options names, or else the usual one.
func (r *Repository) program(usual string, options ...string) string {
	for _, option := range options {
		if name, ok := r.config.get(option); ok && name != "" {
			return expandHome(name)
		}
	}
	return usual
}

// signEnvironment is what a signing program needs to find its keys, and nothing that could make it talk to somebody.
func signEnvironment() []string {
	env := []string{"LC_ALL=C", "SSH_ASKPASS_REQUIRE=never"}
	for _, name := range []string{"PATH", "HOME", "GNUPGHOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
