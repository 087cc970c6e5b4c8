// Package config is what both programs know of a host: warden.yaml, which the operator writes, and root's index of
// gates, which the warden writes and gate reads before each decision.
//
// warden.yaml is decoded strictly and refused as one. Load opens it once, as a file that only root can have written;
// Parse walks the YAML by hand (internal/document), since the decoder of the library knows neither the path of a key nor
// more than one problem; then the values are held against each other (check.go). Every problem is reported at once,
// each as "FILE:LINE: key.path: what is wrong". Anchors, aliases, tags and null values are refused: no setting needs
// them, and each is a way to write something other than it looks. Secrets are named in the file, never written there
// (secret.go).
//
// The index (index.go) is JSON, read in one go and without any part of the YAML reader, because it stands in the way
// of every command that an agent runs.
//
// config knows the types of manifest. It does not know whether a user, a repository or a unit exists: that is for
// whoever uses the value to find out.
package config

import (
	"os"
	"strings"
	"time"

	"gatehouse/internal/document"
	"gatehouse/manifest"
)

// Where the two files are, unless something else is asked for.
const (
	DefaultPath  = "/etc/gatehouse/warden.yaml"
	DefaultIndex = "/etc/gatehouse/gates.json"
)

// maxFile is the largest warden.yaml, and the largest index, that is read.
const maxFile = 1 << 20

// A Config is a warden.yaml that passed every check, with the defaults filled in.
type Config struct {
	Version    int
	Host       string
	Repository string
	Vendored   string
	Index      string
	State      string
	Gates      []Gate
	Notify     Notify
	Schedule   string // not yet parsed; cron knows the grammar
	Peers      *Peers // nil: this host is alone
	Fleet      []FleetGate
	Ping       Ping
}

// A Gate is a set of live files and whose they are.
type Gate struct {
	Name     string
	User     string // a name or a decimal uid; UID resolves it
	Decide   Decide
	Export   string
	Live     []manifest.Live
	LoadedBy []LoadedBy
	Witness  bool
	Interval time.Duration
	Limits   manifest.Limits
}

// LoadedBy is a unit whose process holds live files in its memory.
type LoadedBy struct {
	Unit  string
	Scope Scope
	Files []string // globs over paths in the manifest
}

// A Scope says which manager runs a unit. The zero Scope is none.
type Scope string

// The scopes.
const (
	ScopeSystem Scope = "system"
	ScopeUser   Scope = "user"
)

// Notify says who is told. What is nil is not used.
type Notify struct {
	Slack   *Slack
	Webhook *Webhook
	Journal bool
}

// Slack is a channel and the bot that may write to it.
type Slack struct {
	Channel string
	Token   Secret
	APIURL  string // empty: Slack's own
}

// Webhook is an address that takes JSON. Without a Secret the messages are not signed.
type Webhook struct {
	URL    string
	Secret Secret
}

// Load reads the warden.yaml at path, which must be a regular file that belongs to root or to the caller and that
// nobody else can write.
func Load(path string) (*Config, error) {
	data, err := readTrusted(path, 0)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads a warden.yaml. It returns an error that lists everything wrong with it, or a Config that is safe to act
// on; nothing in between. The name stands in front of each problem.
func Parse(name string, data []byte) (*Config, error) {
	c := &Config{
		Vendored: "vendor-gate",
		Index:    DefaultIndex,
		State:    "/var/lib/gatehouse",
		Notify:   Notify{Journal: true},
		Schedule: "@hourly",
	}
	doc := document.New(name)
	if root, ok := doc.Parse(data); ok {
		c.read(root)
		if c.Host == "" && !doc.Has("host") {
			c.Host = machineName(doc)
		}
		c.check(doc)
		if p := c.Peers; p != nil && p.Key == "" {
			p.Key = Secret("file:" + c.State + "/peers/host.key")
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

func machineName(doc *document.Document) string {
	name, err := os.Hostname()
	if err != nil {
		doc.Bad("host", "cannot find out this machine's host name (%v); give host", err)
		return ""
	}
	name = strings.ToLower(name)
	if why := hostName(name); why != "" {
		doc.Bad("host", "is not given, and this machine's host name %s", why)
	}
	return name
}
