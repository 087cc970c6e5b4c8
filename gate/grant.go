package gate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const grantSchema = "gatehouse/grant/v1"

// grantFile is a grant as root writes it.
type grantFile struct {
	Schema    string    `json:"schema"`
	Gate      string    `json:"gate"`
	Decision  string    `json:"decision"`
	Subject   string    `json:"subject"`
	GrantedAt time.Time `json:"granted_at"`
	BootID    string    `json:"boot_id"`
	ExpiresAt time.Time `json:"expires_at"`
	By        string    `json:"by"`
}

// granted returns root's exception for a subject, nil if there is none that counts. Only a policy that root accepted has
// exceptions.
func (g *Gate) granted(s *source, subject string) *Grant {
	if s.from.Mode != ModeAccepted || subject == "" {
		return nil
	}
	data, err := readTrusted(filepath.Join(rootState(s.entry), "grants", s.entry.Gate, subject+".json"))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return nil
	}
	var f grantFile
	if json.Unmarshal([]byte(data), &f) != nil || f.Schema != grantSchema || f.Gate != s.entry.Gate || f.Subject != subject {
		return nil
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || f.BootID == "" || f.BootID != strings.TrimSpace(string(boot)) {
		return nil
	}
	if now := g.now(); now.Before(f.GrantedAt) || !now.Before(f.ExpiresAt) {
		return nil
	}
	return &Grant{Decision: f.Decision, By: f.By, ExpiresAt: f.ExpiresAt}
}
