package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/internal/systemdtest"
)

// A host is a machine with an agent's user and the files of a gate, on which nothing of ours was installed.
type host struct {
	*systemdtest.Machine
	t *testing.T
}

// bootHost boots one; the programs, as they were built, are in /opt/build.
func bootHost(t *testing.T, bin string, options ...string) host {
	h := host{systemdtest.Boot(t, append(options, "--bind-ro", bin+":/opt/build")...), t}
	h.Run(t, "useradd", "--create-home", "agent")
	h.WriteFile(t, "/home/agent/.config/gatehouse/gate.yaml", "version: 1\nallow:\n  - git status\n", 0o644)
	h.Run(t, "chown", "-R", "agent:", "/home/agent/.config")
	return h
}

// exits runs a program that has to end with code, and returns what it printed, errors included.
func (h host) exits(code int, name string, args ...string) string {
	h.t.Helper()
	cmd := h.Command(name, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		h.t.Fatalf("%s %s: %v, want exit code %d\n%s", name, strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

func (h host) says(text string, want ...string) {
	h.t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			h.t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

// listing is everything that installing could touch, with owners, modes, sizes and both times.
func (h host) listing(places ...string) string {
	h.t.Helper()
	if len(places) == 0 {
		places = []string{"/etc", "/usr/local", "/var/lib/gatehouse", "/var/lib/gatehouse-export", "/srv", "/home"}
	}
	// Of /usr/local only what is not the host's: its toolchain is large.
	out, _ := h.Command("find", append(places, "-path", "/usr/local/go", "-prune", "-o",
		"-printf", "%p %y %u:%g %m %s %T@ %C@ %l\n")...).Output() // a place that is not there is no error here
	return string(out)
}

func (h host) same(before, after, what string) {
	h.t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")); diff != "" {
		h.t.Errorf("%s changed something:\n%s", what, diff)
	}
}

var installArgs = []string{"install", "--gate", "claude", "--user", "agent"}

func TestInstall(t *testing.T) {
	t.Parallel() // it has a machine of its own, and waits for it
	bin := build(t)
	t.Run("on a host", func(t *testing.T) {
		t.Parallel()
		installOnAHost(t, bin)
	})
	t.Run("by the Debian package", func(t *testing.T) {
		t.Parallel()
		installByPackage(t, bin)
	})
}

func installOnAHost(t *testing.T, bin string) {
	h := bootHost(t, bin)

	h.says(h.exits(2, "/opt/build/warden", "install"), "warden install --gate claude --user agent --live policy=/home/agent/.config/gatehouse")
	h.says(h.exits(2, "/opt/build/warden", "install", "--gate", "claude", "--user", "nobody-here"), "nobody-here", "useradd")

	before := h.listing()
	shown := h.exits(1, "/opt/build/warden", append(installArgs, "--dry-run")...)
	h.says(shown, "would  write /etc/gatehouse/warden.yaml", "would  systemctl start gatehouse-publish@claude.service", "nothing was changed")
	if strings.Contains(shown, "│") {
		t.Errorf("without --show it shows the content of files:\n%s", shown)
	}
	h.says(h.exits(1, "/opt/build/warden", append(installArgs, "--show")...), "│     user: agent", "│ ExecStart=/usr/local/bin/gate publish %i")
	h.says(h.exits(1, "/opt/build/warden", append(installArgs, "--dry-run", "--live", "policy=/home/agent/none")...),
		"kept   gate claude is not published yet, since nothing is at /home/agent/none")
	h.same(before, h.listing(), "install --dry-run")

	// What stands in the way of a step ends the run there; the next one goes on.
	h.Run(t, "mount", "--bind", "/srv", "/srv")
	h.Run(t, "mount", "-o", "remount,bind,ro", "/srv")
	h.says(h.exits(2, "/opt/build/warden", installArgs...), "make the git repository /srv/gate", "read-only", "the next run goes on from there")
	h.Run(t, "umount", "/srv")
	h.Run(t, "mount", "--bind", "/bin/false", "/usr/bin/systemctl")
	h.exits(2, "/opt/build/warden", installArgs...)
	h.Run(t, "umount", "/usr/bin/systemctl")
	h.exits(0, "/opt/build/warden", append(installArgs, "--no-start")...)
	if active := h.exits(0, "systemctl", "list-units", "--state=active", "--no-legend", "gatehouse-*"); active != "" {
		t.Errorf("--no-start started %s", active)
	}

	before = h.listing()
	if out := h.exits(0, "warden", append(installArgs, "--no-start")...); out != "nothing to change\n" {
		t.Errorf("the second run says\n%s", out)
	}
	h.same(before, h.listing(), "the second run")

	h.says(h.exits(1, "warden", "doctor"), "so it starts nothing", "→ warden install")
	h.says(h.exits(0, "warden", "install"), "done   systemctl start gatehouse-reconcile.timer", "done   systemctl start gatehouse-publish@claude.service")
	h.says(h.exits(0, "warden", "doctor"), "timer gatehouse-reconcile.timer, next at ", "timer gatehouse-publish@claude.timer, next at ")
	ours := []string{"/etc/systemd", "/usr/local/bin", "/etc/passwd", "/etc/gatehouse/warden.yaml", "/srv"} // a pass may change the rest
	before = h.listing(ours...)
	if out := h.exits(0, "warden", "install"); out != "nothing to change\n" {
		t.Errorf("a run where all is in place says\n%s", out)
	}
	h.same(before, h.listing(ours...), "a run where all is in place")

	t.Run("programs are asked by nobody", h.asked)
	t.Run("edited files are kept", h.edited)
	t.Run("gates come and go", h.comeAndGo)
	t.Run("one service instead of the timer", h.served)
	t.Run("uninstall leaves what is a person's", h.uninstalled)
}

// asked accepts the gate and waits for the flags of the programs that it allows. One that runs machine code of its own
// making is among them.
func (h host) asked(t *testing.T) {
	h.t = t
	h.WriteFile(t, "/home/agent/.config/gatehouse/gate.yaml", "version: 1\nallow:\n  - git status\n  - ls\n  - node\n", 0o644)
	h.Run(t, "chown", "-R", "agent:", "/home/agent/.config")
	h.Run(t, "systemctl", "start", "gatehouse-publish@claude.service")
	id := regexp.MustCompile(`d-[0-9a-f]{12}`).FindString(h.exits(1, "warden", "reconcile"))
	h.exits(0, "warden", "accept", id, "--yes", "--why", "first")
	known := func() string { return h.exits(0, "warden", "flags") }
	for end := time.Now().Add(2 * time.Minute); strings.Contains(known(), "not asked yet"); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nobody asked:\n%s\n%s", known(), h.Run(t, "journalctl", "--no-pager", "-u", "gatehouse-flags.*"))
		}
	}
	// Passes that came meanwhile have asked for one more run, which finds that all is known.
	h.Run(t, "timeout", "120", "sh", "-c", `until test ! -e /run/gatehouse/unlearnt -a "$(systemctl show -P ActiveState gatehouse-flags.service)" = inactive; do sleep 0.1; done`)
	out := known()
	for _, program := range []string{"git", "git status", "ls"} {
		if !regexp.MustCompile(`(?m)^/usr/bin/` + program + ` +[1-9]\d+ flags$`).MatchString(out) {
			t.Errorf("the flags of %s are not known:\n%s\n%s", program, out, h.Run(t, "journalctl", "--no-pager", "-u", "gatehouse-flags.*"))
		}
	}
	if strings.Contains(out, "node") && !regexp.MustCompile(`node +[1-9]\d+ flags`).MatchString(out) {
		t.Errorf("the flags of node are not known:\n%s", out)
	}
	h.says(h.Run(t, "stat", "-c", "%U %a", "/var/lib/gatehouse/flags"), "root 755")
	if left := h.exits(0, "sh", "-c", "find /var/lib/gatehouse/flags ! -user root; ls -d /run/private/gatehouse-flags 2>/dev/null || true"); left != "" {
		t.Errorf("left by the user of the run:\n%s", left)
	}
	h.says(h.exits(0, "systemctl", "show", "--property=Result", "gatehouse-flags.service"), "Result=success")
	h.exits(0, "warden", "doctor")
}

func (h host) edited(t *testing.T) {
	h.t = t
	const unit = "/etc/systemd/system/gatehouse-reconcile.service"
	h.Run(t, "sh", "-c", "echo '# mine' >>"+unit+"; echo 'schedule: \"*/10 * * * *\"' >>/etc/gatehouse/warden.yaml")
	edits := h.listing(unit, "/etc/gatehouse/warden.yaml")
	h.says(h.exits(1, "warden", "doctor"), "unit file "+unit+": it was edited", "drop-in", "gatehouse-reconcile.timer: the configuration")
	h.says(h.exits(0, "warden", "install"), "kept   "+unit, "done   replace /etc/systemd/system/gatehouse-reconcile.timer",
		"done   systemctl daemon-reload")
	h.same(edits, h.listing(unit, "/etc/gatehouse/warden.yaml"), "install over edited files")
	h.says(h.exits(0, "systemctl", "show", "--property=TimersCalendar", "gatehouse-publish@claude.timer"), "*:00,10,20,30,40,50:00 UTC")
	out := h.exits(0, "warden", "install")
	h.says(out, "kept   "+unit, "nothing to change")
	h.says(h.exits(2, "warden", "install", "--gate", "codex", "--user", "agent"), "is never changed by this command")

	h.Run(t, "rm", unit)
	h.says(h.exits(0, "warden", "install"), "done   write "+unit)
	h.exits(0, "warden", "doctor")

	h.Run(t, "chmod", "0755", "/etc/gatehouse/credentials")
	h.says(h.exits(1, "warden", "doctor"), "/etc/gatehouse/credentials: its mode is 0755 and not 0700")
	h.says(h.exits(0, "warden", "install"), "change the mode of /etc/gatehouse/credentials from 0755 to 0700")

	// Without early passes, as docs/units.md says.
	const path = "/etc/systemd/system/gatehouse-reconcile.path"
	h.Run(t, "sh", "-ec", "systemctl disable --now gatehouse-reconcile.path; rm "+path+"; systemctl mask gatehouse-reconcile.path")
	h.says(h.exits(0, "warden", "install"), "kept   "+path+": it is masked")
	h.says(h.exits(0, "warden", "doctor"), path+": there are no early passes: it is masked")
	h.Run(t, "systemctl", "start", "gatehouse-reconcile.service")
	if state := h.exits(3, "systemctl", "is-active", "gatehouse-reconcile.path"); state != "inactive\n" {
		t.Errorf("after a pass the masked path unit is %s", state)
	}
	h.Run(t, "systemctl", "unmask", "gatehouse-reconcile.path")
	h.says(h.exits(0, "warden", "install"), "done   write "+path, "systemctl enable gatehouse-reconcile.path")
	h.exits(0, "warden", "doctor")
}

// served makes the passes by one service, and goes back to the timer.
func (h host) served(t *testing.T) {
	h.t = t
	h.Run(t, "systemctl", "enable", "--now", "gatehouse-serve.service")
	h.says(h.exits(1, "warden", "doctor"), "timer gatehouse-reconcile.timer: it is enabled beside gatehouse-serve.service")
	h.says(h.exits(0, "warden", "install"), "done   systemctl disable gatehouse-reconcile.timer")
	if out := h.exits(0, "warden", "install"); out != "nothing to change\n" {
		t.Errorf("a run beside the service says\n%s", out)
	}
	h.says(h.exits(0, "warden", "doctor"), "unit gatehouse-serve.service, which makes the passes here")
	h.Run(t, "systemctl", "disable", "--now", "gatehouse-serve.service")
	h.says(h.exits(0, "warden", "install"), "done   systemctl enable gatehouse-reconcile.timer")
}

func (h host) comeAndGo(t *testing.T) {
	h.t = t
	const config = "/etc/gatehouse/warden.yaml"
	h.Run(t, "cp", config, "/root/before.yaml")
	h.Run(t, "sed", "-i", "s|^gates:$|&\\n  - name: codex\\n    user: agent\\n    live: [{name: policy, root: /home/agent/codex}]|", config)
	h.says(h.exits(0, "warden", "install"), "make the directory /var/lib/gatehouse-export/codex (agent, 0755)",
		"enable gatehouse-publish@codex.timer", "kept   gate codex is not published yet", "sudo -u agent mkdir -p /home/agent/codex")
	h.says(h.exits(0, "systemctl", "is-active", "gatehouse-publish@codex.timer"), "active")
	h.Run(t, "cp", "/root/before.yaml", config)
	h.says(h.exits(0, "warden", "install"), "disable gatehouse-publish@codex.timer",
		"remove /etc/systemd/system/gatehouse-publish@codex.service.d/gate.conf")
	h.says(h.exits(3, "systemctl", "is-active", "gatehouse-publish@codex.timer"), "inactive")
	if left := h.listing("/etc/systemd"); strings.Contains(left, "codex") {
		t.Errorf("left of a gate that is no longer configured:\n%s", left)
	}
}

func (h host) uninstalled(t *testing.T) {
	h.t = t
	h.Run(t, "sh", "-c", "echo '# mine' >>/etc/systemd/system/gatehouse-reconcile.service")
	before := h.listing("/etc/systemd")
	h.says(h.exits(1, "warden", "uninstall", "--dry-run"), "would  remove /etc/systemd/system/gatehouse-reconcile.timer")
	h.same(before, h.listing("/etc/systemd"), "uninstall --dry-run")

	// A pass is under way, and a unit that is over before it can be stopped.
	h.Run(t, "systemctl", "start", "--no-block", "gatehouse-reconcile-soon.service", "gatehouse-reconcile-changed.service")
	told := h.exits(0, "sh", "-c", "ls /var/lib/gatehouse/notices")
	h.says(h.exits(0, "warden", "uninstall"), "kept   /etc/systemd/system/gatehouse-reconcile.service", "To go back: warden install",
		"done   stop what is under way", "the repository", "the state", "the configuration", "the secrets", "this program")
	if now := h.exits(0, "sh", "-c", "ls /var/lib/gatehouse/notices"); now != told {
		t.Errorf("somebody was told that a pass was stopped:\n%s", now)
	}
	for _, place := range []string{"/etc/gatehouse/warden.yaml", "/var/lib/gatehouse/accepted", "/srv/gate/.git/HEAD",
		"/var/lib/gatehouse-export/claude/manifest.json"} {
		h.Run(t, "test", "-e", place)
	}
	if units := h.exits(0, "systemctl", "list-units", "--all", "--no-legend", "gatehouse-*"); units != "" {
		t.Errorf("still there:\n%s", units)
	}
	h.says(h.exits(0, "warden", "uninstall"), "nothing to remove", "kept   ")

	// What runs although its file is gone is stopped by the next run; what is not of our making is not.
	h.WriteFile(t, "/etc/systemd/system/gatehouse-mine.service", "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	h.Run(t, "systemctl", "daemon-reload")
	h.Run(t, "systemctl", "enable", "--now", "gatehouse-mine.service")
	h.Run(t, "systemd-run", "--unit=gatehouse-reconcile-soon.service", "sleep", "1000")
	h.says(h.exits(0, "warden", "uninstall"), "done   stop what is under way", "kept   /etc/systemd/system/gatehouse-mine.service")
	h.says(h.exits(0, "sh", "-c", "systemctl is-active gatehouse-mine.service gatehouse-reconcile-soon.service; systemctl is-enabled gatehouse-mine.service"),
		"active\ninactive\nenabled")
	h.Run(t, "sh", "-c", "systemctl disable --now gatehouse-mine.service; rm /etc/systemd/system/gatehouse-mine.service; systemctl daemon-reload")
	h.says(h.exits(0, "warden", "uninstall", "--force"), "done   remove /etc/systemd/system/gatehouse-reconcile.service")
	if left := h.exits(0, "find", "/etc/systemd/system", "-name", "gatehouse-*", "!", "-type", "l"); left != "" {
		t.Errorf("left:\n%s", left)
	}
	h.says(h.exits(0, "warden", "doctor"), "note  units: none are installed")
}

func installByPackage(t *testing.T, bin string) {
	debs := t.TempDir()
	pack := func(version string) string {
		cmd := exec.Command("../../packaging/build", debs)
		cmd.Env = append(cmd.Environ(), "PROGRAMS="+bin, "VERSION="+version)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("packaging/build: %v\n%s", err, out)
		}
		return "/opt/debs/" + filepath.Base(strings.TrimSpace(string(out)))
	}
	first, second := pack("0.1.0"), pack("0.2.0")
	h := bootHost(t, bin, "--bind-ro", debs+":/opt/debs")

	h.says(h.Run(t, "dpkg", "-i", first), "warden install --gate NAME --user AGENT")
	h.says(h.exits(1, "warden", "doctor"), "→ warden install")
	h.exits(0, "warden", installArgs...)
	h.exits(0, "warden", "doctor")
	h.says(h.Run(t, "systemctl", "show", "--property=ExecStart", "gatehouse-reconcile.service"), "/usr/bin/warden")
	h.Run(t, "test", "!", "-e", "/usr/local/bin/warden")

	h.Run(t, "sh", "-c", "echo '# mine' >>/etc/gatehouse/warden.yaml")
	kept := h.listing("/etc/gatehouse/warden.yaml", "/etc/systemd")
	h.says(h.Run(t, "dpkg", "-i", second), "nothing to change")
	h.same(kept, h.listing("/etc/gatehouse/warden.yaml", "/etc/systemd"), "the upgrade")
	h.exits(0, "warden", "doctor")

	// An agent has just published.
	h.Run(t, "systemctl", "start", "--no-block", "gatehouse-reconcile-changed.service")
	said := h.Run(t, "dpkg", "-r", "gatehouse")
	h.says(said, "systemctl disable gatehouse-reconcile.timer", "What stays:", "/etc/gatehouse/credentials",
		"What stays even when the package is purged:\n  /srv/gate ", "run no command without it", "To go back: install the package again")
	if _, purged, _ := strings.Cut(said, "even when the package is purged"); strings.Contains(said, "units may be left") ||
		strings.Contains(said, "/usr/bin/warden ") || strings.Contains(said, "goes on judging") || strings.Contains(purged, "/var/lib/gatehouse-call") {
		t.Errorf("the removal says\n%s", said)
	}
	if left := h.listing("/etc/systemd"); strings.Contains(left, "gatehouse") {
		t.Errorf("left of a package that was removed:\n%s", left)
	}
	h.Run(t, "test", "-e", "/etc/gatehouse/warden.yaml")
	h.says(h.Run(t, "dpkg", "-i", second), "systemctl enable gatehouse-reconcile.timer")
	h.exits(0, "warden", "doctor")

	h.says(h.Run(t, "dpkg", "-P", "gatehouse"), "left where they are: the repository of accepted gates (/srv/gate)")
	if left := h.listing("/etc/systemd", "/etc/gatehouse", "/var/lib/gatehouse", "/usr/share/gatehouse"); strings.Contains(left, "gatehouse") {
		t.Errorf("left of a package that was purged:\n%s", left)
	}
	h.Run(t, "test", "-e", "/srv/gate/.git/HEAD")
}
