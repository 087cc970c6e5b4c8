package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gatehouse/config"
	"gatehouse/systemd"
)

const installAgain = "warden install"

// examineInstallation looks at what install put in place before anything runs, and reports whether it ever did.
func (in *installation) examineInstallation(e *examination) bool {
	files, err := unitFilesOf(systemd.UnitDir)
	if err != nil {
		e.add("unit files in "+systemd.UnitDir, err, "")
		return false
	}
	files = slices.DeleteFunc(files, func(path string) bool {
		_, whose, err := readUnit(path)
		return err == nil && whose != ours && whose != edited
	})
	if in.systemctl.path == "" {
		e.note("units", "there is no systemd on this host; passes are yours to start, by cron or warden serve")
		return false
	}
	if len(files) == 0 {
		e.note("units", "none are installed; passes are yours to start, by cron or warden serve, or by units: warden install")
		return false
	}
	if in.programs, err = installedPrograms(); err != nil {
		e.add("programs", err, "")
	} else {
		for _, path := range []string{in.programs.warden, in.programs.gate} {
			e.add("program "+path, rootsProgram(path), installAgain)
		}
	}
	wrong := false
	for _, d := range in.rootsDirectories() {
		if err := d.check(); err != nil {
			wrong = true
			e.add("directory "+d.path, err, installAgain)
		}
	}
	if !wrong {
		e.add("directories below "+configDirectory+" and "+in.config.State, nil, "")
	}
	return true
}

// rootsProgram reports what keeps root's units from running the program at path.
func rootsProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 != 0o111 {
		return fmt.Errorf("it is no program that everybody can run (mode %04o)", info.Mode().Perm())
	}
	return onlyRoots(path)
}

// check reports how a directory of root's differs from what install makes it.
func (d directory) check() error {
	info, err := os.Lstat(d.path)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.IsDir():
		return errors.New("it is no directory")
	case owner != 0:
		return fmt.Errorf("it belongs to %s and not to root; %s", ownerName(int(owner)), whatRootWouldFind)
	case info.Mode().Perm() != d.mode:
		return fmt.Errorf("its mode is %04o and not %04o", info.Mode().Perm(), d.mode)
	}
	return nil
}

// credential looks at a file that systemd takes a secret from.
func (e *examination) credential(path string) bool {
	return e.add("credential "+path, readableCredential(path),
		"sudo install -m 0600 /dev/stdin "+path+"   (type it, then Enter and Ctrl-D)")
}

func readableCredential(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run doctor as root", err)
	}
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case owner != 0 || info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can read it (%s, mode %04o); fix it with: chown root %[3]s; chmod 0600 %[3]s",
			ownerName(int(owner)), info.Mode().Perm(), path)
	case info.Size() == 0:
		return errors.New("it is empty")
	}
	return nil
}

// examineUnits looks at the unit files, at what systemd makes of them, and at the services that hold live files.
func (in *installation) examineUnits(ctx context.Context, e *examination, installed bool) {
	if installed {
		files, err := systemd.Units(in.host())
		if err != nil {
			e.add("unit files", err, "")
		} else {
			in.examineUnitFiles(e, files)
			in.examineRunning(ctx, e, files)
		}
	}
	for _, gate := range in.config.Gates {
		for _, l := range gate.LoadedBy {
			what := fmt.Sprintf("gate %s: loaded by %s", gate.Name, l.Unit)
			fix := "correct loaded_by in " + in.path + ", or install the service"
			if l.Scope == config.ScopeUser {
				e.add(what, userUnit(gate, l.Unit), fix)
			} else if in.systemctl.running {
				e.add(what, in.systemUnit(ctx, l.Unit), fix)
			}
		}
	}
}

// earlyUnit sees that an agent published. A host does without early passes where somebody masked it.
const earlyUnit = "gatehouse-reconcile.path"

func (in *installation) examineUnitFiles(e *examination, files []systemd.File) {
	wrong := false
	var old []string
	for _, f := range files {
		there, whose, err := readUnit(f.Path)
		fix := installAgain
		switch {
		case err != nil:
		case whose == nobodys:
			err = errors.New("it is not there")
		case bytes.Equal(there, f.Data):
		case whose == masked && filepath.Base(f.Path) == earlyUnit:
			e.note("unit file "+f.Path, "there are no early passes: "+whose.String())
		case whose == ours:
			old = append(old, filepath.Base(f.Path))
		case whose == masked:
			err = errors.New(whose.String())
			fix = "systemctl unmask " + filepath.Base(f.Path) + "; warden install"
		default:
			err = errors.New(whose.String())
			fix = fmt.Sprintf("move your changes into a drop-in, then rm %s; warden install", f.Path)
		}
		if err != nil {
			wrong = true
			e.add("unit file "+f.Path, err, fix)
		}
	}
	if len(old) > 0 {
		wrong = true
		e.add("unit files "+strings.Join(old, ", "), errors.New("the configuration, the programs or the release changed since they were written"), installAgain)
	}
	if !wrong {
		e.add(count(len(files), "unit file")+" in "+systemd.UnitDir, nil, "")
	}
}

// examineRunning looks at what systemd has enabled, what waits for its next run, and what failed.
func (in *installation) examineRunning(ctx context.Context, e *examination, files []systemd.File) {
	if !in.systemctl.running {
		e.note("timers", "systemd is not running here, so none of them is; they start with the next boot")
		return
	}
	failed, err := in.systemctl.loaded(ctx, "--state=failed")
	if err != nil {
		e.add("systemd", err, "")
	}
	for _, unit := range failed {
		e.add("unit "+unit, errors.New("its last run failed"),
			fmt.Sprintf("journalctl -u %s; when it is mended: systemctl start %[1]s", unit))
	}
	serve := in.systemctl.enabled(ctx, serveUnit) == "enabled"
	for _, f := range files {
		for _, unit := range f.Units {
			if replaced(unit, serve) {
				if in.systemctl.enabled(ctx, unit) == "enabled" {
					e.add("timer "+unit, fmt.Errorf("it is enabled beside %s, and the two exclude each other", serveUnit), installAgain)
				}
				continue
			}
			known, err := in.systemctl.show(ctx, []string{unit}, "ActiveState", "UnitFileState", "NeedDaemonReload", "NextElapseUSecRealtime")
			what := "unit " + unit
			next := known[unit]["NextElapseUSecRealtime"]
			if strings.HasSuffix(unit, ".timer") {
				what = "timer " + unit
				if next != "" {
					what += ", next at " + next
				}
			}
			fix := installAgain
			switch {
			case err != nil:
			case known[unit]["NeedDaemonReload"] == "yes":
				err = errors.New("its file was changed, and systemd has not read it yet")
				fix = "systemctl daemon-reload"
			case strings.HasPrefix(known[unit]["UnitFileState"], "masked"):
				continue // which was said of its file
			case f.Enable && known[unit]["UnitFileState"] == "disabled":
				err = errors.New("it is not enabled, so the next boot does not start it")
			case f.Start && known[unit]["ActiveState"] != "active":
				err = fmt.Errorf("it is %s, so it starts nothing", known[unit]["ActiveState"])
			}
			e.add(what, err, fix)
		}
	}
	if serve {
		known, err := in.systemctl.show(ctx, []string{serveUnit}, "ActiveState")
		if err == nil && known[serveUnit]["ActiveState"] != "active" {
			err = fmt.Errorf("it is %s", known[serveUnit]["ActiveState"])
		}
		e.add("unit "+serveUnit+", which makes the passes here", err, "systemctl start "+serveUnit)
	}
}

// systemUnit reports that the system's manager does not know a unit.
func (in *installation) systemUnit(ctx context.Context, unit string) error {
	known, err := in.systemctl.show(ctx, []string{unit}, "LoadState")
	if err == nil && known[unit]["LoadState"] == "not-found" {
		err = errors.New("systemd knows no such unit")
	}
	return err
}

// userUnit reports that no directory for a user's unit files has one of this name. The user's manager is not asked: it
// may not run, and it is the suspect's own.
func userUnit(gate config.Gate, unit string) error {
	uid, err := gate.UID()
	if err != nil {
		return nil // said before
	}
	dirs := []string{"/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"}
	for _, sub := range []string{"user", "transient", "generator", "user.control"} {
		dirs = append(dirs, fmt.Sprintf("/run/user/%d/systemd/%s", uid, sub))
	}
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		dirs = append(dirs, filepath.Join(u.HomeDir, ".config/systemd/user"), filepath.Join(u.HomeDir, ".local/share/systemd/user"))
	}
	names := []string{unit}
	if prefix, instance, ok := strings.Cut(unit, "@"); ok && instance != "" {
		names = append(names, prefix+"@.service")
	}
	found := slices.ContainsFunc(dirs, func(dir string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, err := os.Lstat(filepath.Join(dir, name))
			return err == nil
		})
	})
	if !found {
		return fmt.Errorf("user %s has no such unit file, and neither has the system for its users", gate.User)
	}
	return nil
}
