package peer

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// What stands before keys where they are written down.
const (
	publicPrefix  = "ed25519:"
	privatePrefix = "ed25519-private:"
)

// NewKey makes the key of a host.
func NewKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// FormatKey writes a public key as an inventory has it.
func FormatKey(key ed25519.PublicKey) string {
	return publicPrefix + base64.StdEncoding.EncodeToString(key)
}

// ParseKey reads what FormatKey writes.
func ParseKey(s string) (ed25519.PublicKey, error) {
	key, err := decodeKey(s, publicPrefix, ed25519.PublicKeySize)
	if err != nil {
		return nil, fmt.Errorf("%q is no public key of a host: %w", s, err)
	}
	return key, nil
}

// FormatPrivateKey writes a private key as the file of a host holds it.
func FormatPrivateKey(key ed25519.PrivateKey) string {
	return privatePrefix + base64.StdEncoding.EncodeToString(key.Seed())
}

// ParsePrivateKey reads what FormatPrivateKey writes. Errors do not repeat it.
func ParsePrivateKey(s string) (ed25519.PrivateKey, error) {
	if strings.HasPrefix(s, publicPrefix) {
		return nil, errors.New("it holds a public key, not one that begins with " + privatePrefix + " as a private key does")
	}
	seed, err := decodeKey(s, privatePrefix, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("it holds no private key of a host: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func decodeKey(s, prefix string, size int) ([]byte, error) {
	encoded, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return nil, fmt.Errorf("it does not begin with %s", prefix)
	}
	key, ok := decodeBase64(encoded)
	if !ok || len(key) != size {
		return nil, fmt.Errorf("what follows %s is not %d bytes in base64", prefix, size)
	}
	return key, nil
}

// decodeBase64 reads the one spelling that there is of some bytes; the library passes over line breaks.
func decodeBase64(s string) ([]byte, bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	return data, err == nil && base64.StdEncoding.EncodeToString(data) == s
}

// KeyID names a public key in few letters, for people to compare.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}
