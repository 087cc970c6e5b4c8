package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A systemctl asks systemd and tells it what to do. It is the program and not D-Bus because the program does the same
// where no systemd runs yet: in an image, or in a container that is going to be a host.
type systemctl struct {
	path    string // empty: there is none on this host
	running bool   // systemd is the init of this host now
}

func findSystemctl() systemctl {
	s := systemctl{path: systemProgram("systemctl")}
	info, err := os.Lstat("/run/systemd/system")
	s.running = s.path != "" && err == nil && info.IsDir()
	return s
}

// systemProgram finds a program of the system's, whatever the caller's PATH is. It is empty if there is none.
func systemProgram(name string) string {
	for _, dir := range []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// runSystem runs a program of the system's and returns what it printed. An error is what it complained about; the command
// is for the caller to name.
func runSystem(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC", "SYSTEMD_COLORS=0", "SYSTEMD_PAGER="}
	if _, err := os.Lstat("/run/systemd/system"); err != nil {
		cmd.Env = append(cmd.Env, "SYSTEMD_OFFLINE=1")
	}
	cmd.Dir = "/"
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
			err = errors.New(said)
		}
	}
	return string(out), err
}

func (s systemctl) run(ctx context.Context, args ...string) error {
	_, err := runSystem(ctx, s.path, args...)
	return err
}

// enabled returns what systemctl says of the enablement of a unit: enabled, disabled, masked and so on, and nothing for
// one that it does not know.
func (s systemctl) enabled(ctx context.Context, unit string) string {
	out, _ := runSystem(ctx, s.path, "is-enabled", unit) // it fails for whatever is not enabled
	return strings.TrimSpace(out)
}

// show returns properties of units by name. It needs a systemd that runs.
func (s systemctl) show(ctx context.Context, units []string, properties ...string) (map[string]map[string]string, error) {
	args := []string{"show", "--property=Id,Names," + strings.Join(properties, ",")}
	out, err := runSystem(ctx, s.path, append(args, units...)...)
	if err != nil {
		return nil, fmt.Errorf("systemctl show: %w", err)
	}
	found := make(map[string]map[string]string)
	for block := range strings.SplitSeq(out, "\n\n") {
		values := make(map[string]string)
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			values[key] = value
		}
		for _, name := range append(strings.Fields(values["Names"]), values["Id"]) {
			found[name] = values
		}
	}
	for _, unit := range units {
		if found[unit] == nil {
			return nil, fmt.Errorf("systemctl show %s: it says nothing", unit)
		}
	}
	return found, nil
}

// loaded lists our units that the manager has in memory, of any kind.
func (s systemctl) loaded(ctx context.Context, state ...string) ([]string, error) {
	args := append([]string{"list-units", "--all", "--plain", "--no-legend", "--full"}, state...)
	out, err := runSystem(ctx, s.path, append(args, "gatehouse-*")...)
	if err != nil {
		return nil, fmt.Errorf("systemctl list-units: %w", err)
	}
	var units []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 0 {
			units = append(units, fields[0])
		}
	}
	slices.Sort(units)
	return units, nil
}

// disable keeps a unit from coming up again, and stops it where a systemd runs.
func (s systemctl) disable(ctx context.Context, unit string) error {
	args := []string{"disable", "--quiet", unit}
	if s.running {
		args = append(args, "--now")
	}
	return s.run(ctx, args...)
}
