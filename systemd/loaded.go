package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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
	return c.CheckAll(ctx, []Watch{w}, source, seen)[0]
}

// CheckAll is Check for the units of one gate, and answers in their order. Those of the system come first, and those that
// one user's manager runs share the questions to it and the time that it has for all answers: no more than Timeout.
func (c *Checker) CheckAll(ctx context.Context, watches []Watch, source manifest.Source, seen *manifest.Snapshot) []Process {
	answers := make([]Process, len(watches))
	var groups [][]int
	users := make(map[uint32]int)
	for _, user := range []bool{false, true} {
		for i, w := range watches {
			at, shared := users[w.UID]
			switch {
			case w.User != user:
			case user && shared:
				groups[at] = append(groups[at], i)
			default:
				if user {
					users[w.UID] = len(groups)
				}
				groups = append(groups, []int{i})
			}
		}
	}
	for _, group := range groups {
		of := make([]Watch, len(group))
		for k, i := range group {
			of[k] = watches[i]
		}
		for k, p := range c.checkGroup(ctx, of, source, seen) {
			p.Reason = capped(p.Reason)
			answers[group[k]] = p
		}
	}
	return answers
}

// maxReason is how long a reason may be. The suspect has a say in some.
const maxReason = 500

func capped(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\n", "; ")
	if len(text) <= maxReason {
		return text
	}
	end := maxReason - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// checkGroup judges units that one manager runs.
func (c *Checker) checkGroup(ctx context.Context, watches []Watch, source manifest.Source, seen *manifest.Snapshot) []Process {
	mine := *c
	c = &mine
	var failed error
	if c.BootID == "" {
		c.BootID, failed = bootIDOf(c.procDir())
	}
	var all, asked []*facts
	for _, w := range watches {
		f := &facts{watch: w, bootID: c.BootID, tolerance: c.margin(), failed: failed}
		if f.failed == nil {
			f.memory, f.failed = c.recall(w)
		}
		if f.failed == nil {
			f.match, f.failed = newPatterns(w.Files)
		}
		if all = append(all, f); f.failed == nil {
			asked = append(asked, f)
		}
	}
	c.look(ctx, asked)
	scan := sync.OnceValues(func() (*manifest.Snapshot, error) { return manifest.Scan(ctx, source) })
	answers := make([]Process, len(all))
	for i, f := range all {
		answers[i] = c.finish(ctx, f, source, seen, scan)
	}
	return answers
}

// finish gives the verdict once the unit was looked at.
func (c *Checker) finish(ctx context.Context, f *facts, source manifest.Source, seen *manifest.Snapshot, scan func() (*manifest.Snapshot, error)) Process {
	fault := func(err error) Process {
		p := f.process()
		p.Fault, p.Reason = !errors.Is(err, errRestless) && !errors.Is(err, errOdd), err.Error()
		return p
	}
	if f.failed != nil {
		return fault(f.failed)
	}
	p, final := f.judgeState()
	if final {
		return p
	}
	if err := c.readFiles(f, source, seen, scan); err != nil {
		return fault(err)
	}
	if p = f.judge(p); p.Fix != "" {
		p.Disk = manifest.Tree(f.seen.Entries)
	}
	if err := c.remember(f.watch, f.learn(p)); err != nil {
		return fault(fmt.Errorf("keep what was seen of the unit: %w", err))
	}
	return p
}

var errRestless = errors.New("the unit changes its state faster than it can be looked at")

// look asks the manager and the kernel. What they say fits together only if nothing was restarted meanwhile, so the
// manager is asked again at the end. What goes wrong is in the facts.
func (c *Checker) look(ctx context.Context, all []*facts) {
	patience := c.timeout() // with a user's manager, for all its answers
	for pending, try := all, 0; len(pending) > 0; try++ {
		before, err := c.askFor(ctx, pending, &patience)
		for _, f := range pending {
			if err == nil {
				f.members, f.failed = c.findMembers(ctx, f)
			}
		}
		var after []string
		if err == nil {
			after, err = c.askFor(ctx, pending, &patience)
		}
		var restless []*facts
		for i, f := range pending {
			switch {
			case err != nil:
				f.failed = err
			case f.failed == nil && before[i] != after[i] && try == 4:
				f.failed = errRestless
			case f.failed == nil && before[i] != after[i]:
				restless = append(restless, f)
			}
		}
		pending = restless
	}
	now, err := c.readClock()
	var steady steadiness
	if err == nil {
		steady, err = c.steady(now)
	}
	for _, f := range all {
		f.now, f.steady = now, steady
		if f.failed == nil {
			f.failed = err
		}
		if f.failed == nil {
			f.strays, f.failed = c.findStrays(f)
		}
	}
}

// askFor fills in what managers say of units that one of them runs, and returns what identifies the state of each.
func (c *Checker) askFor(ctx context.Context, all []*facts, patience *time.Duration) ([]string, error) {
	const boot = "-.slice" // is up from the first moment
	watch := all[0].watch
	units := []string{boot, watch.Unit} // a group of one, unless a user's manager runs it
	if watch.User {
		units[1] = fmt.Sprintf("user@%d.service", watch.UID)
	}
	states, err := c.ask(ctx, c.systemSockets(), units...)
	if err != nil {
		return nil, fmt.Errorf("systemd could not be asked: %w", err)
	}
	booted, home := states[0].activeEnter, states[1]
	states = states[1:]
	if watch.User {
		units = units[:0]
		states = make([]unitState, len(all))
		for i, f := range all {
			units = append(units, f.watch.Unit)
			states[i] = unitState{active: "inactive"}
		}
		if home.running() {
			began := time.Now()
			states, err = c.askWithin(ctx, *patience, c.userSockets(watch.UID), units)
			*patience -= time.Since(began)
			if err != nil {
				return nil, fmt.Errorf("%s could not be asked: %w", watch.manager(), err)
			}
		}
	}
	same := make([]string, len(all))
	for i, f := range all {
		f.booted, f.unit = booted, states[i]
		if watch.User {
			f.home = &home
		}
		u := &f.unit
		same[i] = fmt.Sprint(u.active, u.sub, u.mainPID, u.invocation, u.mainStart, watch.User && home.running())
	}
	return same, nil
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
func (c *Checker) readFiles(f *facts, source manifest.Source, seen *manifest.Snapshot, scan func() (*manifest.Snapshot, error)) (err error) {
	young := func(p process) bool { return f.now.boot-p.start() < seenFor }
	if f.seen = seen; seen == nil || slices.ContainsFunc(f.members, young) {
		if f.seen, err = scan(); err != nil {
			return err
		}
	}
	if f.files, err = choose(f.seen, f.watch.Files); err != nil {
		return err
	}
	if err := findAbove(&f.files, source); err != nil { // moved while we look, most likely
		f.files.refused = err.Error()
	}
	f.record, f.badRec = c.readRecord(f.watch, &f.unit, []uint32{f.watch.UID, f.main().uid})
	if err := c.findView(f, source); err != nil {
		return err
	}
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
		m.Since = f.readFrom(f.span().oldest)
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
