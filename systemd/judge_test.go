package systemd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse/manifest"
)

// The tests of the judgement happen an hour after boot. The process of most of them began half an hour after it.
var (
	bootTime = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	noon     = clock{real: bootTime.Add(time.Hour), mono: time.Hour, boot: time.Hour}
)

// minute is a moment, in minutes after boot.
func minute(m float64) time.Time { return bootTime.Add(time.Duration(m * float64(time.Minute))) }

func stampAt(m float64) stamp { return stamp{minute(m), time.Duration(m * float64(time.Minute))} }

func startedAt(pid int, m float64) process {
	return process{pid: pid, parent: 1, uid: agent, ticks: uint64(m * 6000), image: fmt.Sprint("image of ", pid), groups: []string{"/system.slice/a.service"}}
}

// running is a system unit that has read its files by all evidence.
func running() *facts {
	digest := strings.Repeat("a", 64)
	return &facts{
		watch: Watch{Gate: "claude", Unit: "a.service", UID: agent, UserName: "agent", Files: []string{"plugin/**"}}, bootID: "boot",
		now: noon, tolerance: 2 * time.Second, booted: stampAt(0), steady: steadiness{since: noon.boot},
		unit: unitState{load: "loaded", active: "active", sub: "running", typ: "simple", result: "success", mainPID: 10,
			controlGroup: "/system.slice/a.service", invocation: strings.Repeat("1", 32),
			inactiveExit: stampAt(30), activeEnter: stampAt(30), mainStart: stampAt(30)},
		members: []process{startedAt(10, 30)},
		files: selection{
			entries: []manifest.Entry{
				{Path: "plugin/a.js", Type: manifest.File, SHA256: digest, MTime: minute(10), CTime: minute(10)},
				{Path: "plugin/link", Type: manifest.Symlink, Target: "a.js", MTime: minute(10), CTime: minute(10)},
			},
			dirs: []manifest.Entry{{Path: "plugin", Type: manifest.Dir, MTime: minute(10), CTime: minute(10)}},
		},
		match: patterns{}, memory: new(memory),
	}
}

// asUser makes f a unit of the user's manager, which began a minute after boot.
func (f *facts) asUser() {
	f.watch.User = true
	f.home = &unitState{load: "loaded", active: "active", sub: "running", mainPID: 5, inactiveExit: stampAt(1), mainStart: stampAt(1)}
	f.homeRun = time.Minute
}

// fork adds a process that was forked and runs no program of its own, with the ancestors that are left.
func (f *facts) fork(pid int, m float64, lineage ...int) {
	p := startedAt(pid, m)
	p.forked, p.lineage, p.image = true, lineage, f.members[0].image
	f.members = append(f.members, p)
}

// snapshot gives f what was noted twenty minutes before.
func (f *facts) snapshot() {
	p, _ := f.judgeState()
	f.memory = &memory{Run: p.Run, Files: f.files.contents(), Times: f.files.times(), Since: 30 * time.Minute, Known: newKnown(f.members)}
}

func file(f *facts) *manifest.Entry { return &f.files.entries[0] }

var judgements = []struct {
	name     string
	change   func(f *facts)
	verdict  Verdict
	evidence string
	reason   string
	clock    bool
}{
	{"all is older", func(f *facts) {}, Loaded, ByClocks, "all files are older than the process", false},
	{"a user's too", (*facts).asUser, Loaded, ByClocks, "", false},
	{"a file is newer", func(f *facts) { file(f).CTime = minute(31) }, Stale, ByClocks, `"plugin/a.js" was changed after`, false},
	{"only its mtime is newer", func(f *facts) { file(f).MTime = minute(31) }, Stale, ByClocks, "", false},
	{"only its ctime is newer", func(f *facts) { file(f).CTime, file(f).MTime = minute(31), minute(-999) }, Stale, ByClocks, "", false},
	{"a link is newer", func(f *facts) { f.files.entries[1].CTime = minute(31) }, Stale, ByClocks, "plugin/link", false},
	{"a file is newer by less than the tolerance", func(f *facts) { file(f).CTime = minute(30.03) }, Unknown, ByClocks, "within 2s of the start", true},
	{"a file is older by less than the tolerance", func(f *facts) { file(f).CTime = minute(29.97) }, Unknown, ByClocks, "within 2s of the start", true},
	{"a file is from the future", func(f *facts) { file(f).CTime = minute(61) }, Unknown, ByClocks, "in the future", true},
	{"a file says that it is from the future", func(f *facts) { file(f).MTime = minute(61) }, Unknown, ByClocks, "in the future", true},
	{"a file without a time of change", func(f *facts) { file(f).CTime = time.Unix(0, 0) }, Unknown, ByClocks, "has no time", true},
	{"a file from a reproducible tree", func(f *facts) { file(f).MTime = time.Unix(1, 0) }, Loaded, ByClocks, "", false},
	{"a directory was moved here", func(f *facts) { f.files.dirs[0].CTime = minute(31) }, Stale, ByClocks, "put in place after", false},
	{"a directory has other names in it", func(f *facts) { f.files.dirs[0].CTime, f.files.dirs[0].MTime = minute(31), minute(31) }, Unknown, ByClocks, "added, removed or renamed", true},
	{"a directory above may be another", func(f *facts) { f.files.above = []above{{"/home/agent/x", minute(31)}} }, Unknown, ByClocks, "what lay there at the start is not known", true},
	{"a directory above is old", func(f *facts) { f.files.above = []above{{"/home/agent/x", minute(29)}} }, Loaded, ByClocks, "", false},
	{"a directory above may be another and a file is newer", func(f *facts) {
		f.files.above = []above{{"/home/agent/x", minute(31)}}
		file(f).CTime = minute(31)
	}, Stale, ByClocks, "", false},

	{"changed before a slow start was over", func(f *facts) { f.unit.activeEnter = stampAt(32); file(f).CTime = minute(31) }, Unknown, ByClocks, "while the process was starting", true},
	{"changed after a slow start", func(f *facts) { f.unit.activeEnter = stampAt(32); file(f).CTime = minute(33) }, Stale, ByClocks, "", false},
	{"still starting", func(f *facts) { f.unit.active, f.unit.sub = "activating", "start"; file(f).CTime = minute(33) }, Unknown, ByClocks, "while the process was starting", true},
	{"a user's manager says that it is still starting", func(f *facts) { f.asUser(); f.unit.active = "activating"; file(f).CTime = minute(33) }, Stale, ByClocks, "", false},
	{"a user's manager says that it started later", func(f *facts) {
		f.asUser()
		f.unit.mainStart, f.unit.activeEnter, f.unit.inactiveExit = stampAt(40), stampAt(40), stampAt(40)
		file(f).CTime = minute(31)
	}, Stale, ByClocks, "", false},
	{"handed over", func(f *facts) {
		f.unit.mainStart = stampAt(50)
		f.members[0] = startedAt(10, 50)
		file(f).CTime = minute(40)
	}, Loaded, ByClocks, "", false},
	{"handed over late", func(f *facts) {
		f.unit.mainStart = stampAt(50)
		f.members[0] = startedAt(10, 40)
		file(f).CTime = minute(45)
	}, Unknown, ByClocks, "", true},
	{"the old process is still there", func(f *facts) {
		f.unit.mainStart = stampAt(50)
		f.members = []process{startedAt(9, 30), startedAt(10, 50)}
		file(f).CTime = minute(40)
	}, Unknown, ByClocks, "process 9, which is in the unit and older", true},
	{"newer than the old process and the main one", func(f *facts) {
		f.unit.mainStart = stampAt(50)
		f.members = []process{startedAt(9, 30), startedAt(10, 50)}
		file(f).CTime = minute(55)
	}, Stale, ByClocks, "", false},
	{"forked from what is gone", func(f *facts) {
		f.members[0] = startedAt(10, 40)
		f.members[0].forked = true
		f.unit.mainStart = stampAt(40)
		file(f).CTime = minute(35)
	}, Unknown, ByClocks, "was forked from", true},
	{"forked since the unit began", func(f *facts) { f.fork(11, 40, 10) }, Loaded, ByClocks, "", false},
	{"forked before the parent was the program that it is now", func(f *facts) {
		f.fork(11, 40, 10)
		f.unit.inactiveExit = stampAt(20)
		file(f).CTime = minute(25)
	}, Unknown, ByClocks, "process 11 can have read: it was forked", true},
	{"forked by one that nobody may look into", func(f *facts) {
		f.fork(11, 40, 10)
		f.members[0].image, f.members[1].image = "", ""
		f.unit.inactiveExit = stampAt(20)
		file(f).CTime = minute(25)
	}, Unknown, ByClocks, "process 11 can have read: it was forked", true},
	{"forked, and the clock was set back after the unit began", func(f *facts) {
		f.fork(10, 45, 1)
		f.members = f.members[1:]
		f.unit.inactiveExit.real, f.unit.mainStart = minute(50), stampAt(45)
		f.steady.since = 31 * time.Minute
		file(f).CTime = minute(40)
	}, Unknown, ByClocks, "the clock was set by", true},
	{"forked, and the machine slept after the unit began", func(f *facts) {
		f.fork(11, 40, 10)
		f.now.mono -= 20 * time.Minute
		f.unit.inactiveExit.mono, f.unit.mainStart.mono = 25*time.Minute, 25*time.Minute // it slept for five of them before
		file(f).CTime = minute(27)
	}, Unknown, ByClocks, "it was forked", true},
	{"forked, and the machine slept before anybody looked", func(f *facts) {
		f.fork(11, 40, 10)
		f.now.mono -= 5 * time.Minute
		f.unit.inactiveExit.mono, f.unit.mainStart.mono = 25*time.Minute, 25*time.Minute
		f.steady.since = 10 * time.Minute
		file(f).CTime = minute(27)
	}, Loaded, ByClocks, "", false},
	{"forked elsewhere, and moved into a unit whose user may", func(f *facts) {
		f.unit.delegated = true
		f.fork(11, 40, 77)
	}, Unknown, ByClocks, "process 11 can have read", true},
	{"forked in a unit whose user may move processes into it", func(f *facts) {
		f.unit.delegated = true
		f.fork(11, 40, 10)
	}, Loaded, ByClocks, "", false},
	{"forked in it by one that said that it is the main process", func(f *facts) {
		f.unit.delegated, f.unit.handsOver = true, true
		f.fork(11, 40, 10)
	}, Unknown, ByClocks, "process 11 can have read", true},
	{"forked where an earlier run may have left something", func(f *facts) {
		f.unit.leavings = true
		f.fork(11, 40, 77)
	}, Unknown, ByClocks, "process 11 can have read", true},
	{"a user's, forked below the manager", func(f *facts) {
		f.asUser()
		f.homeRun = 20 * time.Minute
		f.home.inactiveExit, f.home.mainStart = stampAt(20), stampAt(20)
		f.fork(11, 40, 10, 5)
	}, Loaded, ByClocks, "", false},
	{"a user's, forked outside of the manager", func(f *facts) {
		f.asUser()
		f.homeRun = 20 * time.Minute
		f.home.inactiveExit, f.home.mainStart = stampAt(20), stampAt(20)
		f.fork(11, 40, 10)
	}, Unknown, ByClocks, "process 11 can have read", true},
	{"a user's, forked from what is gone", func(f *facts) { f.asUser(); f.members[0].forked = true }, Unknown, ByClocks, "", true},
	{"left from an earlier run by what is gone", func(f *facts) {
		left := startedAt(9, 12)
		left.forked = true
		f.members = []process{left, f.members[0]}
	}, Unknown, ByClocks, "", true},

	{"the clock was set forward since", func(f *facts) { f.now.real = f.now.real.Add(time.Hour) }, Unknown, ByClocks, "the clock was set by 1h0m0s", true},
	{"the clock was set back since", func(f *facts) { f.now.real = f.now.real.Add(-time.Minute) }, Unknown, ByClocks, "the clock was set by -1m0s", true},
	{"the clock was set since, and a file is newer", func(f *facts) { f.now.real = f.now.real.Add(time.Hour); file(f).CTime = minute(100) }, Unknown, ByClocks, "the clock was set", true},
	{"the machine slept", func(f *facts) {
		f.now = clock{real: minute(60), mono: 50 * time.Minute, boot: time.Hour}
	}, Loaded, ByClocks, "", false},
	{"the machine slept, not only since", func(f *facts) {
		f.now = clock{real: minute(60), mono: 50 * time.Minute, boot: time.Hour}
		f.unit.inactiveExit.mono, f.unit.mainStart.mono = 26*time.Minute, 26*time.Minute
	}, Loaded, ByClocks, "", false},
	{"set back further than it slept", func(f *facts) {
		f.now = clock{real: minute(40), mono: 50 * time.Minute, boot: time.Hour}
	}, Unknown, ByClocks, "the clock was set", true},
	{"set before the start, as was seen", func(f *facts) {
		f.now.real = f.now.real.Add(24 * time.Hour)
		f.steady.since = 29 * time.Minute
	}, Loaded, ByClocks, "", false},
	{"set before a user's unit began", func(f *facts) { f.asUser(); f.home.mainStart.real = minute(-999) }, Unknown, ByClocks, "the clock was set", true},
	{"set back since boot, and a file is newer", func(f *facts) {
		f.booted = stampAt(5)
		f.booted.real = minute(999)
		file(f).CTime = minute(31)
	}, Unknown, ByClocks, "may look newer than it is", true},
	{"set back since boot by less than the machine slept, and a file is newer", func(f *facts) {
		f.now.mono = 10 * time.Minute // and the start was seen under the clock as it is
		f.booted = stamp{minute(30), 0}
		f.steady.since = 29 * time.Minute
		file(f).CTime = minute(31)
	}, Unknown, ByClocks, "may look newer than it is", true},
	{"set and set back since the start, as was seen", func(f *facts) {
		f.steady = steadiness{since: 55 * time.Minute, other: 40 * time.Minute}
	}, Unknown, ByClocks, "to another time since the start and back", true},
	{"set and set back before the start, as was seen", func(f *facts) {
		f.steady = steadiness{since: 55 * time.Minute, other: 20 * time.Minute}
	}, Loaded, ByClocks, "", false},
	{"set back since boot, and all is older", func(f *facts) { f.booted = stamp{minute(999), 5 * time.Minute} }, Loaded, ByClocks, "", false},

	{"as in the snapshot", func(f *facts) { f.snapshot(); file(f).CTime = minute(31) }, Loaded, BySnapshot, "what they were", false},
	{"as in the snapshot, though the clock was set", func(f *facts) { f.snapshot(); f.now.real = f.now.real.Add(time.Hour) }, Loaded, BySnapshot, "", false},
	{"not as in the snapshot", func(f *facts) { f.snapshot(); file(f).SHA256 = "b" }, Stale, BySnapshot, `"plugin/a.js" has changed`, false},
	{"not as in the snapshot, with an old time", func(f *facts) { f.snapshot(); f.files.entries[1].Target = "b.js" }, Stale, BySnapshot, "plugin/link", false},
	{"gone since the snapshot", func(f *facts) { f.snapshot(); f.files.entries = f.files.entries[:1] }, Stale, BySnapshot, "plugin/link", false},
	{"new since the snapshot", func(f *facts) { f.snapshot(); delete(f.memory.Files, "plugin/link") }, Stale, BySnapshot, "plugin/link", false},
	{"a known one has become another program", func(f *facts) {
		f.fork(11, 40, 10)
		f.snapshot()
		f.members[1].forked = false
		file(f).CTime = minute(45)
	}, Unknown, BySnapshot, "process 11", true},
	{"a snapshot of another run", func(f *facts) { f.snapshot(); f.memory.Run += "0"; file(f).CTime = minute(31) }, Stale, ByClocks, "", false},
	{"a worker began with the files unchanged", func(f *facts) { f.snapshot(); f.members = append(f.members, startedAt(11, 40)) }, Loaded, BySnapshot, "", false},
	{"a worker began before the files were changed and back", func(f *facts) {
		f.snapshot()
		f.members = append(f.members, startedAt(11, 40))
		file(f).CTime = minute(45)
	}, Unknown, BySnapshot, "process 11 in it began when they may have been others", true},
	{"a worker began after the files were changed and back", func(f *facts) {
		f.snapshot()
		f.members = append(f.members, startedAt(11, 50))
		file(f).CTime = minute(45)
	}, Loaded, BySnapshot, "", false},
	{"a worker seems to have begun after the files were changed and back, but the clock was set", func(f *facts) {
		f.snapshot()
		f.members = append(f.members, startedAt(11, 40))
		file(f).CTime = minute(45)
		f.now.real = f.now.real.Add(time.Hour)
	}, Unknown, BySnapshot, "process 11", true},
	{"an older process came", func(f *facts) { f.snapshot(); f.members = append(f.members, startedAt(11, 9)) }, Unknown, BySnapshot, "process 11", true},
	{"the main process became another program while the files were others", func(f *facts) {
		f.snapshot()
		f.members[0].image = "another"
		file(f).CTime = minute(45)
	}, Unknown, BySnapshot, "process 10", true},

	{"the process says otherwise", func(f *facts) {
		f.snapshot()
		f.match = patterns{mustPattern("plugin/**")}
		f.record = &record{InvocationID: f.unit.invocation, Files: map[string]string{"plugin/a.js": "b"}}
	}, Stale, ByRecord, `another "plugin/a.js"`, false},
	{"the process of another run says otherwise", func(f *facts) {
		f.match = patterns{mustPattern("plugin/**")}
		f.record = &record{InvocationID: strings.Repeat("2", 32), Files: map[string]string{"plugin/a.js": "b"}}
	}, Loaded, ByClocks, "", false},
	{"the process of another boot says otherwise", func(f *facts) {
		f.match = patterns{mustPattern("plugin/**")}
		f.record = &record{InvocationID: f.unit.invocation, BootID: "other", Files: map[string]string{"plugin/a.js": "b"}}
	}, Loaded, ByClocks, "", false},
	{"the process loaded what is gone", func(f *facts) {
		f.match = patterns{mustPattern("plugin/**")}
		f.record = &record{InvocationID: f.unit.invocation, Files: map[string]string{"plugin/gone.js": "b"}}
	}, Stale, ByRecord, "gone.js", false},
	{"the process names files that do not matter", func(f *facts) {
		f.match = patterns{mustPattern("plugin/**")}
		f.record = &record{InvocationID: f.unit.invocation, Files: map[string]string{"policy/a.js": "b", "plugin/link": "b", "plugin/link/x": "b"}}
	}, Loaded, ByClocks, "", false},
	{"the process says that it is up to date", func(f *facts) {
		f.match = patterns{mustPattern("plugin/**")}
		f.record = &record{InvocationID: f.unit.invocation, Files: map[string]string{"plugin/a.js": file(f).SHA256}}
		file(f).CTime = minute(31)
	}, Stale, ByClocks, "", false},
	{"what the process says cannot be read", func(f *facts) { f.badRec = fmt.Errorf("a FIFO") }, Unknown, ByRecord, "a FIFO", false},
	{"what the process says cannot be read and the files are newer", func(f *facts) { f.badRec = fmt.Errorf("a FIFO"); file(f).CTime = minute(31) }, Stale, ByClocks, "", false},

	{"a file could not be read", func(f *facts) { f.files.refused = `"plugin/x" could not be looked at: special` }, Unknown, "", "plugin/x", false},
	{"it sees other files", func(f *facts) { f.view = "process 10 sees something else" }, Unknown, "", "sees something else", false},
	{"it sees other files, and those on the disk are newer", func(f *facts) { f.view = "process 10 sees"; file(f).CTime = minute(31) }, Stale, ByClocks, "", false},
	{"no file matches", func(f *facts) { f.files.entries = nil }, Unknown, "", "no live file matches plugin/**", false},

	{"a process has left", func(f *facts) { f.strays = []process{startedAt(7, 3)} }, Unknown, "", "process 7 was seen in the unit and has left it", false},
	{"said to be inactive, with a process", func(f *facts) { f.unit.active = "inactive" }, Unknown, "", "systemd says that the unit is inactive, but the kernel has process 10", false},
	{"inactive", func(f *facts) { f.unit.active, f.members = "inactive", nil }, NotRunning, "", "not running", false},
	{"failed", func(f *facts) { f.unit.active, f.unit.result, f.members = "failed", "signal", nil }, NotRunning, "", "failed (signal)", false},
	{"a condition", func(f *facts) { f.unit.active, f.unit.condition, f.members = "inactive", true, nil }, NotRunning, "", "condition", false},
	{"a bad unit file", func(f *facts) { f.unit.active, f.unit.load, f.members = "inactive", "bad-setting", nil }, NotRunning, "", "bad-setting", false},
	{"active without a process", func(f *facts) { f.members = nil }, Unknown, "", "has no process in its control group", false},
	{"starting without a process", func(f *facts) {
		f.unit.active, f.unit.sub, f.unit.mainPID, f.members = "activating", "start-pre", 0, nil
	}, NotRunning, "", "start-pre", false},
	{"the main process is gone", func(f *facts) { f.unit.mainPID = 99 }, Unknown, "", "process 99 is the main one", false},
	{"a user's main process is somebody else's", func(f *facts) { f.asUser(); f.members[0].uid = 0 }, Unknown, "", "belongs to uid 0", false},
	{"too many processes", func(f *facts) {
		for i := range maxKnown {
			f.members = append(f.members, startedAt(100+i, 31))
		}
	}, Unknown, "", "no more than 1000", false},
	{"a user's manager is down", func(f *facts) {
		f.asUser()
		f.home.active, f.unit, f.members = "inactive", unitState{active: "inactive"}, nil
	}, NotRunning, "", "the service manager of user agent does not run", false},
	{"a user's manager is down, a process is there", func(f *facts) { f.asUser(); f.home.active, f.unit = "inactive", unitState{active: "inactive"} }, Unknown, "", "process 10 is in the control group", false},
	{"a user's manager names another control group", func(f *facts) { f.asUser(); f.unit.controlGroup = "/system.slice/a" }, Unknown, "", "has the control group", false},
	{"a user's manager says that it started earlier", func(f *facts) { f.asUser(); f.unit.mainStart = stampAt(20) }, Unknown, "", "but the kernel says", false},
}

func mustPattern(text string) pattern {
	m, err := newPatterns([]string{text})
	if err != nil {
		panic(err)
	}
	return m[0]
}

func TestJudgement(t *testing.T) {
	for _, c := range judgements {
		t.Run(c.name, func(t *testing.T) {
			f := running()
			c.change(f)
			p, final := f.judgeState()
			if !final {
				p = f.judge(p)
			}
			if p.Verdict != c.verdict || p.Evidence != c.evidence || !strings.Contains(p.Reason, c.reason) || p.Clock != c.clock || p.Fault {
				t.Errorf("got %s by %q, clock %v: %s", p.Verdict, p.Evidence, p.Clock, p.Reason)
			}
			if (p.Verdict == Stale || p.Clock) != (p.Fix != "") {
				t.Errorf("%s with the fix %q", p.Verdict, p.Fix)
			}
			if p.Verdict == Stale && p.Newest == "" {
				t.Error("what is newest is not named")
			}
		})
	}
}

// TestAWorkerThatReadOtherFilesStaysSuspect looks again and again: time alone makes nobody innocent.
func TestAWorkerThatReadOtherFilesStaysSuspect(t *testing.T) {
	f := running()
	f.snapshot()
	f.members = append(f.members, startedAt(11, 40)) // while the files were others
	file(f).CTime = minute(45)                       // they are back
	for look := range 3 {
		p, _ := f.judgeState()
		if p = f.judge(p); p.Verdict != Unknown {
			t.Fatalf("look %d: %+v", look, p)
		}
		f.scanned = f.now.boot
		f.memory = f.learn(p)
		f.now.real, f.now.mono, f.now.boot = f.now.real.Add(time.Hour), f.now.mono+time.Hour, f.now.boot+time.Hour
	}
	f.members = f.members[:1] // it ended
	late := startedAt(12, 61)
	f.members = append(f.members, late) // and this one began with the files as they are
	p, _ := f.judgeState()
	if p = f.judge(p); p.Verdict != Loaded {
		t.Errorf("%+v", p)
	}
}

func TestTheZeroVerdictIsUnknown(t *testing.T) {
	var v Verdict
	if text, _ := v.MarshalText(); string(text) != "unknown" || v.String() != "unknown" || Verdict("well").String() != "unknown" {
		t.Errorf("%s", v)
	}
}
