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
	"strings"
	"syscall"

	vendorgate "gatehouse/vendor-gate"
)

const (
	configDirectory   = "/etc/gatehouse"
	credentials       = configDirectory + "/credentials"
	anybody           = 0o755
	rootOnly          = 0o700
	throughOnly       = 0o711 // others get at what they know the name of
	whatRootWouldFind = "look through what is in it, then chown it to root, or move it away"
)

// planPrograms copies the programs to where root's units may run them from.
func (in *installation) planPrograms(_ context.Context, p *plan) error {
	list := append([]programCopy{{in.programs.fromWarden, in.programs.warden}, {in.programs.fromGate, in.programs.gate}}, in.programs.become...)
	for _, c := range list {
		if err := onlyRoots(c.to); err != nil {
			return fmt.Errorf("program %s: %w", c.to, err)
		}
		if c.from == "" {
			continue
		}
		data, err := os.ReadFile(c.from)
		if err != nil {
			return err
		}
		info, err := os.Stat(c.to)
		if err == nil && info.Mode().Perm() == anybody {
			if there, err := os.ReadFile(c.to); err == nil && bytes.Equal(there, data) {
				continue
			}
		}
		p.add(step{
			what: "copy " + c.from + " to " + c.to,
			why:  "the units run it, so nobody but root may be able to write it",
			do: func(context.Context) error {
				if err := in.disk.MkdirAll(filepath.Dir(c.to), anybody); err != nil {
					return err
				}
				return in.disk.WriteFile(c.to, data, anybody)
			},
		})
	}
	return nil
}

// A directory is one that has to be there.
type directory struct {
	path     string
	mode     fs.FileMode
	uid, gid int
	why      string
}

func (in *installation) planDirectories(_ context.Context, p *plan) error {
	for _, d := range in.rootsDirectories() {
		if err := in.planDirectory(p, d); err != nil {
			return err
		}
	}
	return nil
}

// rootsDirectories are the directories of root's, the outer ones first.
func (in *installation) rootsDirectories() []directory {
	state := in.config.State
	list := []directory{
		{path: configDirectory, mode: anybody, why: "the configuration, and root's index of gates, which gate reads"},
		{path: credentials, mode: rootOnly, why: "secrets, each in a file of its own; systemd hands them to the passes"},
		{path: state, mode: throughOnly, why: "the warden's own; others get at accepted/ in it"},
	}
	for _, name := range []string{"accepted", "flags", "grants"} {
		list = append(list, directory{path: filepath.Join(state, name), mode: anybody, why: "root writes, the gates' users read"})
	}
	for _, name := range []string{"gates", "staged", "intents", "notices", "loaded"} {
		list = append(list, directory{path: filepath.Join(state, name), mode: rootOnly, why: "root's alone"})
	}
	return list
}

// planExports makes the directories that the gates' users publish into. Root makes them where root alone can write, and
// never in a tree of the agent's.
func (in *installation) planExports(_ context.Context, p *plan) error {
	for _, gate := range in.config.Gates {
		parent := filepath.Dir(gate.Export)
		for _, other := range in.config.Gates {
			if strings.HasPrefix(other.Export, gate.Export+"/") {
				return fmt.Errorf("gate %s: export: %s would give its user what holds the export of gate %s; give each gate a directory beside the others",
					gate.Name, gate.Export, other.Name)
			}
		}
		if err := onlyRoots(parent); err != nil {
			if _, there := os.Lstat(gate.Export); there == nil {
				continue // its user made it, and doctor judges it
			}
			p.keep("no export directory was made for gate %s, since %v; its user makes it: sudo -u %s install -d -m 0755 %s",
				gate.Name, err, sudoUser(gate, uint32(in.users[gate.Name].uid)), gate.Export)
			continue
		}
		if err := in.planDirectory(p, directory{path: parent, mode: anybody, why: "holds the exports"}); err != nil {
			return err
		}
		who := in.users[gate.Name]
		err := in.planDirectory(p, directory{path: gate.Export, mode: anybody, uid: who.uid, gid: who.gid,
			why: "gate " + gate.Name + " publishes there; root believes none of it unseen"})
		if err != nil {
			return err
		}
	}
	return nil
}

// planLive makes nothing: the live files are for the gate's user to put there.
func (in *installation) planLive(_ context.Context, p *plan) error {
	for _, gate := range in.config.Gates {
		for _, root := range liveRoots(gate) {
			if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
				p.keep("gate %s is not published yet, since nothing is at %s; its user puts the files there: sudo -u %s mkdir -p %[2]s",
					gate.Name, root, sudoUser(gate, uint32(in.users[gate.Name].uid)))
			}
		}
	}
	return nil
}

// planDirectory makes a directory, or gives it the owner and the mode that it has to have. A directory that belongs to
// a stranger is not taken over: what is in it may be anything.
func (in *installation) planDirectory(p *plan, d directory) error {
	info, err := os.Lstat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := onlyRoots(filepath.Dir(d.path)); err != nil {
			return fmt.Errorf("directory %s: %w", d.path, err)
		}
		p.add(step{
			what: fmt.Sprintf("make the directory %s (%s, %04o)", d.path, ownerName(d.uid), d.mode),
			why:  d.why,
			do: func(context.Context) error {
				if err := in.disk.MkdirAll(filepath.Dir(d.path), anybody); err != nil {
					return err
				}
				if err := in.disk.MkdirAll(d.path, d.mode); err != nil {
					return err
				}
				return os.Lchown(d.path, d.uid, d.gid)
			},
		})
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory; move it away", d.path)
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case owner == d.uid:
	case owner == 0 && !isEmpty(d.path):
		return fmt.Errorf("the directory %s is root's and not empty, so it is not given to %s; name one that is not there yet", d.path, ownerName(d.uid))
	case owner == 0: // made by an earlier run that was cut short, and not given away yet
		p.add(step{
			what: fmt.Sprintf("give the directory %s to %s", d.path, ownerName(d.uid)), why: d.why,
			do: func(context.Context) error { return os.Lchown(d.path, d.uid, d.gid) },
		})
	default:
		return fmt.Errorf("the directory %s belongs to %s and not to %s; %s", d.path, ownerName(owner), ownerName(d.uid), whatRootWouldFind)
	}
	if d.uid == 0 && info.Mode().Perm() != d.mode {
		p.add(step{
			what: fmt.Sprintf("change the mode of %s from %04o to %04o", d.path, info.Mode().Perm(), d.mode), why: d.why,
			do: func(context.Context) error { return os.Chmod(d.path, d.mode) },
		})
	}
	return nil
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

func ownerName(uid int) string {
	if uid == 0 {
		return "root"
	}
	if u, err := user.LookupId(fmt.Sprint(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", uid)
}

// planConfig writes the configuration of a host that has none.
func (in *installation) planConfig(_ context.Context, p *plan) error {
	if in.text == nil {
		return nil
	}
	if err := onlyRoots(filepath.Dir(in.path)); err != nil {
		return fmt.Errorf("configuration %s: %w", in.path, err)
	}
	p.add(step{
		what: "write " + in.path, why: "the configuration; from now on it is yours",
		data: in.text, mode: 0o644,
		do: func(context.Context) error {
			if err := in.disk.MkdirAll(filepath.Dir(in.path), anybody); err != nil {
				return err
			}
			return in.disk.WriteFile(in.path, in.text, 0o644)
		},
	})
	return nil
}

// planRepository makes a repository where there is nothing, or where an earlier run was cut short. One that is there is
// only looked at.
func (in *installation) planRepository(_ context.Context, p *plan) error {
	path := in.config.Repository
	empty, err := unborn(path)
	if err != nil {
		return err
	}
	if !empty {
		_, err := vendorgate.Open(path, in.config.Vendored)
		return err
	}
	if err := onlyRoots(path); err != nil {
		return fmt.Errorf("repository %s: %w", path, err)
	}
	p.add(step{
		what: "make the git repository " + path, why: "the history of what a person accepted",
		do: func(context.Context) error {
			if err := in.disk.MkdirAll(path, anybody); err != nil {
				return err
			}
			if err := vendorgate.Init(path); err != nil {
				return err
			}
			return in.disk.SyncFS(path)
		},
	})
	return nil
}

// unborn reports that path holds nothing yet but what vendorgate.Init may have left half done: its HEAD comes last, and
// without it there is no repository.
func unborn(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if len(entries) != 1 || entries[0].Name() != ".git" || !entries[0].IsDir() {
		return false, nil
	}
	head, err := os.Stat(filepath.Join(path, ".git/HEAD"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && head.Size() == 0, err
}
