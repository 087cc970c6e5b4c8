package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/config"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
)

const onlyStatus = "version: 1\ncheck_flags: off\npaths: {root: [/]}\nallow: [git status]\n"

// loosened is what an agent would like its policy to be.
const loosened = "version: 1\ncheck_flags: off\npaths: {root: [/]}\nallow: [git status, curl, rm]\n"

// accept writes what a warden leaves behind once a person has accepted the live files: the generation and the index.
func (h *host) accept(decide config.Decide) config.IndexGate {
	t := h.t
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: the accepted copy is believed only where root wrote it")
	}
	src := manifest.Source{Live: []manifest.Live{{Name: "policy", Root: h.live}}, Limits: limits()}
	scan, err := manifest.Scan(t.Context(), src)
	must(t, err)
	next := manifest.NewGeneration("claude", scan.Entries)
	dir := filepath.Join(h.dir, "var", "accepted", "claude."+next.Tree)
	must(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	content := func(e manifest.Entry) (io.ReadCloser, error) {
		return os.Open(filepath.Join(h.live, strings.TrimPrefix(e.Path, "policy/")))
	}
	must(t, manifest.WriteGeneration(t.Context(), durable.Disk{}, dir, next, content, manifest.GenerationPerms{Dir: 0o755, File: 0o644, GID: -1}))
	var paths []string
	for _, e := range next.Entries {
		if e.Type == manifest.File {
			paths = append(paths, e.Path)
		}
	}
	compiled, err := Compile(paths, func(path string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, "files", manifest.EscapePath(path)))
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "compiled"), compiled, 0o644))
	e := config.IndexGate{
		Gate: "claude", UID: h.options.UID, User: "0", Decide: decide, Accepted: dir, Tree: next.Tree,
		Export: filepath.Join(h.dir, "export"), Live: src.Live, Limits: limits(), Interval: time.Hour, Result: "in-sync",
	}
	h.index(e)
	return e
}

func (h *host) index(gates ...config.IndexGate) {
	h.t.Helper()
	i := config.Index{Schema: config.IndexSchema, Host: "host", WrittenAt: time.Now().UTC().Truncate(time.Second), Gates: gates}
	data, err := i.Marshal()
	must(h.t, err)
	must(h.t, os.WriteFile(h.options.Index, data, 0o644))
}

func limits() manifest.Limits {
	return manifest.Limits{Entries: 1000, File: 1 << 20, Total: 16 << 20}
}

func (h *host) strict() *host {
	h.options.Strict = true
	return h
}

func (h *host) expect(line string, want Action, text string) Decision {
	h.t.Helper()
	d := h.check(line)
	if d.Action != want || text != "" && !strings.Contains(reasons(d), text) {
		h.t.Errorf("%s: %s, want %s %q\n%s", line, d.Action, want, text, reasons(d))
	}
	return d
}

func TestAcceptedPolicyDecidesWhateverTheLiveFilesSay(t *testing.T) {
	h := newHost(t, onlyStatus).strict()
	e := h.accept(config.DecideAccepted)
	put(t, filepath.Join(h.live, "gate.yaml"), loosened)
	d := h.expect("git status", Allow, "")
	if d.Policy.Mode != ModeAccepted || d.Policy.Tree != e.Tree || d.Policy.Gate != "claude" {
		t.Errorf("%+v", d.Policy)
	}
	h.expect("curl http://x.example", Deny, "no allow entry covers curl")
	must(t, os.RemoveAll(h.live))
	h.expect("git status", Allow, "")
}

func TestRefuseDeniesEverythingWhileLiveDiffers(t *testing.T) {
	h := newHost(t, onlyStatus).strict()
	e := h.accept(config.DecideRefuse)
	h.expect("git status", Allow, "")

	put(t, filepath.Join(h.live, "gate.yaml"), loosened)
	h.expect("git status", Deny, "gate.yaml has changed")
	put(t, filepath.Join(h.live, "gate.yaml"), onlyStatus)
	h.expect("git status", Allow, "")
	put(t, filepath.Join(h.live, "rules.yaml"), "rules: []\n")
	h.expect("git status", Deny, "rules.yaml is new")
	must(t, os.Remove(filepath.Join(h.live, "rules.yaml")))
	put(t, filepath.Join(h.live, "specs", "more.yaml"), "more: {}\n")
	h.expect("git status", Deny, "more.yaml is new")
	must(t, os.RemoveAll(filepath.Join(h.live, "specs")))
	put(t, filepath.Join(h.live, "flags", "git.json"), "{}") // of this machine, never a part of the policy
	h.expect("git status", Allow, "")

	e.Fingerprint, e.Result = strings.Repeat("ab", 32), "drifted"
	h.index(e)
	d := h.expect("git status", Deny, "d-abababababab")
	if d.Reasons[0].Stage != StagePolicy || !d.Policy.Differs {
		t.Errorf("%+v", d)
	}
	own, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(own, filepath.Join(h.bin, "gate")))
	h.expect("gate restore", Allow, "")
	h.expect("gate restore; rm -rf x", Deny, "d-abababababab")
	h.expect("gate restore > x", Deny, "d-abababababab")
	h.expect("gate publish", Deny, "d-abababababab")
	must(t, os.Remove(filepath.Join(h.bin, "gate")))
	program(t, filepath.Join(h.bin, "gate"))
	h.expect("gate restore", Deny, "d-abababababab") // some other program of that name
	e.Fingerprint, e.Result = "", "publisher-disagrees"
	h.index(e)
	h.expect("git status", Deny, "publisher-disagrees")
}

func TestLiveDecidesAndReports(t *testing.T) {
	h := newHost(t, onlyStatus).strict()
	e := h.accept(config.DecideLive)
	put(t, filepath.Join(h.live, "gate.yaml"), loosened)
	e.Fingerprint, e.Result = strings.Repeat("ab", 32), "drifted"
	h.index(e)
	d := h.expect("curl http://x.example", Allow, "")
	if d.Policy.Mode != ModeLive || !d.Policy.Differs || !strings.Contains(d.Policy.Change, "d-abababababab") {
		t.Errorf("%+v", d.Policy)
	}
}

func TestNothingIsAllowedBeforeTheFirstAcceptance(t *testing.T) {
	h := newHost(t, loosened).strict()
	e := h.accept(config.DecideAccepted)
	e.Accepted, e.Tree = "", ""
	h.index(e)
	h.expect("git status", Deny, "nobody has accepted gate claude yet")
}

func TestPolicyCannotBeWidenedFromTheAgentsSide(t *testing.T) {
	h := newHost(t, onlyStatus).strict()
	h.accept(config.DecideAccepted)
	elsewhere := filepath.Join(h.dir, "elsewhere")
	put(t, filepath.Join(elsewhere, "gate.yaml"), loosened)
	put(t, filepath.Join(h.work, "gate.yaml"), loosened)
	put(t, filepath.Join(h.work, ".config", "gatehouse", "gate.yaml"), loosened)
	put(t, filepath.Join(h.work, "compiled"), "poison")
	put(t, filepath.Join(h.live, "gate.yaml"), loosened)
	put(t, filepath.Join(h.live, "compiled"), "poison")
	put(t, filepath.Join(h.options.State, "compiled"), "poison")

	h.options.Getenv = environment("GATEHOUSE_POLICY", elsewhere, "HOME", elsewhere, "XDG_CONFIG_HOME", elsewhere)
	h.options.Home = elsewhere
	h.expect("curl http://x.example", Deny, "no allow entry covers curl")
	r := h.request("curl http://x.example")
	r.Cwd, r.Home = elsewhere, elsewhere
	r.Env = environment("GATEHOUSE_POLICY", elsewhere, "PATH", h.bin)
	if d := h.open().Check(t.Context(), r); d.Action != Deny {
		t.Errorf("from another directory: %s", d.Action)
	}
	h.options.Policy = elsewhere
	if _, err := Open(h.options); err == nil {
		t.Error("whoever enforces took a policy from its command line")
	}
	h.options.Strict = false // a person may look what another policy would say
	h.expect("curl http://x.example", Allow, "")
}

func TestWhatIsNotKnownDenies(t *testing.T) {
	for name, break_ := range map[string]func(h *host, e config.IndexGate){
		"broken index": func(h *host, _ config.IndexGate) { put(t, h.options.Index, "{") },
		"index of others": func(h *host, _ config.IndexGate) {
			must(t, os.Chmod(h.options.Index, 0o666))
		},
		"no generation":   func(h *host, e config.IndexGate) { must(t, os.RemoveAll(e.Accepted)) },
		"broken compiled": func(h *host, e config.IndexGate) { flip(t, filepath.Join(e.Accepted, "compiled")) },
		"compiled of others": func(h *host, e config.IndexGate) {
			must(t, os.Chown(filepath.Join(e.Accepted, "compiled"), 65534, 65534))
		},
		"compiled that others write": func(h *host, e config.IndexGate) {
			must(t, os.Chmod(filepath.Join(e.Accepted, "compiled"), 0o666))
		},
		"fifo": func(h *host, e config.IndexGate) {
			p := filepath.Join(e.Accepted, "compiled")
			must(t, os.Remove(p))
			must(t, os.Symlink(h.live+"/gate.yaml", p))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, onlyStatus).strict()
			e := h.accept(config.DecideAccepted)
			h.expect("git status", Allow, "")
			break_(h, e)
			d := h.expect("git status", Deny, "")
			if len(d.Reasons) != 1 || d.Reasons[0].Stage != StagePolicy {
				t.Errorf("%+v", d.Reasons)
			}
		})
	}
}

func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, data[:len(data)-3], 0o644))
}

func TestCompiledFormOfAnotherVersionIsReadFromTheFiles(t *testing.T) {
	h := newHost(t, onlyStatus).strict()
	e := h.accept(config.DecideAccepted)
	must(t, os.WriteFile(filepath.Join(e.Accepted, "compiled"), []byte("gatehouse/compiled/v0\n"), 0o644))
	h.expect("git status", Allow, "")
	h.expect("curl x", Deny, "")
	must(t, os.Remove(filepath.Join(e.Accepted, "compiled")))
	h.expect("git status", Allow, "")
}

func TestANewPolicyIsInForceAtTheNextCall(t *testing.T) {
	h := newHost(t, onlyStatus)
	h.expect("curl http://x.example", Deny, "")
	put(t, filepath.Join(h.live, "gate.yaml"), loosened)
	h.expect("curl http://x.example", Allow, "")
	put(t, filepath.Join(h.live, "gate.yaml"), "version: 1\nalow: []\n")
	d := h.expect("git status", Deny, "gate.yaml:2")
	if d.Reasons[0].Stage != StagePolicy {
		t.Errorf("%+v", d.Reasons)
	}
	must(t, os.Remove(filepath.Join(h.live, "gate.yaml")))
	h.expect("git status", Deny, "there is no policy")
}

func TestSeveralGatesOfOneUser(t *testing.T) {
	h := newHost(t, loosened).strict()
	e := h.accept(config.DecideAccepted)
	other := e
	other.Gate = "other"
	put(t, filepath.Join(h.live, "gate.yaml"), onlyStatus)
	stricter := h.accept(config.DecideAccepted)
	other.Accepted, other.Tree = stricter.Accepted, stricter.Tree
	h.index(e, other)
	h.expect("git status", Allow, "")
	h.expect("curl http://x.example", Deny, "no allow entry covers curl")
}

func TestGrant(t *testing.T) {
	h := newHost(t, onlyStatus).strict()
	e := h.accept(config.DecideAccepted)
	now := time.Now()
	h.options.Now = func() time.Time { return now }
	d := h.expect("curl http://x.example", Deny, "")
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	must(t, err)
	path := filepath.Join(h.dir, "var", "grants", "claude", d.Subject+".json")
	write := func(change map[string]any) {
		f := map[string]any{
			"schema": grantSchema, "gate": "claude", "decision": "c-0123456789ab", "subject": d.Subject, "line": "curl http://x.example",
			"cwd": h.work, "policy_tree": e.Tree, "granted_at": now.Add(-time.Minute), "boot_id": strings.TrimSpace(string(boot)),
			"expires_at": now.Add(time.Minute), "by": "ann",
		}
		for k, v := range change {
			f[k] = v
		}
		data, err := json.Marshal(f)
		must(t, err)
		put(t, path, string(data))
	}
	write(nil)
	if d := h.expect("curl http://x.example", Allow, ""); d.Granted == nil || d.Granted.By != "ann" {
		t.Errorf("%+v", d.Granted)
	}
	h.expect("curl http://y.example", Deny, "")
	for name, change := range map[string]map[string]any{
		"expired":      {"expires_at": now},
		"not yet":      {"granted_at": now.Add(time.Second)},
		"other boot":   {"boot_id": "x"},
		"other gate":   {"gate": "x"},
		"other schema": {"schema": "x"},
		"other line":   {"subject": strings.Repeat("0", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			write(change)
			h.expect("curl http://x.example", Deny, "")
		})
	}
	write(nil)
	must(t, os.Chown(path, 65534, 65534))
	h.expect("curl http://x.example", Deny, "")
	write(nil)
	must(t, os.Chown(path, 0, 0))
	put(t, filepath.Join(h.live, "gate.yaml"), onlyStatus+"deny: [unlink]\n")
	h.accept(config.DecideAccepted) // another policy, another subject
	h.expect("curl http://x.example", Deny, "")
}

func TestObserve(t *testing.T) {
	h := newHost(t, onlyStatus+"enforce: observe\nobserve_until: 2030-01-02\n")
	put(t, filepath.Join(h.live, "x"), "")
	h.options.Now = func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }
	d := h.expect("curl http://x.example", Allow, "no allow entry covers curl")
	if !d.Observed || d.Would != Deny {
		t.Errorf("%+v", d)
	}
	h.expect("rm "+h.live+"/gate.yaml", Deny, "belongs to the gate")
	h.options.Now = func() time.Time { return time.Date(2030, 1, 3, 0, 0, 0, 0, time.UTC) }
	h.expect("curl http://x.example", Deny, "")
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	files := map[string]string{}
	compile := func() ([]byte, error) {
		var paths []string
		for p := range files {
			paths = append(paths, p)
		}
		return Compile(paths, func(path string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(files[path])), nil
		})
	}
	for want, set := range map[string]map[string]string{
		"policy/gate.yaml:2: ":                             {"policy/gate.yaml": "version: 1\nalow: []\n"},
		"policy/rules.yaml:":                               {"policy/gate.yaml": onlyStatus, "policy/rules.yaml": "rules: 3\n"},
		"policy/specs/x.yaml:":                             {"policy/gate.yaml": onlyStatus, "policy/specs/x.yaml": "x: {optoins: []}\n"},
		"two policies":                                     {"policy/gate.yaml": onlyStatus, "plugin/gate.yaml": onlyStatus},
		"cwd is not for an accepted":                       {"policy/gate.yaml": "version: 1\npaths: {root: cwd}\n"},
		"policy/gate.yaml:5: deny[0].fix.run":              {"policy/gate.yaml": onlyStatus + "deny: [{call: rm, fix: {run: curl x}}]\n"},
		`deny[0].fix.run: "X=1 git status" would not pass`: {"policy/gate.yaml": onlyStatus + "deny: [{call: rm, fix: {run: X=1 git status}}]\n"},
	} {
		t.Run(want, func(t *testing.T) {
			files = set
			if _, err := compile(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		})
	}
	files = map[string]string{"plugin/index.js": "x"}
	if data, err := compile(); err != nil || len(data) == 0 {
		t.Errorf("a gate without a policy: %v", err)
	}
	files = map[string]string{"policy/gate.yaml": onlyStatus + "deny: [{call: git push, flags: [--force], fix: {run: git status}}]\n"}
	one, err := compile()
	must(t, err)
	two, err := compile()
	must(t, err)
	if string(one) != string(two) {
		t.Error("the same files gave different bytes")
	}
}

func TestNoRequestIsWithoutAnAnswer(t *testing.T) {
	h := newHost(t, onlyStatus)
	g := h.open()
	for _, r := range []Request{
		{}, {Line: "git status"}, {Line: "git status", Cwd: "relative"}, {Line: "git status", Argv: []string{"git"}, Cwd: h.work},
		{Argv: []string{}, Cwd: h.work}, {Argv: []string{""}, Cwd: h.work},
	} {
		if d := g.Check(t.Context(), r); d.Action != Deny || len(d.Reasons) != 1 || d.Reasons[0].Stage != StageFault {
			t.Errorf("%+v: %+v", r, d)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if d := g.Check(ended, h.request("git status")); d.Action != Deny {
		t.Errorf("after the deadline: %s", d.Action)
	}
	var zero Decision
	if zero.Action != Deny || fmt.Sprint(zero.Action) != "deny" {
		t.Errorf("the zero decision: %s", zero.Action)
	}
}

func TestArgvIsJudgedWithoutAShell(t *testing.T) {
	h := newHost(t, onlyStatus)
	g := h.open()
	for _, c := range []struct {
		argv []string
		want Action
	}{
		{[]string{"git", "status"}, Allow},
		{[]string{"git", "status", "; rm -rf /", "$(curl x)", "a'b"}, Allow},
		{[]string{"curl", "x"}, Deny},
		{[]string{"git status"}, Deny},
	} {
		if d := g.Check(t.Context(), Request{Argv: c.argv, Cwd: h.work}); d.Action != c.want {
			t.Errorf("%q: %s\n%s", c.argv, d.Action, reasons(d))
		}
	}
}

func TestTheHomeOfAUserStandsInTheFileOfAccounts(t *testing.T) {
	const accounts = "root:x:0:0:root:/root:/bin/bash\n# 7:x:7:7::/comment:\n+7:x:7:7::/nis:/bin/sh\nshort:x:8:8\n" +
		"agent:x:1000:1000:An agent,,,:/home/agent:/bin/sh\ntwin:x:1000:1000::/home/twin:/bin/sh\nlast:x:12:12::/home/last:"
	for uid, want := range map[string]string{"0": "/root", "1000": "/home/agent", "12": "/home/last", "7": "", "8": "", "100": "", "": ""} {
		if got := homeIn(accounts, uid); got != want {
			t.Errorf("%q: %q", uid, got)
		}
	}
}
