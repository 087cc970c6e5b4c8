package systemd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/manifest"
)

// facts are all that a verdict rests on.
type facts struct {
	watch     Watch
	bootID    string
	now       clock
	tolerance time.Duration

	unit    unitState     // as its manager says
	home    *unitState    // of a user's unit: the service of the user's manager, as the system manager says
	homeRun time.Duration // since boot: start of that manager, as the kernel says
	booted  stamp         // the system manager's note of the boot
	steady  steadiness

	members []process // in the unit, as the kernel says, oldest first
	strays  []process // were seen in the unit before, run elsewhere now

	seen    *manifest.Snapshot // the live files
	files   selection          // of them
	scanned time.Duration      // since boot: by when the files were looked at
	match   patterns
	record  *record
	badRec  error
	view    string // why a process may see other files at the same places
	memory  *memory

	failed error // why the facts are not complete
}

func (w Watch) scope() string {
	if w.User {
		return "user"
	}
	return "system"
}

// manager is what people call the one that runs the unit.
func (w Watch) manager() string {
	if w.User {
		return fmt.Sprintf("the service manager of user %s", w.user())
	}
	return "systemd"
}

func (w Watch) user() string {
	if w.UserName == "" {
		return fmt.Sprint(w.UID)
	}
	return w.UserName
}

// restart is the command that makes the process read its files again.
func (w Watch) restart() string {
	unit := w.Unit
	if strings.ContainsAny(unit, `\`) {
		unit = "'" + unit + "'"
	}
	if !w.User {
		return "systemctl restart " + unit
	}
	user := w.UserName
	if user == "" {
		user = fmt.Sprintf("'#%d'", w.UID)
	}
	return fmt.Sprintf("sudo -u %s XDG_RUNTIME_DIR=/run/user/%d systemctl --user restart %s", user, w.UID, unit)
}

// process begins the answer.
func (f *facts) process() Process {
	return Process{Unit: f.watch.Unit, Scope: f.watch.scope(), Verdict: Unknown, InvocationID: f.unit.invocation}
}

// judgeState says whether there is a process whose files are worth a look. Where there is none, or where the manager and
// the kernel disagree, the answer is final.
func (f *facts) judgeState() (p Process, final bool) {
	p = f.process()
	end := func(v Verdict, format string, args ...any) (Process, bool) {
		p.Verdict, p.Reason = v, fmt.Sprintf(format, args...)
		return p, true
	}
	u, who := &f.unit, f.watch.manager()
	main := f.main()
	if main != nil {
		p.PID, p.Since = main.pid, f.now.at(main.start())
		p.Run = fmt.Sprintf("%s/%s/%d/%d", f.bootID, f.runID(), main.pid, main.ticks)
	}
	switch {
	case len(f.strays) > 0:
		return end(Unknown, "process %d was seen in the unit and has left it: it still runs, in the control group %.200q, and may hold other files",
			f.strays[0].pid, slices.Concat(f.strays[0].groups, []string{""})[0])
	case f.home != nil && !f.home.running() && len(f.members) == 0:
		return end(NotRunning, "%s does not run", who)
	case f.home != nil && !f.home.running():
		return end(Unknown, "the manager of user %s does not run, but process %d is in the control group of the unit", f.watch.user(), f.members[0].pid)
	case !u.running() && len(f.members) > 0:
		return end(Unknown, "%s says that the unit is %s, but the kernel has process %d in its control group", who, u.active, f.members[0].pid)
	case !u.running() && u.load == "not-found":
		return end(Unknown, "there is no such unit; correct its name or its scope in the configuration")
	case !u.running():
		return end(NotRunning, "%s", u.why())
	case len(f.members) == 0 && u.mainPID == 0 && u.sub == "exited":
		return end(NotRunning, "it has finished, and no process holds the files")
	case len(f.members) == 0 && u.mainPID == 0 && u.active != "active" && u.active != "reloading":
		return end(NotRunning, "it is %s (%s), and has no process yet or any more", u.active, u.sub)
	case len(f.members) == 0:
		return end(Unknown, "%s says that the unit is %s, but the kernel has no process in its control group", who, u.active)
	case len(f.members) > maxKnown:
		return end(Unknown, "it has %d processes, and no more than %d can be kept in view", len(f.members), maxKnown)
	case main == nil:
		return end(Unknown, "%s says that process %d is the main one, but the kernel does not have it in the control group of the unit", who, u.mainPID)
	case f.watch.User && main.uid != f.watch.UID:
		return end(Unknown, "the main process %d belongs to uid %d and not to %d", main.pid, main.uid, f.watch.UID)
	case f.watch.User && u.mainPID != 0 && !main.in(u.controlGroup):
		return end(Unknown, "%s says that the unit has the control group %.200q, but the kernel has its main process %d in %.200q",
			who, u.controlGroup, main.pid, slices.Concat(main.groups, []string{""})[0])
	case f.watch.User && u.mainPID != 0 && u.mainStart.real.Before(p.Since.Add(-f.tolerance)):
		return end(Unknown, "%s says that the main process %d started at %s, but the kernel says %s",
			who, main.pid, u.mainStart.real.Format(time.RFC3339), p.Since.Format(time.RFC3339))
	}
	return p, false
}

// runID is the invocation, of which a user's manager may say anything.
func (f *facts) runID() string {
	if f.watch.User {
		return "user"
	}
	return f.unit.invocation
}

// main is the process that the manager calls the main one, or else the oldest.
func (f *facts) main() *process {
	for i := range f.members {
		if pid := f.unit.mainPID; pid == 0 || pid == f.members[i].pid {
			return &f.members[i]
		}
	}
	return nil
}

// in reports whether the process is in the control group or below.
func (p *process) in(group string) bool {
	return group != "" && slices.ContainsFunc(p.groups, func(g string) bool { return g == group || strings.HasPrefix(g, group+"/") })
}

// why says for people why a unit does not run.
func (u *unitState) why() string {
	switch {
	case u.load == "masked":
		return "it is masked"
	case u.sub == "auto-restart" || u.sub == "auto-restart-queued":
		return fmt.Sprintf("its process ended (%s), and it waits to be started again", u.result)
	case u.active == "failed":
		return fmt.Sprintf("it has failed (%s)", u.result)
	case u.load != "loaded":
		return fmt.Sprintf("its unit file is not usable (%s)", u.load)
	case u.condition:
		return "a condition in its unit file was not met"
	case u.typ == "oneshot":
		return "it runs once and ends, and no process holds the files"
	case u.sockets && u.inactiveExit.real.IsZero():
		return "it waits for the first connection to its socket"
	case u.inactiveExit.real.IsZero():
		return "it was not started since boot"
	default:
		return "it is not running"
	}
}

// judge weighs the files against the process. judgeState has let it pass.
func (f *facts) judge(p Process) Process {
	s := f.span()
	p.Since = s.shown
	f.findNewest(&p)
	clocks := f.byClocks(p, s)
	switch {
	case f.files.refused != "":
		return p.with(Unknown, "", "%s", f.files.refused)
	case len(f.files.entries) == 0:
		return p.with(Unknown, "", "no live file matches %s", strings.Join(f.watch.Files, ", "))
	}
	if path := f.record.contradicts(f.unit.invocation, f.bootID, &f.files, f.match); path != "" {
		p.Newest, p.By, p.Fix = path, f.by(path, p.Since), f.watch.restart()
		return p.with(Stale, ByRecord, "the process says that it has loaded another %.200q than the one on the disk", path)
	}
	verdict := clocks
	if f.memory.Run == p.Run && f.memory.Files != nil {
		verdict = f.bySnapshot(p)
	}
	if f.view != "" && verdict.Verdict == Loaded {
		return p.with(Unknown, "", "%s", f.view)
	}
	if f.badRec != nil && verdict.Verdict == Loaded {
		return p.with(Unknown, ByRecord, "what the process says of itself cannot be used: %v", f.badRec)
	}
	return verdict
}

func (p Process) with(v Verdict, evidence, format string, args ...any) Process {
	p.Verdict, p.Evidence, p.Reason = v, evidence, fmt.Sprintf(format, args...)
	return p
}

// doubt is an unknown that only the clocks are to blame for. Another start ends it.
func (f *facts) doubt(p Process, evidence, format string, args ...any) Process {
	p.Clock, p.Fix = true, f.watch.restart()
	if s := f.span(); s.oldest != nil && s.oldest.forked && f.watch.User && f.readFrom(s.oldest) == f.homeRun {
		p.Fix = fmt.Sprintf("systemctl restart user@%d.service", f.watch.UID) // another start of the unit has the same ancestors
	}
	return p.with(Unknown, evidence, format, args...)
}

// bySnapshot compares with what the files were when all of them were older than this run.
func (f *facts) bySnapshot(p Process) Process {
	if path, different := f.memory.differs(&f.files); different {
		p.Newest, p.By, p.Fix = path, f.by(path, p.Since), f.watch.restart()
		return p.with(Stale, BySnapshot, "%.200q has changed since the process started", path)
	}
	if i := slices.IndexFunc(f.members, func(m process) bool { return !f.innocent(&m) }); i >= 0 {
		return f.doubt(p, BySnapshot, "the files are what the unit started with, but process %d in it began when they may have been others", f.members[i].pid)
	}
	return p.with(Loaded, BySnapshot, "the files are what they were when the process started")
}

// innocent reports whether a process can only have read what is in the snapshot: because root has found that before,
// because nothing was changed from before it began until now, or because it began after the last change.
func (f *facts) innocent(p *process) bool {
	start := f.readFrom(p)
	return f.memory.knows(p) ||
		start >= f.memory.Since && f.memory.Times == f.files.times() ||
		f.clockDoubt(start) == "" && f.now.at(start).After(f.files.newest().Add(f.tolerance))
}

// A span is when the processes of the unit may have read their files: none before from, all by until.
type span struct {
	from, until time.Time
	shown       time.Time // from, as precisely as anybody knows it
	oldest      *process
}

func (f *facts) span() span {
	main := f.main()
	s := span{oldest: main}
	start := f.readFrom(main)
	for i := range f.members {
		if t := f.readFrom(&f.members[i]); t < start {
			start, s.oldest = t, &f.members[i]
		}
	}
	s.from, s.until = f.now.at(start), f.now.at(main.start())
	s.shown = s.from.Round(time.Second / 100)
	if f.watch.User {
		return s
	}
	// systemd's own notes are of the same moments, as the clock was set then.
	if t := f.unit.mainStart.real; !t.IsZero() {
		if t.Sub(s.from).Abs() < maxStep/10 {
			s.shown = t
		}
		if t.Before(s.from) {
			s.from = t
		}
		s.until = later(s.until, t)
	}
	switch f.unit.active {
	case "active", "reloading", "refreshing":
		s.until = later(s.until, f.unit.activeEnter.real)
	case "activating":
		s.until = later(s.until, f.now.real)
	}
	return s
}

// readFrom is the earliest moment, since boot, at which what is in the memory of p may have been read. A process that was
// forked and runs no program of its own holds what its parent had read, which may be gone, or may have been another
// program then: what the parent runs now says nothing. So it is as old as the place where all of its ancestors began.
func (f *facts) readFrom(p *process) time.Duration {
	if !p.forked {
		return p.start()
	}
	if floor := f.floor(p); floor <= p.start() {
		return floor
	}
	return 0 // it was left from an earlier run
}

// floor is a moment since boot before which no ancestor of the forked process p can have read a file of the gate's.
func (f *facts) floor(p *process) time.Duration {
	u, main := &f.unit, f.main()
	switch {
	case f.watch.User && slices.Contains(p.lineage, f.home.mainPID):
		return f.homeRun // a user may move any process into a unit, but what descends from the manager is younger
	case f.watch.User:
		return 0
	case !u.delegated && !u.leavings && !u.inactiveExit.real.IsZero():
		return f.now.earliest(u.inactiveExit, f.steady.since) // only systemd put the first one there
	case !u.handsOver && !main.forked && slices.Contains(p.lineage, main.pid):
		return main.start()
	default:
		return 0
	}
}

// clockDoubt says why the clock cannot be trusted to have run from start until now as it does now; "" where it can.
func (f *facts) clockDoubt(start time.Duration) string {
	by := f.set(start)
	switch {
	case start >= f.steady.since:
		return ""
	case by != 0:
		return fmt.Sprintf("the clock was set by %v since the start, so times cannot be compared", by.Round(time.Second))
	case start < f.steady.other:
		return "the clock was set to another time since the start and back, so times cannot be compared"
	default:
		return ""
	}
}

// set says by how much the clock was set since start, or rather since a moment before it of which systemd has a note.
func (f *facts) set(start time.Duration) time.Duration {
	if f.home != nil {
		if by := f.now.setSince(f.home.mainStart.real, f.homeRun); by != 0 {
			return by
		}
		return f.now.set(f.home.inactiveExit)
	}
	if by := f.now.set(f.unit.inactiveExit); by != 0 {
		return by
	}
	return f.now.set(f.unit.mainStart)
}

// byClocks compares times.
func (f *facts) byClocks(p Process, s span) Process {
	if doubt := f.clockDoubt(f.readFrom(s.oldest)); doubt != "" {
		return f.doubt(p, ByClocks, "%s", doubt)
	}
	var doubts []string
	var stale *manifest.Entry
	for _, e := range slices.Concat(f.files.entries, f.files.dirs) {
		switch t := changed(&e); {
		case e.CTime.Unix() <= 1:
			doubts = append(doubts, fmt.Sprintf("%.200q has no time", e.Path))
		case t.After(f.now.real.Add(f.tolerance)):
			doubts = append(doubts, fmt.Sprintf("%.200q has a time in the future", e.Path))
		case t.Before(s.from.Add(-f.tolerance)):
		case !t.After(s.until.Add(f.tolerance)):
			doubts = append(doubts, f.between(&e, t, s))
		case e.Type == manifest.Dir && !e.MTime.Before(s.from.Add(-f.tolerance)):
			doubts = append(doubts, fmt.Sprintf("something in the directory %.200q was added, removed or renamed after the start", e.Path))
		case stale == nil || t.After(changed(stale)):
			stale = &e
		}
	}
	for _, a := range f.files.above {
		if !a.ctime.Before(s.from.Add(-f.tolerance)) {
			doubts = append(doubts, fmt.Sprintf("the directory %.200q has changed since the start, and user %s can put another in its place: what lay there at the start is not known",
				a.path, f.watch.user()))
		}
	}
	back := f.now.setSince(f.booted.real, f.booted.mono)
	switch {
	case stale != nil && back < 0: // at boot no machine had slept
		return f.doubt(p, ByClocks, "the clock was set back by %v since boot, so %.200q may look newer than it is", (-back).Round(time.Second), stale.Path)
	case stale != nil:
		p.Newest, p.By, p.Fix = stale.Path, changed(stale).Sub(p.Since), f.watch.restart()
		if stale.Type == manifest.Dir {
			return p.with(Stale, ByClocks, "the directory %.200q was put in place after the process started", stale.Path)
		}
		return p.with(Stale, ByClocks, "%.200q was changed after the process started", stale.Path)
	case len(doubts) > 0:
		return f.doubt(p, ByClocks, "%s", doubts[0])
	}
	return p.with(Loaded, ByClocks, "all files are older than the process")
}

// between explains a time at which the process may have been reading, or not yet, or not any more.
func (f *facts) between(e *manifest.Entry, t time.Time, s span) string {
	main := f.main()
	switch {
	case t.Sub(s.from).Abs() <= f.tolerance:
		return fmt.Sprintf("%.200q was changed within %v of the start", e.Path, f.tolerance)
	case s.oldest != main && s.oldest.forked:
		return fmt.Sprintf("%.200q is not older than all that process %d can have read: it was forked and runs no program of its own", e.Path, s.oldest.pid)
	case s.oldest != main:
		return fmt.Sprintf("%.200q is newer than process %d, which is in the unit and older than the main process", e.Path, s.oldest.pid)
	case main.forked:
		return fmt.Sprintf("%.200q was changed while the unit was started, and what the main process was forked from may have read it before", e.Path)
	default:
		return fmt.Sprintf("%.200q was changed while the process was starting", e.Path)
	}
}

func (f *facts) findNewest(p *Process) {
	var newest time.Time
	for _, e := range slices.Concat(f.files.entries, f.files.dirs) {
		if t := changed(&e); p.Newest == "" || t.After(newest) {
			p.Newest, newest = e.Path, t
		}
	}
	if p.Newest != "" {
		p.By = newest.Sub(p.Since)
	}
}

// by is how much newer than the start the entry at path is; 0 for one that is gone.
func (f *facts) by(path string, start time.Time) time.Duration {
	for _, e := range f.files.entries {
		if e.Path == path {
			return changed(&e).Sub(start)
		}
	}
	return 0
}
