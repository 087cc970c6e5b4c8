package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gatehouse/config"
	"gatehouse/manifest"
)

// newConfig is the configuration of a host that had none: commented, with what was asked for in its place.
//
//go:embed warden.yaml
var newConfig string

// gateOptions are what is asked of the first gate of a host.
type gateOptions struct {
	name, user string
	live       []string // NAME=ROOT
	repository string
}

func (o gateOptions) given() bool { return o.name != "" || o.user != "" || len(o.live) > 0 }

// firstGate is what install offers where nothing says which gate to watch.
const firstGate = "--gate claude --user agent --live policy=/home/agent/.config/gatehouse"

// write returns the configuration as it was asked for, and what it means. The name of the file is only for messages.
func (o gateOptions) write(name string) ([]byte, *config.Config, error) {
	if !o.given() {
		return nil, nil, fmt.Errorf("there is no %s yet, and nothing says which gate to watch; name one: "+
			"warden install %s; or write the file first", name, firstGate)
	}
	if o.name == "" || o.user == "" {
		return nil, nil, errors.New("--gate and --user belong together: the name of the gate, and the user that its agent runs as")
	}
	live, err := o.liveRoots()
	if err != nil {
		return nil, nil, err
	}
	text := strings.NewReplacer(
		"REPOSITORY", word(o.repository),
		"GATE", word(o.name),
		"USER", word(o.user),
		"      LIVE\n", live,
	).Replace(newConfig)
	c, err := config.Parse("the new configuration", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	return []byte(text), c, nil
}

// liveRoots returns the lines of the live roots. Without any, the policy lies where gate looks for it by itself.
func (o gateOptions) liveRoots() (string, error) {
	live := o.live
	if len(live) == 0 {
		u, err := lookUp(o.user)
		if err != nil {
			return "", err
		}
		live = []string{"policy=" + filepath.Join(u.HomeDir, ".config/gatehouse")}
	}
	var lines strings.Builder
	for _, l := range live {
		name, root, ok := strings.Cut(l, "=")
		if !ok || name == "" || root == "" {
			return "", fmt.Errorf("--live %q: give NAME=ROOT, as in policy=/home/agent/.config/gatehouse", l)
		}
		exclude := ""
		if name == "policy" {
			exclude = `, exclude: ["flags/**"]` // flags of this machine's programs, never vendored
		}
		fmt.Fprintf(&lines, "      - {name: %s, root: %s%s}\n", word(name), word(root), exclude)
	}
	return lines.String(), nil
}

// fits reports that the gate which was asked for is not the one in the configuration of this host, which is never
// changed.
func (o gateOptions) fits(path string, c *config.Config) error {
	if !o.given() {
		return nil
	}
	if o.name == "" {
		return errors.New("--user and --live belong to a gate; name it with --gate")
	}
	i := slices.IndexFunc(c.Gates, func(g config.Gate) bool { return g.Name == o.name })
	if i < 0 {
		return fmt.Errorf("%s is there, is never changed by this command, and has no gate %q; add this below \"gates:\" in it, "+
			"and run warden install again\n%s", path, o.name, o.block())
	}
	g := c.Gates[i]
	if o.user != "" && o.user != g.User {
		return fmt.Errorf("%s is there, is never changed by this command, and says that gate %s is of user %s, not %s",
			path, g.Name, g.User, o.user)
	}
	for _, l := range o.live {
		name, root, _ := strings.Cut(l, "=")
		if !slices.ContainsFunc(g.Live, func(have manifest.Live) bool { return have.Name == name && have.Root == root }) {
			return fmt.Errorf("%s is there, is never changed by this command, and gate %s has no live root %s in it",
				path, g.Name, l)
		}
	}
	return nil
}

// block is the gate as it stands in a configuration.
func (o gateOptions) block() string {
	live, err := o.liveRoots()
	if err != nil || o.user == "" {
		live = "      - {name: policy, root: /home/" + word(cmp.Or(o.user, "USER")) + "/.config/gatehouse, exclude: [\"flags/**\"]}\n"
	}
	return fmt.Sprintf("  - name: %s\n    user: %s\n    live:\n%s", word(o.name), word(cmp.Or(o.user, "USER")), strings.TrimSuffix(live, "\n"))
}

var plainWord = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// word writes a value into YAML, in quotes where it could be read as something else.
func word(s string) string {
	if plainWord.MatchString(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}

// lookUp finds a user by name or by number.
func lookUp(name string) (*user.User, error) {
	find := user.Lookup
	if strings.Trim(name, "0123456789") == "" {
		find = user.LookupId
	}
	u, err := find(name)
	if err != nil {
		create := name
		if strings.Trim(name, "0123456789") == "" {
			create = "--uid " + name + " NAME"
		}
		return nil, fmt.Errorf("%w; create the user (useradd --create-home %s), or name another", err, create)
	}
	return u, nil
}
