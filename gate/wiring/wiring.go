// Package wiring knows where each agent client's settings name the programs that it asks before a call, puts the gate
// there, takes it out again, and says whether it is asked.
//
// What a client reads is data here (client.go, and a file for each family of clients): the files of a scope, and how
// the gate's words are put into such a file and cut out of it. Everything else is the same for all clients:
//
//   - plan: each file is read once, through the links that lead to it as long as these stay in the home directory
//     (target.go). A file that cannot be read as what the client takes it for is refused with its line: most clients
//     ignore such a file as a whole, and the gate with it. The result is a list of changes that can be shown;
//   - record: what the files were before is written to the state directory before the first of them changes, so that
//     removing gives the bytes back where nobody changed them since, and cuts the gate's words out where somebody did;
//   - write: file by file, each at once, in an order in which a crash leaves nothing named that is not there.
//
// Edits are cuts and insertions in the text (jsonc.go for JSON, block.go for TOML and YAML): comments, order and other
// hooks keep their bytes. hujson gives the offsets; go-toml checks the outcome.
//
// Status finds what the references of the clients know to switch a hook off (status.go). What a file says is no proof:
// Proof runs the configured command as the client would, with an input as the client sends it (proof.go).
//
// The package judges nothing and does not know the gate. It knows durable, and starts two kinds of programs: the
// configured hook, and Codex, which alone can say the hash by which it trusts a hook (codex_trust.go).
package wiring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gatehouse/internal/durable"
)

// A Scope says for which sessions a client is told. The zero Scope is none.
type Scope string

const (
	User    Scope = "user"    // all of this user
	Project Scope = "project" // those in one project, by files in it
	Managed Scope = "managed" // all on this machine, by an administrator's file that the user cannot change
)

// A Host is where the files are.
type Host struct {
	Home    string // of the user
	Project string // the project's directory, "" if there is none
	Root    string // before the names of system files; "" but in tests
	Gate    string // absolute path of the program that hooks call
	State   string // the directory of the records of what was changed
	UID     int    // whose files are written
	Env     func(name string) string
	// Look finds a program on PATH; nil: exec.LookPath.
	Look func(name string) (string, error)
	// Plugins holds plugin/opencode and plugin/openclaw as they ship.
	Plugins fs.FS
	// Flags are put behind the name of the client on the command line of a hook.
	Flags []string
	Disk  durable.Disk
}

// system is the path of a system file.
func (h Host) system(name string) string { return filepath.Join("/", h.Root, name) }

// home is the path of a file of the user's: below the directory that a variable names, else below the home directory.
func (h Host) home(variable, usual, name string) string {
	if variable != "" && h.Env != nil {
		if dir := h.Env(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(h.Home, usual, name)
}

func (h Host) env(name string) string {
	if h.Env == nil {
		return ""
	}
	return h.Env(name)
}

func (h Host) look(program string) (string, error) {
	if h.Look != nil {
		return h.Look(program)
	}
	return exec.LookPath(program)
}

// Names lists the clients that can be told, in the order in which they are shown.
func Names() (names []string) {
	for _, c := range clients() {
		names = append(names, c.name)
	}
	return names
}

// Canonical returns the client that is meant by a name or another name of it.
func Canonical(name string) (string, error) {
	c, err := find(name)
	return c.name, err
}

func find(name string) (client, error) {
	for _, c := range clients() {
		if c.name == name || slices.Contains(c.aliases, name) {
			return c, nil
		}
	}
	return client{}, fmt.Errorf("no client is called %q: these are %s", name, strings.Join(Names(), ", "))
}

// Scopes lists the scopes in which a client can be told.
func Scopes(name string) []Scope {
	c, err := find(name)
	if err != nil {
		return nil
	}
	var scopes []Scope
	for _, s := range []Scope{User, Project, Managed} {
		if !slices.Contains(c.lacks, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// Present lists the clients that this user has: their settings directory is there, or PATH finds them.
func (h Host) Present() (names []string) {
	for _, c := range clients() {
		if h.present(c) {
			names = append(names, c.name)
		}
	}
	return names
}

func (h Host) present(c client) bool {
	for _, name := range c.signs {
		if _, err := os.Stat(filepath.Join(h.Home, name)); err == nil {
			return true
		}
	}
	for _, name := range c.programs {
		if _, err := h.look(name); err == nil {
			return true
		}
	}
	return false
}

// errNoScope means that a client has no settings of that scope.
var errNoScope = errors.New("has no such settings")

// places lists the files of a client in a scope, in the order in which they are written.
func (h Host) places(c client, s Scope) ([]place, error) {
	switch {
	case slices.Contains(c.lacks, s):
		return nil, fmt.Errorf("%s %w: %s", c.name, errNoScope, c.why[s])
	case s == Project && h.Project == "":
		return nil, errors.New("there is no project here: no .git in or above this directory")
	case s == User && h.Home == "":
		return nil, errors.New("there is no home directory")
	}
	return c.places(h, s), nil
}
