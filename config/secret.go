package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSecret is the largest secret that is read.
const maxSecret = 64 << 10

// CredentialDir is where the files of credential:NAME lie on an installed host. systemd hands them to the units; a
// person who runs a command as root can read them there.
const CredentialDir = "/etc/gatehouse/credentials"

// A Secret is where a secret is kept, not the secret: credential:NAME is a file in $CREDENTIALS_DIRECTORY, which
// systemd fills (LoadCredential=), outside of a unit one in CredentialDir; env:NAME a variable, file:/PATH a file that only its owner and group can read.
// Errors name the place and what to do; they never hold the value.
type Secret string

// Read fetches the secret, without a line break at its end.
func (s Secret) Read() (string, error) {
	kind, name, _ := strings.Cut(string(s), ":")
	if !s.valid() {
		return "", errors.New("read secret: it has none of the forms credential:NAME, env:NAME and file:/PATH")
	}
	var text string
	var err error
	switch kind {
	case "credential":
		text, err = readCredential(name)
	case "env":
		text = os.Getenv(name)
	case "file":
		text, err = readSecretFile(name)
	}
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", s, err)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if text == "" {
		return "", fmt.Errorf("read secret %s: it is empty or not set", s)
	}
	return text, nil
}

func (s Secret) valid() bool {
	kind, name, _ := strings.Cut(string(s), ":")
	switch kind {
	case "credential":
		return name != "" && len(name) <= 255 && name[0] != '.' && only(strings.ToLower(name), "-_.")
	case "env":
		return name != "" && !numeric(name[:1]) && only(strings.ToLower(name), "_")
	case "file":
		return path.IsAbs(name) && path.Clean(name) == name && name != "/"
	default:
		return false
	}
}

func readCredential(name string) (string, error) {
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		return readLimited(filepath.Join(dir, name), 0)
	}
	kept := filepath.Join(CredentialDir, name)
	text, err := readLimited(kept, 0o077)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; write the secret into it, with mode 0600", err)
	}
	return text, err
}

func readSecretFile(name string) (string, error) { return readLimited(name, 0o007) }

// readLimited reads a regular file that has none of the permissions in refuse.
func readLimited(name string, refuse os.FileMode) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case info.Mode().Perm()&refuse != 0:
		return "", fmt.Errorf("others can use it (mode %04o); fix it with: chmod %s %s", info.Mode().Perm(), map[os.FileMode]string{0o007: "o=", 0o077: "go="}[refuse], name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxSecret {
		return "", fmt.Errorf("it is larger than %d bytes", maxSecret)
	}
	return string(data), nil
}
