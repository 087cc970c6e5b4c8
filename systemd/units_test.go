package systemd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exampleHost is a host with all that a host may have.
func exampleHost() Host {
	return Host{
		Warden: "/usr/bin/true", Gate: "/usr/bin/true", // verify looks whether programs are there
		Config: "/etc/gatehouse/warden.yaml", Schedule: "@hourly",
		State: "/var/lib/gatehouse", Repository: "/srv/gate", Index: "/etc/gatehouse/gates.json",
		Credentials: []Credential{{"slack-token", "/etc/gatehouse/credentials/slack-token"}},
		Network:     true,
		Peers:       true, PeerPaths: []string{"/srv/exchange"},
		PeerCredentials: []Credential{{"nats-seed", "/etc/gatehouse/credentials/nats-seed"}},
		Groups:          []string{"1000", "1001"},
		Gates: []HostGate{
			{Name: "claude", User: "daemon", Export: "/var/lib/gatehouse-export/claude",
				Live: []string{"/home/agent/.config/gatehouse", "/home/agent/hook.js"}, AskUser: true},
			{Name: "codex-2", User: "1", Export: "/var/lib/gatehouse-export/codex-2", Live: []string{"/srv/codex"}},
		},
	}
}

// unitTree writes the unit files of a host below a new directory and returns where they are, and their names.
func unitTree(t *testing.T, h Host) (dir string, units []string) {
	t.Helper()
	files, err := Units(h)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(f.Path) == UnitDir {
			units = append(units, filepath.Base(f.Path))
		}
	}
	return filepath.Join(root, UnitDir), units
}

// strangeHost has every place where a unit file needs quotes.
func strangeHost() Host {
	h := exampleHost()
	h.Network, h.Credentials, h.Peers = false, nil, false
	h.Schedule = "*/5 1 1 * mon"
	h.Config = `/etc/gate house/war"den's $HOME 100%.yaml`
	h.State, h.Repository, h.Index = "/var/lib/gate house", "/tmp/back\\slash; x", "/etc/gate house/gates.json"
	h.Gates = []HostGate{{Name: "a", User: "daemon", Export: "/home/a b/100%/export", Live: []string{"/home/a b/%h/live"}}}
	return h
}

// hub has gates of other hosts only.
func hub() Host {
	h := exampleHost()
	h.Gates, h.Groups = nil, nil
	return h
}

func TestSystemdVerifiesEveryUnit(t *testing.T) {
	for name, h := range map[string]Host{"example": exampleHost(), "strange": strangeHost(), "hub": hub()} {
		dir, units := unitTree(t, h)
		instance := "reconcile"
		if len(h.Gates) > 0 {
			instance = h.Gates[0].Name
		}
		args := []string{"verify", "--man=no"}
		for _, unit := range units {
			if before, after, ok := strings.Cut(unit, "@."); ok { // a template is verified as one of its instances
				unit = before + "@" + instance + "." + after
				if before == "gatehouse-failure" {
					unit = before + "@gatehouse-publish@" + instance + ".service." + after
				}
			}
			args = append(args, unit)
		}
		cmd := exec.Command("systemd-analyze", args...)
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":", "SYSTEMD_LOG_LEVEL=warning")
		out, err := cmd.CombinedOutput()
		if about := regexpLines(out, dir, "gatehouse-"); err != nil || len(about) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// regexpLines returns the lines that have one of the parts.
func regexpLines(out []byte, parts ...string) (lines []string) {
	for line := range strings.Lines(string(out)) {
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(line, part) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestEveryServiceIsExposedByTwoAtMost(t *testing.T) {
	alone := exampleHost()
	alone.Network, alone.Credentials, alone.Peers = false, nil, false
	for _, h := range []Host{exampleHost(), alone, strangeHost()} {
		dir, units := unitTree(t, h)
		for _, unit := range units {
			if filepath.Ext(unit) != ".service" {
				continue
			}
			out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager",
				filepath.Join(dir, unit)).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", unit, err, out)
			}
		}
	}
}

func TestUnitsOfAHost(t *testing.T) {
	files, err := Units(exampleHost())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		name := strings.TrimPrefix(f.Path, UnitDir+"/")
		if f.Enable != f.Start || f.Enable != (len(f.Units) > 0) || f.Mode != 0o644 {
			t.Errorf("%s: enable %v, start %v, units %q, mode %v", name, f.Enable, f.Start, f.Units, f.Mode)
		}
		got = append(got, strings.Join(append([]string{name}, f.Units...), " "))
	}
	want := []string{
		"gatehouse-call.service",
		"gatehouse-call.socket gatehouse-call.socket",
		"gatehouse-failure@.service",
		"gatehouse-flags.path gatehouse-flags.path",
		"gatehouse-flags.service",
		"gatehouse-notify.path gatehouse-notify.path",
		"gatehouse-notify.service",
		"gatehouse-peers.path gatehouse-peers.path",
		"gatehouse-peers.service",
		"gatehouse-peers.timer gatehouse-peers.timer",
		"gatehouse-publish@.service",
		"gatehouse-publish@.timer gatehouse-publish@claude.timer gatehouse-publish@codex-2.timer",
		"gatehouse-publish@claude.service.d/gate.conf",
		"gatehouse-publish@codex-2.service.d/gate.conf",
		"gatehouse-reconcile-changed.service",
		"gatehouse-reconcile-soon.path gatehouse-reconcile-soon.path",
		"gatehouse-reconcile-soon.service",
		"gatehouse-reconcile.path gatehouse-reconcile.path",
		"gatehouse-reconcile.service",
		"gatehouse-reconcile.timer gatehouse-reconcile.timer",
		"gatehouse-serve.service",
		"gatehouse-tool.socket gatehouse-tool.socket",
		"gatehouse-tool@.service",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatUnitsSay(t *testing.T) {
	for name, c := range map[string]struct {
		host  Host
		file  string
		lines []string
		never []string
	}{
		"a pass has no network and no credential": {exampleHost(), "gatehouse-reconcile.service",
			[]string{"CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_CHOWN CAP_DAC_OVERRIDE\n", "PrivateNetwork=yes", "GATEHOUSE_NOTIFY=later",
				"ReadWritePaths=-/var/lib/gatehouse -/srv/gate -/etc/gatehouse\n", "OnFailure=gatehouse-failure@%n.service",
				"SuccessExitStatus=1\n", "After=gatehouse-publish@claude.service gatehouse-publish@codex-2.service\n"},
			[]string{"LoadCredential", "AF_INET"}},
		"what sends has the network, the credentials and no capability": {exampleHost(), "gatehouse-notify.service",
			[]string{"CapabilityBoundingSet=\n", "LoadCredential=slack-token:/etc/gatehouse/credentials/slack-token\n", "AF_INET"},
			[]string{"PrivateNetwork", "CAP_"}},
		"what says that something failed has no handler": {exampleHost(), "gatehouse-failure@.service",
			[]string{"failed --state /var/lib/gatehouse %i\n", "LoadCredential=slack-token:"}, []string{"OnFailure=g"}},
		"what runs other programs is nobody, and root's part of it has no capability": {exampleHost(), "gatehouse-flags.service",
			[]string{"DynamicUser=yes\n", "CapabilityBoundingSet=\n", "PrivateNetwork=yes", "flags --harvest-to %t/gatehouse-flags\nExecStart=!/usr/bin/true",
				"ReadWritePaths=-/var/lib/gatehouse/flags -%t/gatehouse\n"}, []string{"LoadCredential", "AF_INET", "CAP_"}},
		"who counts calls and who runs tools are two users, and neither has the network or a capability": {exampleHost(), "gatehouse-tool@.service",
			[]string{"User=gatehouse-tools\n", "CapabilityBoundingSet=\n", "PrivateNetwork=yes", "NoNewPrivileges=yes"}, []string{"AF_INET", "CAP_"}},
		"who counts calls reads accepted copies by group": {exampleHost(), "gatehouse-call.service",
			[]string{"User=gatehouse\n", "SupplementaryGroups=1000 1001\n", "StateDirectoryMode=0700\n", "CapabilityBoundingSet=\n", "PrivateNetwork=yes"},
			[]string{"AF_INET", "CAP_"}},
		"what speaks to other hosts has the network, the credentials and no capability": {exampleHost(), "gatehouse-peers.service",
			[]string{"CapabilityBoundingSet=\n", "LoadCredential=nats-seed:/etc/gatehouse/credentials/nats-seed\n", "LoadCredential=slack-token:", "AF_INET",
				"ReadWritePaths=-/var/lib/gatehouse -/srv/exchange\n", "rm -f %t/gatehouse/beat\n"}, []string{"PrivateNetwork", "CAP_"}},
		"what only sends notices does not know what signs for the host": {exampleHost(), "gatehouse-notify.service", nil, []string{"nats-seed"}},
		"a pass leaves the word to another unit":                        {exampleHost(), "gatehouse-serve.service", []string{"GATEHOUSE_BEAT=later"}, []string{"nats-seed"}},
		"a gate's publisher is its user and writes beside its files": {exampleHost(), "gatehouse-publish@claude.service.d/gate.conf",
			[]string{"User=daemon\n", "ReadWritePaths=-/var/lib/gatehouse-export/claude -/home/agent/.config -/home/agent\n"}, nil},
		"the directory of an export is watched": {exampleHost(), "gatehouse-reconcile.path",
			[]string{"PathChanged=/var/lib/gatehouse-export/claude\nPathChanged=/var/lib/gatehouse-export/codex-2\n"}, nil},
		"a schedule of two values": {strangeHost(), "gatehouse-reconcile.timer",
			[]string{"OnCalendar=Mon *-*-* 01:00,", "OnCalendar=*-*-01 01:00,", "RandomizedDelaySec=15s\n"}, nil},
		"strange names": {strangeHost(), "gatehouse-reconcile.service",
			[]string{`--config "/etc/gate house/war\"den's $$HOME 100%%.yaml" reconcile`,
				`ReadWritePaths="-/var/lib/gate house" "-/tmp/back\\slash; x" "-/etc/gate house"`, "PrivateTmp=no\n",
				"CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_CHOWN\n"},
			[]string{"GATEHOUSE_NOTIFY"}},
	} {
		files, err := Units(c.host)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f File) bool { return f.Path == filepath.Join(UnitDir, c.file) })
		for _, line := range c.lines {
			if !strings.Contains(string(files[i].Data), line) {
				t.Errorf("%s: %s has no %q:\n%s", name, c.file, line, files[i].Data)
			}
		}
		for _, line := range c.never {
			if strings.Contains(string(files[i].Data), line) {
				t.Errorf("%s: %s has %q", name, c.file, line)
			}
		}
	}
}

func TestUnitsRefuseWhatAUnitFileCannotSay(t *testing.T) {
	for name, spoil := range map[string]func(*Host){
		"a line break in a path":  func(h *Host) { h.State = "/var/lib/x\nExecStart=/bin/sh" },
		"a relative path":         func(h *Host) { h.Gates[0].Live[0] = "live" },
		"a space at the end":      func(h *Host) { h.Gates[0].Export = "/srv/x " },
		"a backslash at the end":  func(h *Host) { h.Gates[0].Export = `/srv/x\` },
		"a user with a line":      func(h *Host) { h.Gates[0].User = "a\nb" },
		"a user with a specifier": func(h *Host) { h.Gates[0].User = "%u" },
		"a gate with a slash":     func(h *Host) { h.Gates[0].Name = "a/b" },
		"a credential with a colon": func(h *Host) {
			h.Credentials = []Credential{{"a:b", "/x"}}
		},
		"neither gate nor peer":    func(h *Host) { h.Gates, h.Peers = nil, false },
		"a schedule without words": func(h *Host) { h.Schedule = "@every 7m" },
	} {
		h := exampleHost()
		h.Gates = slices.Clone(h.Gates)
		h.Gates[0].Live = slices.Clone(h.Gates[0].Live)
		if spoil(&h); true {
			if files, err := Units(h); err == nil {
				t.Errorf("%s: %d files", name, len(files))
			}
		}
	}
}

func TestAnEditedUnitFileIsTold(t *testing.T) {
	files, err := Units(exampleHost())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !Unedited(f.Data) {
			t.Errorf("%s reads as edited", f.Path)
		}
		if edited := append(slices.Clone(f.Data), '\n'); Unedited(edited) {
			t.Errorf("%s with another line reads as our own", f.Path)
		}
	}
	if Unedited(nil) || Unedited([]byte("[Unit]\n")) {
		t.Error("a file without our line reads as our own")
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
		two  bool
	}{
		"exit 2": {map[string]string{"MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_CODE": "exited", "MONITOR_EXIT_STATUS": "2"},
			"exit code 2", true},
		"a signal": {map[string]string{"MONITOR_SERVICE_RESULT": "signal", "MONITOR_EXIT_CODE": "killed", "MONITOR_EXIT_STATUS": "SEGV"},
			"killed by SIGSEGV", false},
		"a timeout": {map[string]string{"MONITOR_SERVICE_RESULT": "timeout", "MONITOR_EXIT_CODE": "exited", "MONITOR_EXIT_STATUS": "2"},
			"it was not done in time", false},
		"a program that is not there": {map[string]string{"MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_CODE": "exited", "MONITOR_EXIT_STATUS": "203"},
			"its program could not be started (exit code 203); the journal says why", false},
		"a run that did not begin": {map[string]string{"MONITOR_SERVICE_RESULT": "success", "MONITOR_EXIT_CODE": "exited", "MONITOR_EXIT_STATUS": "0"},
			"it could not be started; the journal says why", false},
	} {
		c.env["MONITOR_UNIT"] = "a.service"
		o, ok := MonitoredOutcome("a.service", func(name string) string { return c.env[name] })
		if !ok || o.String() != c.want || o.ExitedWith(2) != c.two {
			data, _ := json.Marshal(o)
			t.Errorf("%s: %s, %q", name, data, o)
		}
		if _, ok := MonitoredOutcome("b.service", func(name string) string { return c.env[name] }); ok {
			t.Errorf("%s: is taken for another unit", name)
		}
	}
	if (Outcome{}).String() != "systemd did not say how it ended" || (Outcome{}).ExitedWith(0) {
		t.Error("no outcome says something")
	}
}
