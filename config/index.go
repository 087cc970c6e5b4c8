package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"gatehouse/manifest"
)

// IndexSchema is the schema of root's index.
const IndexSchema = "gatehouse/index/v1"

// A Decide says whose copy of a gate judges. The zero Decide is none of them, and whoever meets it denies.
type Decide string

// The values of decide.
const (
	DecideAccepted Decide = "accepted" // root's accepted copy; a drift changes nothing
	DecideRefuse   Decide = "refuse"   // root's accepted copy, and everything is denied while live differs
	DecideLive     Decide = "live"     // the live files; a drift is only reported
)

func (d Decide) valid() bool { return d == DecideAccepted || d == DecideRefuse || d == DecideLive }

// An Index says which gate is in force for whom on this host.
type Index struct {
	Schema    string
	Host      string
	WrittenAt time.Time
	Gates     []IndexGate
}

// An IndexGate is one gate as the warden last left it. Accepted and Tree are empty until a person has accepted it.
type IndexGate struct {
	Gate        string
	UID         uint32
	User        string
	Decide      Decide
	Accepted    string // directory of the accepted generation
	Tree        string // of the accepted generation
	Export      string
	Live        []manifest.Live
	Limits      manifest.Limits
	Interval    time.Duration
	Result      string // of the last pass, empty before the first
	Fingerprint string // of the open drift, if any
	Restore     *RestoreRequest
}

// A RestoreRequest asks the agent's next publish to replace the live tree From with the accepted tree To. From is empty
// where the warden does not know what is live.
type RestoreRequest struct {
	From string
	To   string
	At   time.Time
}

// ReadIndex reads the index that root wrote to path. An error for which errors.Is(err, fs.ErrNotExist) holds means that
// there is no file, and so no warden; after any other error nothing is known and the caller must deny.
func ReadIndex(path string) (*Index, error) {
	data, err := readTrusted(path, syscall.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	i, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return i, nil
}

// parseIndex reads what Marshal wrote and refuses what it cannot have written.
func parseIndex(data []byte) (*Index, error) {
	var stored storedIndex
	if err := decodeStrict(data, &stored); err != nil {
		return nil, err
	}
	i, err := stored.index()
	if err != nil {
		return nil, err
	}
	if err := i.validate(); err != nil {
		return nil, err
	}
	return i, nil
}

// Marshal writes the index as JSON. It refuses to write what parseIndex would not read.
func (i *Index) Marshal() ([]byte, error) {
	if err := i.validate(); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(store(i), "", "  ")
	if err != nil {
		return nil, err
	}
	if len(data) >= maxFile {
		return nil, fmt.Errorf("the index is larger than %d bytes", maxFile)
	}
	return append(data, '\n'), nil
}

// ForUID lists the gates of a user, in the order of the configuration.
func (i *Index) ForUID(uid uint32) []IndexGate {
	var gates []IndexGate
	for _, g := range i.Gates {
		if g.UID == uid {
			gates = append(gates, g)
		}
	}
	return gates
}

func (i *Index) validate() error {
	var errs []error
	if i.Schema != IndexSchema {
		errs = append(errs, fmt.Errorf("schema: %q is not %s", i.Schema, IndexSchema))
	}
	if why := hostName(i.Host); why != "" {
		errs = append(errs, fmt.Errorf("host: %s", why))
	}
	if i.WrittenAt.IsZero() {
		errs = append(errs, errors.New("written_at: is missing"))
	}
	for n, g := range i.Gates {
		for _, why := range g.wrong() {
			errs = append(errs, fmt.Errorf("gates[%d].%s", n, why))
		}
		if slices.ContainsFunc(i.Gates[:n], func(other IndexGate) bool { return other.Gate == g.Gate }) {
			errs = append(errs, fmt.Errorf("gates[%d].gate: %q is there twice", n, g.Gate))
		}
	}
	return errors.Join(errs...)
}

// wrong lists what is wrong with a gate. It compiles no pattern: that would cost every command, and the scan that uses
// the patterns does it.
func (g *IndexGate) wrong() (problems []string) {
	need := func(ok bool, key, format string, args ...any) {
		if !ok {
			problems = append(problems, key+": "+fmt.Sprintf(format, args...))
		}
	}
	needPath := func(key, path string) { need(absolute(path) == "", key, "%q is not a clean absolute path", path) }
	needTree := func(key, tree string) { need(isDigest(tree), key, "%q is not a SHA-256", tree) }

	need(validName(g.Gate), "gate", "%q is not the name of a gate", g.Gate)
	need(g.User != "" && userName(g.User) == "", "user", "%q is not a user", g.User)
	need(g.Decide.valid(), "decide", "%q is none of accepted, refuse and live", g.Decide)
	if g.Accepted != "" || g.Tree != "" {
		needPath("accepted", g.Accepted)
		needTree("tree", g.Tree)
	}
	needPath("export", g.Export)
	need(len(g.Live) > 0, "live", "is empty")
	for i, l := range g.Live {
		key := fmt.Sprintf("live[%d]", i)
		need(validName(l.Name) && !slices.ContainsFunc(g.Live[:i], func(other manifest.Live) bool {
			return other.Name == l.Name
		}), key+".name", "%q is not the name of one live root", l.Name)
		needPath(key+".root", l.Root)
	}
	need(g.Limits.Entries > 0, "limits.entries", "must be more than 0")
	need(g.Limits.File > 0, "limits.file", "must be more than 0")
	need(g.Limits.Total > 0, "limits.total", "must be more than 0")
	need(g.Interval > 0 && g.Interval%time.Second == 0, "interval_seconds", "must be whole seconds, more than 0")
	need(only(g.Result, "-"), "result", "%q is not a result", g.Result)
	if g.Fingerprint != "" {
		needTree("fingerprint", g.Fingerprint)
	}
	if r := g.Restore; r != nil {
		needTree("restore.to", r.To)
		if r.From != "" {
			needTree("restore.from", r.From)
		}
		need(!r.At.IsZero(), "restore.at", "is missing")
	}
	return problems
}

func isDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
