package systemd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What becomes another program does so at once after it was forked. A process this young may be about to.
const infancy = time.Second

// A place is where a unit has its processes.
type place struct {
	top     string                  // of the control groups that are listed; empty: none are
	belongs func(group string) bool // selects among them, and among what processes say
}

func (f *facts) place() place {
	unit := f.watch.Unit
	if f.watch.User {
		manager := f.home.controlGroup
		if manager == "" {
			manager = fmt.Sprintf("/user.slice/user-%d.slice/user@%d.service", f.watch.UID, f.watch.UID)
		}
		return place{manager, func(group string) bool { return inUserUnit(group, manager, unit) }}
	}
	own := f.unit.controlGroup
	return place{own, func(group string) bool {
		return inSystemUnit(group, unit) || own != "" && (group == own || strings.HasPrefix(group, own+"/"))
	}}
}

// findMembers lists the processes of the unit, oldest first.
func (c *Checker) findMembers(ctx context.Context, f *facts) ([]process, error) {
	if f.watch.User && f.home.mainPID != 0 {
		home, err := readProcess(c.procDir(), f.home.mainPID, nil)
		if err != nil && !gone(err) {
			return nil, err
		}
		if home != nil {
			f.homeRun = home.start()
		}
	}
	var members []process
	for try := range 4 {
		var err error
		if members, err = c.gather(ctx, f.place()); err != nil {
			return nil, err
		}
		now, err := c.readClock()
		if err != nil {
			return nil, err
		}
		infant := func(p process) bool { return p.forked && now.boot-p.start() < infancy }
		if !slices.ContainsFunc(members, infant) || try == 3 || !pause(ctx, 20*time.Millisecond) {
			break
		}
	}
	// systemd is believed that its main process is one, wherever that is.
	if main := f.unit.mainPID; !f.watch.User && main != 0 && !slices.ContainsFunc(members, func(p process) bool { return p.pid == main }) {
		p, err := readProcess(c.procDir(), main, nil)
		if err != nil && !gone(err) {
			return nil, err
		}
		if p != nil {
			members = append(members, *p)
		}
	}
	for i := range members {
		if members[i].forked {
			members[i].lineage = lineage(c.procDir(), &members[i])
		}
	}
	slices.SortFunc(members, func(a, b process) int { return cmp.Or(cmp.Compare(a.ticks, b.ticks), cmp.Compare(a.pid, b.pid)) })
	return members, nil
}

// gather looks in /proc and in the control groups: a process that ends while another one takes its place can be missed in
// the first, which is long. So the groups are listed until all that are in them were met.
func (c *Checker) gather(ctx context.Context, at place) ([]process, error) {
	members, err := processes(ctx, c.procDir(), at.belongs)
	if err != nil || at.top == "" {
		return members, err
	}
	trees, err := hierarchies(c.procDir())
	if err != nil {
		return nil, err
	}
	met := make(map[int]bool)
	for _, p := range members {
		met[p.pid] = true
	}
	for range 20 {
		missed := false
		for _, tree := range trees {
			threads, err := tree.list(ctx, at.top, at.belongs)
			if err != nil {
				return nil, err
			}
			for _, thread := range threads {
				if met[thread] {
					continue
				}
				p, err := readThread(c.procDir(), thread, at.belongs)
				switch {
				case err != nil && !gone(err):
					return nil, err
				case err != nil || p == nil:
					missed = true
					continue
				}
				met[thread] = true
				if i := slices.IndexFunc(members, func(m process) bool { return m.pid == p.pid && m.ticks == p.ticks }); i < 0 {
					members = append(members, *p)
				} else if p.thread != 0 {
					members[i].thread = p.thread
				}
			}
		}
		if !missed {
			return members, nil
		}
		if !pause(ctx, 2*time.Millisecond) {
			break
		}
	}
	return nil, fmt.Errorf("%w: its processes begin and end all the time", errRestless)
}
