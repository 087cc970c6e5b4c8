package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatehouse/config"
	"gatehouse/gate/policy"
	"gatehouse/internal/durable"
)

// The modes of a Provenance.
const (
	ModeAccepted = "accepted" // root's accepted copy decides
	ModeLive     = "live"     // the files of the agent's user decide
	ModeGiven    = "given"    // a person named the policy on the command line
	ModeNone     = "none"     // no policy that counts; everything is denied
)

// A Gate judges the requests of one user by the policies that are in force for that user.
type Gate struct {
	options Options
	index   string // path of root's index
	listed  bool   // the index lists the user
	sources []*source
	home    string
	state   string // of the agent's side
	disk    Disk
	writes  durable.Disk
	now     func() time.Time
	once    sync.Once
	ours    []string // what self-protection covers in any project
	program string   // the file of this program, which is among them
}

// A source is one policy that decides, or the reason why none does.
type source struct {
	from    Provenance
	entry   config.IndexGate // of root's index, if it is listed
	content content
	err     error  // why everything is denied; nil: it is not
	hint    string // the way out
	drift   bool   // err is that live differs from what was accepted
}

func open(o Options) (*Gate, error) {
	if o.Strict && o.Policy != "" {
		return nil, errors.New("whoever enforces takes no policy from its command line")
	}
	g := &Gate{options: o, index: o.Index, home: o.Home, state: o.State, disk: machine{}, writes: o.Disk, now: o.Now}
	if g.index == "" {
		g.index = config.DefaultIndex
	}
	if g.now == nil {
		g.now = time.Now
	}
	entries, err := lookUp(g.index, o.UID)
	g.listed = len(entries) > 0
	if g.home == "" || g.listed {
		g.home = homeOf(o.UID) // what the environment says counts for nothing where root says who is judged
	}
	if g.state == "" && g.home != "" {
		g.state = filepath.Join(g.home, ".local", "state", "gatehouse")
	}
	given := o.Policy
	if given == "" && !o.Strict && !g.listed && o.Getenv != nil {
		given, _ = o.Getenv("GATEHOUSE_POLICY")
	}
	switch {
	case err != nil:
		g.sources = []*source{refusing(Provenance{Mode: ModeNone}, err, "only root can mend the index of gates")}
	case given != "":
		g.sources = []*source{live(Provenance{Mode: ModeGiven}, given)}
	case g.listed:
		for _, e := range entries {
			if s := g.listedSource(e); s != nil {
				g.sources = append(g.sources, s)
			}
		}
		if len(g.sources) == 0 {
			g.sources = []*source{refusing(Provenance{Gate: entries[0].Gate, Mode: ModeNone, Decide: entries[0].Decide},
				errors.New("none of the gates that root's index lists for this user has a gate.yaml"), "")}
		}
	case g.home == "":
		g.sources = []*source{refusing(Provenance{Mode: ModeNone}, errors.New("the user has no home directory to find a policy in"), "")}
	default:
		g.sources = []*source{live(Provenance{Mode: ModeLive}, filepath.Join(g.home, ".config", "gatehouse"))}
	}
	return g, nil
}

// lookUp returns the gates that root's index lists for a user. Only where there is no index is there no warden.
func lookUp(index string, uid uint32) ([]config.IndexGate, error) {
	i, err := config.ReadIndex(index)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("which policy is in force is not known: %w", err)
	}
	return i.ForUID(uid), nil
}

// homeOf is the home directory of a user, "" if there is none. The file of accounts comes first: the C library, where the
// program is linked with it, starts a thread for the same answer, and may ask the network.
func homeOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	accounts, _ := readRegular("/etc/passwd", 1<<20)
	home := homeIn(string(accounts), id)
	if home == "" {
		if u, err := user.LookupId(id); err == nil {
			home = u.HomeDir
		}
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Clean(home)
}

// homeIn is what lines of name:password:uid:gid:comment:home:shell say.
func homeIn(accounts, uid string) string {
	for line := range strings.Lines(accounts) {
		if fields := strings.SplitN(line, ":", 7); len(fields) == 7 && fields[2] == uid && strings.IndexByte("+-#", line[0]) < 0 {
			return fields[5]
		}
	}
	return ""
}

func refusing(from Provenance, err error, hint string) *source {
	return &source{from: from, err: err, hint: hint}
}

// live is a policy in a directory, or a single gate.yaml.
func live(from Provenance, path string) *source {
	s := &source{from: from}
	path, err := filepath.Abs(path)
	if err != nil {
		s.err = err
		return s
	}
	s.from.Dir = path
	s.content, s.err = readPolicy(path)
	s.from.Tree = s.content.tree
	if errors.Is(s.err, fs.ErrNotExist) {
		s.err = fmt.Errorf("there is no policy: %w", s.err)
		s.hint = "a person can make one with gate init"
		s.from.Mode = ModeNone
	}
	return s
}

// listedSource is the policy of a gate in root's index; nil where the gate has none.
func (g *Gate) listedSource(e config.IndexGate) *source {
	from := Provenance{Gate: e.Gate, Decide: e.Decide, Mode: ModeAccepted, Dir: e.Accepted, Tree: e.Tree, Fingerprint: e.Fingerprint}
	var s *source
	switch {
	case e.Decide == config.DecideLive:
		from.Mode, from.Tree = ModeLive, ""
		for _, root := range e.Live {
			if _, err := os.Lstat(filepath.Join(root.Root, policyFile)); err == nil {
				s = live(from, root.Root)
				s.entry = e
				return s.compare()
			}
		}
		return nil
	case e.Decide != config.DecideAccepted && e.Decide != config.DecideRefuse:
		return refusing(from, fmt.Errorf("root's index says %q of gate %s, which this program does not know", e.Decide, e.Gate), "")
	case e.Accepted == "":
		from.Mode = ModeNone
		return refusing(from, fmt.Errorf("nobody has accepted gate %s yet", e.Gate), "a person can look at it and accept it with: warden accept")
	}
	s = &source{from: from, entry: e}
	s.content, s.err = readAccepted(e.Accepted, e.Limits)
	if s.err == nil && !s.content.has {
		return nil
	}
	if s.err != nil {
		s.hint = "root can look at it with: warden status " + e.Gate
		return s
	}
	if root := s.content.policy.Paths.Root; root == policy.Cwd {
		s.err = errors.New("paths.root: cwd is not for an accepted policy, since the agent chooses its working directory")
	}
	return s.compare()
}

// compare notes whether the live files differ from what was accepted, and denies everything where the gate says so.
func (s *source) compare() *source {
	s.from.Change = s.differs()
	s.from.Differs = s.from.Change != ""
	if s.err == nil && s.from.Differs && s.entry.Decide == config.DecideRefuse {
		s.drift = true
		s.err = fmt.Errorf("the live files of gate %s are not those that a person accepted: %s", s.entry.Gate, s.from.Change)
		s.hint = "gate restore puts the accepted files back; a person can look at the change with warden diff"
		if s.entry.Fingerprint != "" {
			s.hint += " d-" + s.entry.Fingerprint[:12]
		}
	}
	return s
}

// differs says how the live files are known to differ from the accepted ones: by the last pass of the warden, or by what
// a stat of them shows since. "" means that nothing is known.
func (s *source) differs() string {
	if s.entry.Fingerprint != "" {
		return "drift d-" + s.entry.Fingerprint[:12] + " is open"
	}
	switch s.entry.Result {
	case "publisher-disagrees", "mismatch", "replayed", "diverged", "drifted", "behind", "rejected", "unpublished":
		return "the last pass of the warden says " + s.entry.Result
	}
	if s.entry.Decide != config.DecideRefuse || s.err != nil {
		return ""
	}
	return s.changedSince()
}

// changedSince compares the live policy files with the accepted ones, byte for byte: they are few and small.
func (s *source) changedSince() string {
	root := ""
	for _, l := range s.entry.Live {
		if l.Name == s.content.name {
			root = l.Root
		}
	}
	if root == "" {
		return ""
	}
	accepted := make(map[string]bool, len(s.content.files))
	for _, f := range s.content.files {
		accepted[f.name] = true
		path := filepath.Join(root, f.name)
		data, err := readWhole(path)
		if err != nil {
			return err.Error()
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.sha256 {
			return path + " has changed"
		}
	}
	for _, name := range append([]string{policyFile}, rulesFiles[:]...) {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil && !accepted[name] {
			return filepath.Join(root, name) + " is new"
		}
	}
	specs, _, _ := machine{}.List(filepath.Join(root, specsDir), maxSpecs)
	for _, s := range specs {
		if name := specsDir + s.Name(); decides(name) && !accepted[name] {
			return filepath.Join(root, name) + " is new"
		}
	}
	return ""
}

// Provenance says which policy decides; of several, the first that denies everything, else the first.
func (g *Gate) Provenance() Provenance { return g.first().from }

// Problem says why everything is denied, nil if it is not.
func (g *Gate) Problem() error { return g.first().err }

// Policy is the policy that decides; of several the first, nil where there is none.
func (g *Gate) Policy() *policy.Policy { return g.first().content.policy }

// Withheld are the fixes of that policy which are not offered, since a rule beside it refuses them.
func (g *Gate) Withheld() []policy.Problem { return g.first().content.withheld }

func (g *Gate) first() *source {
	for _, s := range g.sources {
		if s.err != nil {
			return s
		}
	}
	return g.sources[0]
}

// StateDir is where the agent's side keeps its log and its memory.
func (g *Gate) StateDir() string { return g.state }

// Home is the home directory of the user that is judged.
func (g *Gate) Home() string { return g.home }
