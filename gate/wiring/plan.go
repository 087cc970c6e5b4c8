package wiring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gatehouse/internal/durable"
)

// A Change is one file that a plan writes or removes.
type Change struct {
	Path    string // as the client reads it
	Target  string // the file behind it, with every link followed
	Before  []byte
	Existed bool
	After   []byte
	Remove  bool

	mode fs.FileMode
}

// A Plan is what installing or removing comes to. It has been read and checked; nothing has been written.
type Plan struct {
	Client  string
	Scope   Scope
	Changes []Change // none: it is so already
	// Missing says that there is nothing of the gate's to remove.
	Missing bool

	host     Host
	record   record
	removing bool
}

// Install plans to let a client ask the gate.
func (h Host) Install(name string, s Scope) (Plan, error) {
	c, err := find(name)
	if err != nil {
		return Plan{}, err
	}
	if !filepath.IsAbs(h.Gate) {
		return Plan{}, fmt.Errorf("the path %q of the gate is not absolute", h.Gate)
	}
	if err := h.fitGate(s); err != nil {
		return Plan{}, err
	}
	places, err := h.places(c, s)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Client: c.name, Scope: s, host: h}
	kept, err := h.readRecord(c.name, s)
	if err != nil {
		return Plan{}, err
	}
	plan.record = newRecord(c.name, s, h.Project)
	for _, p := range places {
		t, err := h.follow(p.path, p.within)
		if err != nil {
			return Plan{}, err
		}
		after, err := p.put(t.orNil())
		if err != nil {
			return Plan{}, fmt.Errorf("%s: %w", p.path, err)
		}
		ours := kept.file(t.path)
		if t.exists && bytes.Equal(after, t.data) && t.mode&0o111 == fs.FileMode(p.mode)&0o111 {
			plan.record.keep(ours)
			continue
		}
		mode := t.mode
		if !t.exists {
			mode = fs.FileMode(p.mode)
		} else if p.mode&0o111 != 0 {
			mode |= 0o111
		}
		plan.Changes = append(plan.Changes, Change{p.path, t.path, t.data, t.exists, after, false, mode})
		before, existed := []byte(nil), false
		switch {
		case ours != nil && t.exists && digest(t.data) == ours.After:
			before, existed = ours.Before, ours.Existed // what was there before the older entry
		case t.exists: // without an older entry that somebody else may have made
			if before, err = p.cut(t.data); err != nil {
				return Plan{}, fmt.Errorf("%s: %w", p.path, err)
			}
			existed = before != nil
		}
		plan.record.add(fileRecord{Path: p.path, Target: t.path, Existed: existed, Before: before, Mode: uint32(mode), After: digest(after)})
	}
	return plan, nil
}

// fitGate refuses a program that a hook must not name.
func (h Host) fitGate(s Scope) error {
	info, err := os.Stat(h.Gate)
	switch {
	case err != nil:
		return fmt.Errorf("the gate that hooks would call: %w", err)
	case info.IsDir() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s cannot be executed", h.Gate)
	case filepath.Base(h.Gate) != "gate":
		return fmt.Errorf("%s is not called gate, so that its hooks could not be told from others", h.Gate)
	}
	if s != Managed {
		return nil
	}
	if why := h.open(info); why != "" {
		return fmt.Errorf("%s %s: an administrator's hook has to name a program of root's, such as /usr/bin/gate", h.Gate, why)
	}
	return nil
}

// Remove plans to take the gate out of a client's settings.
func (h Host) Remove(name string, s Scope) (Plan, error) {
	c, err := find(name)
	if err != nil {
		return Plan{}, err
	}
	places, err := h.places(c, s)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Client: c.name, Scope: s, host: h, removing: true}
	if plan.record, err = h.readRecord(c.name, s); err != nil {
		return Plan{}, err
	}
	if c.name == "codex" && s == User {
		places = append(places, h.trustPlace(nil))
	}
	for i := len(places) - 1; i >= 0; i-- { // what names the others goes first
		p := places[i]
		t, err := h.follow(p.path, p.within)
		if err != nil {
			return Plan{}, err
		}
		if !t.exists {
			continue
		}
		change := Change{Path: p.path, Target: t.path, Before: t.data, Existed: true, mode: t.mode}
		if ours := plan.record.file(t.path); ours != nil && digest(t.data) == ours.After {
			change.After, change.Remove = ours.Before, !ours.Existed
		} else {
			if change.After, err = p.cut(t.data); err != nil {
				return Plan{}, fmt.Errorf("%s: %w", p.path, err)
			}
			change.Remove = change.After == nil
		}
		if !change.Remove && bytes.Equal(change.After, t.data) {
			continue
		}
		plan.Changes = append(plan.Changes, change)
	}
	plan.Missing = len(plan.Changes) == 0
	return plan, nil
}

func (t target) orNil() []byte {
	if !t.exists {
		return nil
	}
	if t.data == nil {
		return []byte{}
	}
	return t.data
}

// Apply carries the plan out: first the record of what was there, then file by file. It refuses where a file is no longer
// what the plan has read.
func (p Plan) Apply(ctx context.Context) error {
	if len(p.Changes) == 0 {
		return nil
	}
	disk := p.host.Disk
	for _, c := range p.Changes {
		now, err := os.ReadFile(c.Target)
		if errors.Is(err, fs.ErrNotExist) && !c.Existed {
			continue
		}
		if err != nil {
			return err
		}
		if !c.Existed || !bytes.Equal(now, c.Before) {
			return fmt.Errorf("%s has just been changed by something else: run this again", c.Path)
		}
	}
	if !p.removing {
		if err := p.host.writeRecord(p.record); err != nil {
			return err
		}
	}
	for _, c := range p.Changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.change(disk, c); err != nil {
			return err
		}
	}
	if p.removing {
		return p.host.dropRecord(p.record)
	}
	return nil
}

func (p Plan) change(disk durable.Disk, c Change) error {
	if c.Remove {
		if err := disk.Remove(c.Target); err != nil {
			return err
		}
		for _, dir := range p.record.Dirs { // those that were made for it, deepest first, if nothing else is in them
			if below(c.Target, dir) && os.Remove(dir) != nil {
				break
			}
		}
		return nil
	}
	if err := disk.MkdirAll(filepath.Dir(c.Target), 0o755); err != nil {
		return err
	}
	return disk.WriteFile(c.Target, c.After, c.mode)
}

// Diff shows a change as a unified diff with one hunk.
func (c Change) Diff() string {
	if bytes.Equal(c.Before, c.After) && !c.Remove {
		return ""
	}
	before, after := lines(c.Before), lines(c.After)
	if c.Remove {
		after = nil
	}
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	const context = 3
	from, until := max(0, head-context), min(tail, context)
	var out strings.Builder
	old, new := c.Path, c.Path
	if !c.Existed {
		old = "/dev/null"
	}
	if c.Remove {
		new = "/dev/null"
	}
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", old, new,
		span(from, len(before)-tail+until), span(from, len(after)-tail+until))
	show := func(mark string, list []string) {
		for _, line := range list {
			out.WriteString(mark + line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	show(" ", before[from:head])
	show("-", before[head:len(before)-tail])
	show("+", after[head:len(after)-tail])
	show(" ", before[len(before)-tail:len(before)-tail+until])
	return out.String()
}

func span(from, to int) string {
	if to == from {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func lines(src []byte) (list []string) {
	for line := range strings.Lines(string(src)) {
		list = append(list, line)
	}
	return list
}
