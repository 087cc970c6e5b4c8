package house

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module = "gatehouse"
	root   = "../.."
)

// mayImport says which packages of this module each package may import. It is the whole plan of the house: rooms that
// are not built yet have their place already, and a package that is not listed fails the test. Tests may import what
// they need.
var mayImport = map[string][]string{
	// The two doors.
	"cmd/gate": {
		"gate", "gate/harness", "gate/wiring", "gate/catalog", "gate/catalog/caller", "gate/policy", "gate/rules", "gate/rules/library", "gate/memory", "gate/ledger",
		"gate/secret", "gate/ltl", "gate/spec", "gate/shell", "gate/flags", "gate/call", "manifest", "config", "vendor-gate/default", "internal/durable", "internal/cli", "internal/spelling",
	},
	"cmd/gate-mcp":        {"gate", "gate/catalog", "gate/catalog/caller", "gate/ledger", "config", "internal/cli"}, // what gate mcp becomes
	"cmd/warden-exchange": {"exchange", "exchange/server", "internal/durable", "internal/cli"},                      // what warden exchange becomes
	"cmd/warden": {
		"reconcile", "fleet", "peer", "exchange", "exchange/jetstream", "page", "systemd", "notify", "vendor-gate", "vendor-gate/default", "gate", "gate/flags", "gate/ledger",
		"manifest", "config", "internal/safefs", "internal/durable", "internal/cli", "internal/spelling",
	},

	// Root's side.
	"peer":                {"exchange", "notify", "manifest", "internal/durable"},
	"fleet":               {"exchange", "peer", "reconcile", "vendor-gate", "notify", "manifest", "internal/safefs", "internal/durable"},
	"exchange":            {"internal/safefs", "internal/durable"},
	"exchange/jetstream":  {"exchange"},
	"exchange/server":     {"exchange", "exchange/jetstream", "internal/durable"},
	"page":                {"internal/cli", "internal/glyph"},
	"reconcile":           {"manifest", "vendor-gate", "notify", "internal/durable"},
	"systemd":             {"manifest", "internal/safefs", "internal/durable"},
	"vendor-gate":         {"manifest", "internal/durable"},
	"vendor-gate/default": {"manifest"},
	"notify":              {"internal/durable", "internal/glyph"},

	// What both sides know.
	"config":   {"manifest", "internal/document"},
	"manifest": {"internal/safefs", "internal/durable"},

	// The agent's side.
	"gate/harness":               {"gate", "gate/call", "internal/durable"},
	"gate/wiring":                {"internal/durable"},
	"gate/wiring/internal/proof": {}, // packaging/clients
	"gate/catalog":               {"gate", "gate/policy", "internal/durable"},
	"gate/catalog/caller":        {"gate", "gate/catalog", "gate/ledger", "config", "internal/durable"}, // who takes calls: the service, or this process
	"gate": {
		"gate/shell", "gate/spec", "gate/flags", "gate/policy", "gate/rules", "gate/memory", "gate/ledger", "gate/secret",
		"gate/call", "manifest", "config", "internal/durable", "internal/spelling", "internal/wire",
	},
	"gate/policy":               {"gate/spec", "gate/shell", "gate/call", "internal/document", "internal/wire"},
	"gate/rules":                {"gate/rules/library", "gate/memory", "gate/ltl", "gate/spec", "gate/call", "internal/document", "internal/spelling", "internal/wire"},
	"gate/rules/library":        {},
	"gate/memory":               {"internal/durable", "internal/wire"},
	"gate/ledger":               {"gate/secret", "internal/durable"},
	"gate/secret":               {},
	"gate/spec":                 {"gate/shell", "gate/call", "internal/spelling"},
	"gate/spec/internal/corpus": {"gate/spec", "gate/shell", "gate/call"},         // measures, for BENCHMARKS.md
	"gate/internal/corpus":      {"gate", "gate/spec", "gate/shell", "gate/call"}, // the same for what a policy decides
	"gate/spec/internal/check":  {"gate/spec"},                                    // go generate
	"gate/ltl":                  {"gate/call"},
	"gate/flags":                {"gate/call", "internal/durable"},

	// The ground.
	"gate/call":         {},
	"gate/shell":        {},
	"internal/safefs":   {},
	"internal/durable":  {},
	"internal/cli":      {"internal/spelling", "internal/glyph"},
	"internal/house":    {},
	"internal/document": {"internal/spelling"},
	"internal/spelling": {},
	"internal/glyph":    {},
	"internal/wire":     {},

	// For tests only.
	"internal/systemdtest": {},
}

func TestImportsFollowThePlan(t *testing.T) {
	for _, line := range goList(t, "{{.ImportPath}} {{join .Imports \" \"}}", "./...") {
		paths := strings.Fields(line)
		pkg := strings.TrimPrefix(paths[0], module+"/")
		allowed, ok := mayImport[pkg]
		if !ok {
			t.Errorf("%s: not listed in mayImport; give it its place", pkg)
			continue
		}
		for _, path := range paths[1:] {
			dep, ours := strings.CutPrefix(path, module+"/")
			if ours && !slices.Contains(allowed, dep) {
				t.Errorf("%s imports %s, which the plan does not let it", pkg, dep)
			}
		}
	}
}

func TestThePlanNamesOnlyItsOwnPackages(t *testing.T) {
	for pkg, allowed := range mayImport {
		for _, dep := range allowed {
			if _, ok := mayImport[dep]; !ok {
				t.Errorf("%s may import %s, which the plan does not have", pkg, dep)
			}
		}
	}
}

// notForGate lists what must stay out of the program that runs before every command of an agent, and why. A path that
// ends in a slash stands for all below it.
var notForGate = map[string]string{
	"github.com/go-git/":               "git is root's business, and its start-up costs half a millisecond",
	"github.com/slack-go/":             "notices are root's business",
	"github.com/coreos/go-systemd":     "D-Bus and the journal are root's business",
	"github.com/godbus/":               "D-Bus is root's business",
	"github.com/nats-io/":              "hosts that watch each other are root's business",
	"github.com/santhosh-tekuri/":      "its package initialisation alone takes four milliseconds",
	"github.com/robfig/cron":           "schedules are root's business",
	"github.com/modelcontextprotocol/": "MCP is the business of gate-mcp, and brings net/http",
	"net/http":                         "the gate makes no requests, and linking it costs 4 MB",
	module + "/notify":                 "notices are root's business",
	module + "/reconcile":              "comparing and accepting are root's business",
}

func TestGateLinksNothingHeavy(t *testing.T) {
	for _, dep := range goList(t, "{{.ImportPath}}", "-deps", "./cmd/gate") {
		for path, why := range notForGate {
			if dep == path || strings.HasPrefix(dep, strings.TrimSuffix(path, "/")+"/") {
				t.Errorf("cmd/gate links %s: %s", dep, why)
			}
		}
	}
	if t.Failed() {
		t.Log("go mod why, or go list -deps of each import of cmd/gate, says who brings it")
	}
}

// goList returns the lines that go list prints for the packages of this module.
func goList(t *testing.T, format string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 2 {
		t.Fatalf("go list %v: %q is not the module", args, out)
	}
	return lines
}

func explain(err error) error {
	if exit, ok := err.(*exec.ExitError); ok {
		return fmt.Errorf("go list: %w\n%s", err, exit.Stderr)
	}
	return err
}
