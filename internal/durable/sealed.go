package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrCorrupt means that a sealed file does not hold what was written: cut short, filled with zeros, or edited.
var ErrCorrupt = errors.New("corrupt: its checksum does not match")

const sealPrefix = "sha256:"

// WriteSealed is WriteFile with a line before data that holds its SHA-256.
func (d Disk) WriteSealed(name string, data []byte, perm fs.FileMode) error {
	sum := sha256.Sum256(data)
	sealed := append([]byte(sealPrefix+hex.EncodeToString(sum[:])+"\n"), data...)
	return d.WriteFile(name, sealed, perm)
}

// ReadSealed returns what WriteSealed wrote, or an error that wraps ErrCorrupt and names the file.
func ReadSealed(name string) ([]byte, error) {
	sealed, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	seal, data, found := bytes.Cut(sealed, []byte("\n"))
	sum := sha256.Sum256(data)
	if !found || string(seal) != sealPrefix+hex.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("read %s: %w", name, ErrCorrupt)
	}
	return data, nil
}
