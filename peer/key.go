package peer

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
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
	if ofLowOrder(key) {
		return nil, fmt.Errorf("%q is no public key of a host: there are signatures of anything for it that take no private key", s)
	}
	return key, nil
}

// ofLowOrder reports whether a key, such as one of zeros that holds a place, is one of the few points for which anybody
// can make signatures. The library takes them. No private key has one of them.
func ofLowOrder(key []byte) bool {
	masked := slices.Clone(key)
	masked[len(masked)-1] &= 0x7f // the sign
	return slices.Contains([]string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", // other spellings of the first two
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	}, hex.EncodeToString(masked))
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
