package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// A token is at least as hard to guess as 24 random bytes in hexadecimals, and can stand in a header as it is.
var wellFormed = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{32,512}$`)

// token reads the token from a file, or makes one where none is named.
func token(file string) (secret string, made bool, err error) {
	if file == "" {
		random := make([]byte, 32)
		rand.Read(random)
		return base64.RawURLEncoding.EncodeToString(random), true, nil
	}
	secret, err = readToken(file)
	if err != nil {
		return "", false, fmt.Errorf("read the token: %w", err)
	}
	return secret, false, nil
}

func readToken(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			return "", fmt.Errorf("%s is a link; name the file itself", file)
		}
		if errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%w; make it with: (umask 077; openssl rand -hex 32 >%s)", err, file)
		}
		return "", err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", fmt.Errorf("stat %s: %w", file, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return "", fmt.Errorf("%s is no regular file", file)
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return "", fmt.Errorf("%s belongs to uid %d", file, st.Uid)
	case st.Mode&0o077 != 0:
		return "", fmt.Errorf("%s has mode %04o, and others may read it: chmod 600", file, st.Mode&0o7777)
	}
	data, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(data))
	if !wellFormed.MatchString(secret) {
		return "", fmt.Errorf("%s does not hold one token of 32 to 512 letters and digits: openssl rand -hex 32 makes one", file)
	}
	return secret, nil
}

// authorized reports whether a request has the secret. How long that takes says nothing about it.
func authorized(r *http.Request, secret string) bool {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return false
	}
	scheme, given, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return false
	}
	want, got := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(strings.TrimSpace(given)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
