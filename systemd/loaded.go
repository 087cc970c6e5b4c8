package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

// A Checker judges units. Only root can: it looks at the processes of others and keeps what it saw.
type Checker struct {
	Dir     string // of the snapshots; made on demand, for root only
	Disk    durable.Disk
	BootID  string        // of this boot; empty: the kernel is asked
	Timeout time.Duration // for what one manager has to say; 0: 3 s

	run       string        // in place of /run
	proc      string        // in place of /proc
	tolerance time.Duration // 0: 2 s
	clock     func() (clock, error)
	dial      func(ctx context.Context, path string, owner uint32) (net.Conn, error)
}

// seenFor is how old all processes must be for a scan that the caller made to count. A scan that began before a process
// did says nothing of what the process read; no scan takes this long.
const seenFor = 10 * time.Minute

// Check judges the unit of w by the live files of source. seen is what a scan of them just found, and is used for
// processes that are much older; nil lets Check scan. It never fails: what went wrong is in the Process.
func (c *Checker) Check(ctx context.Context, w Watch, source manifest.Source, seen *manifest.Snapshot) Process {
	f := &facts{watch: w, bootID: c.BootID, tolerance: c.margin()}
	fault := func(err error) Process {
		p := f.process()
		p.Fault, p.Reason = !errors.Is(err, errRestless), strings.ReplaceAll(err.Error(), "\n", "; ")
		return p
	}
	mine := *c
	c = &mine
	var err error
	if c.BootID == "" {
		if c.BootID, err = bootIDOf(c.procDir()); err != nil {
			return fault(err)
		}
		f.bootID = c.BootID
	}
	if f.memory, err = c.recall(w); err != nil {
		return fault(err)
	}
	if f.match, err = newPatterns(w.Files); err != nil {
		return fault(err)
	}
	if err := c.look(ctx, f); err != nil {
		return fault(err)
	}
	p, final := f.judgeState()
	if final {
		return p
	}
	if err := c.readFiles(ctx, f, source, seen); err != nil {
		return fault(err)
	}
	p = f.judge(p)
	if err := c.remember(w, f.learn(p)); err != nil {
		return fault(fmt.Errorf("keep what was seen of the unit: %w", err))
	}
	return p
}

var errRestless = errors.New("the unit changes its state faster than it can be looked at")

// look asks the managers and the kernel. What they say fits together only if nothing was restarted meanwhile, so the
// manager is asked again at the end.
func (c *Checker) look(ctx context.Context, f *facts) error {
	ctx, cancel := context.WithTimeout(ctx, 2*c.timeout()) // whoever answers each question just in time
	defer cancel()
	for try := 0; ; try++ {
		before, err := c.askFor(ctx, f)
		if err != nil {
			return err
		}
		if f.members, err = c.findMembers(ctx, f); err != nil {
			return err
		}
		after, err := c.askFor(ctx, f)
		if err != nil {
			return err
		}
		if before == after {
			break
		}
		if try == 4 {
			return errRestless
		}
	}
	var err error
	if f.strays, err = c.findStrays(f); err != nil {
		return err
	}
	if f.now, err = c.readClock(); err != nil {
		return err
	}
	f.steady, err = c.steady(f.now)
	return err
}

// askFor fills in what managers say and returns what identifies the state of the unit.
func (c *Checker) askFor(ctx context.Context, f *facts) (string, error) {
	const boot = "-.slice" // is up from the first moment
	units := []string{boot, f.watch.Unit}
	if f.watch.User {
		units[1] = fmt.Sprintf("user@%d.service", f.watch.UID)
	}
	states, err := c.ask(ctx, c.systemSockets(), units...)
	if err != nil {
		return "", fmt.Errorf("systemd could not be asked: %w", err)
	}
	f.booted, f.unit = states[0].activeEnter, states[1]
	if f.watch.User {
		f.home, f.unit = &states[1], unitState{active: "inactive"}
	}
	if f.home != nil && f.home.running() {
		if states, err = c.ask(ctx, c.userSockets(f.watch.UID), f.watch.Unit); err != nil {
			return "", fmt.Errorf("%s could not be asked: %w", f.watch.manager(), err)
		}
		f.unit = states[0]
	}
	u := &f.unit
	return fmt.Sprint(u.active, u.sub, u.mainPID, u.invocation, u.mainStart, f.home != nil && f.home.running()), nil
}

// findMembers lists the processes of the unit.
func (c *Checker) findMembers(ctx context.Context, f *facts) ([]process, error) {
	unit := f.watch.Unit
	belongs := func(group string) bool { return inSystemUnit(group, unit) }
	if f.watch.User {
		manager := f.home.controlGroup
		if manager == "" {
			manager = fmt.Sprintf("/user.slice/user-%d.slice/user@%d.service", f.watch.UID, f.watch.UID)
		}
		belongs = func(group string) bool { return inUserUnit(group, manager, unit) }
		if f.home.mainPID != 0 {
			home, err := readProcess(c.procDir(), f.home.mainPID, nil)
			if err != nil && !gone(err) {
				return nil, err
			}
			if home != nil {
				f.homeRun = home.start()
			}
		}
	} else if own := f.unit.controlGroup; own != "" {
		belongs = func(group string) bool {
			return group == own || strings.HasPrefix(group, own+"/") || inSystemUnit(group, unit)
		}
	}
	members, err := processes(ctx, c.procDir(), belongs)
	if err != nil || f.watch.User || f.unit.mainPID == 0 {
		return members, err
	}
	// systemd is believed that its main process is one, wherever that is.
	if slices.ContainsFunc(members, func(p process) bool { return p.pid == f.unit.mainPID }) {
		return members, nil
	}
	main, err := readProcess(c.procDir(), f.unit.mainPID, nil)
	if main != nil {
		members = append(members, *main)
	}
	if gone(err) {
		err = nil
	}
	return members, err
}

// findStrays looks for processes that were in the unit and run elsewhere now.
func (c *Checker) findStrays(f *facts) (strays []process, err error) {
	for _, k := range f.memory.Known {
		if slices.ContainsFunc(f.members, func(p process) bool { return p.pid == k.PID && p.ticks == k.Ticks }) {
			continue
		}
		p, err := readProcess(c.procDir(), k.PID, nil)
		if err != nil && !gone(err) {
			return nil, err
		}
		if p != nil && p.ticks == k.Ticks {
			strays = append(strays, *p)
		}
	}
	return strays, nil
}

// readFiles hashes the files and reads the record. It comes after the look at the processes: what is unchanged now has
// been so since they began.
func (c *Checker) readFiles(ctx context.Context, f *facts, source manifest.Source, seen *manifest.Snapshot) (err error) {
	young := func(p process) bool { return f.now.boot-p.start() < seenFor }
	if seen == nil || slices.ContainsFunc(f.members, young) {
		if seen, err = manifest.Scan(ctx, source); err != nil {
			return err
		}
	}
	if f.files, err = choose(seen, f.watch.Files); err != nil {
		return err
	}
	if err := findAbove(&f.files, source); err != nil { // moved while we look, most likely
		f.files.refused = err.Error()
	}
	f.record, f.badRec = c.readRecord(f.watch, &f.unit, []uint32{f.watch.UID, f.main().uid})
	after, err := c.readClock()
	f.scanned = after.boot
	return err
}

// learn is what to remember after the verdict p.
func (f *facts) learn(p Process) *memory {
	m := &memory{Run: p.Run, Known: newKnown(f.members)}
	switch {
	case f.memory.Run == p.Run && f.memory.Files != nil:
		m.Files, m.Times, m.Since = f.memory.Files, f.memory.Times, f.memory.Since
		good := slices.DeleteFunc(slices.Clone(f.members), func(q process) bool { return !f.innocent(&q) })
		m.Known = newKnown(good)
		if _, different := f.memory.differs(&f.files); !different && m.Times != f.files.times() {
			m.Times, m.Since = f.files.times(), f.scanned
		}
	case p.Verdict == Loaded && p.Evidence == ByClocks:
		m.Files, m.Times = f.files.contents(), f.files.times()
		m.Since = f.readFrom(f.span().oldest, len(f.members))
	}
	return m
}

func (c *Checker) runDir() string {
	if c.run == "" {
		return "/run"
	}
	return filepath.Clean(c.run)
}

func (c *Checker) procDir() string {
	if c.proc == "" {
		return "/proc"
	}
	return filepath.Clean(c.proc)
}

// margin is how near to the start a file time decides nothing.
func (c *Checker) margin() time.Duration {
	if c.tolerance == 0 {
		return 2 * time.Second
	}
	return c.tolerance
}

func (c *Checker) timeout() time.Duration {
	if c.Timeout <= 0 {
		return 3 * time.Second
	}
	return c.Timeout
}

func (c *Checker) readClock() (clock, error) {
	if c.clock != nil {
		return c.clock()
	}
	return readClock()
}
