package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatehouse/internal/cli"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// run runs the program with an index that is not there, unless one is given, and the environment env.
func run(t *testing.T, env map[string]string, index string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut, Getenv: func(name string) string { return env[name] }}
	root := newRoot(streams, index)
	code = cli.Run(context.Background(), root, args, streams)
	return code, out.String(), errOut.String()
}

// host lays out live files, an export and a warden.yaml of the caller's own.
func host(t *testing.T) (dir, config string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"live", "export", "etc"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "live/gate.yaml"), []byte("version: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(dir, "etc/warden.yaml")
	err = os.WriteFile(config, fmt.Appendf(nil, `version: 1
host: here
repository: %[1]s/repo
state: %[1]s/state
index: %[1]s/etc/gates.json
gates:
  - {name: claude, user: "%[2]d", export: %[1]s/export, live: [{name: policy, root: %[1]s/live}]}
`, dir, os.Getuid()), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return dir, config
}

func TestPublishReadsTheConfigurationWhereThereIsNoIndex(t *testing.T) {
	dir, config := host(t)
	none := filepath.Join(dir, "etc/none.json")
	for name, call := range map[string]func() (int, string, string){
		"by the flag": func() (int, string, string) { return run(t, nil, none, "publish", "--json", "--config", config) },
		"by the environment": func() (int, string, string) {
			return run(t, map[string]string{"GATEHOUSE_CONFIG": config}, none, "publish", "--json")
		},
	} {
		code, out, errOut := call()
		var got struct {
			Schema string
			Gates  []publication
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.Yes {
			t.Fatalf("%s: code %d, %v\n%s%s", name, code, err, out, errOut)
		}
		if got.Schema != "gatehouse/publish/v1" || len(got.Gates) != 1 || got.Gates[0].Entries != 2 || got.Gates[0].Bytes != 11 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOnlyAnAbsentIndexMeansThatThereIsNoWarden(t *testing.T) {
	dir, config := host(t)
	index := filepath.Join(dir, "etc/gates.json")
	if err := os.WriteFile(index, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := run(t, nil, index, "publish", "--config", config)
	if code != cli.Unknown || !strings.Contains(errOut, index) {
		t.Errorf("with a broken index: code %d, %s", code, errOut)
	}
}

func TestRestoreWithoutAnAcceptance(t *testing.T) {
	dir, config := host(t)
	code, _, errOut := run(t, nil, filepath.Join(dir, "none"), "restore", "--config", config)
	if code != cli.Unknown || !strings.Contains(errOut, "nothing was accepted yet") {
		t.Errorf("code %d, %s", code, errOut)
	}
}

func TestErrorsNameTheThingAndTheWayOut(t *testing.T) {
	dir, config := host(t)
	none := filepath.Join(dir, "none")
	for want, args := range map[string][]string{
		`did you mean claude?`:    {"publish", "cluade", "--config", config},
		`did you mean --dry-run?`: {"restore", "--dry-runs"},
		`did you mean publish?`:   {"publsh"},
		`name its configuration`:  {"publish", "--config", filepath.Join(dir, "absent.yaml")},
	} {
		code, _, errOut := run(t, nil, none, args...)
		if code != cli.Unknown || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%v: code %d, %q; want one line with %q", args, code, errOut, want)
		}
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	root := newRoot(cli.Streams{Getenv: func(string) string { return "" }}, "/nonexistent")
	for _, cmd := range append(root.Commands(), root) {
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: no summary, description or example", cmd.CommandPath())
		}
		if cmd != root && len(cmd.Short) > 66 {
			t.Errorf("%s: in the list of commands, its summary does not fit into 80 columns", cmd.CommandPath())
		}
	}
}

func TestOnlyTheCommandThatIsMeantIsMade(t *testing.T) {
	streams := cli.Streams{Getenv: func(string) string { return "" }}
	for name := range commands() {
		var names []string
		for _, cmd := range newRoot(streams, "/nonexistent", name, "--help").Commands() {
			names = append(names, cmd.Name())
		}
		if diff := cmp.Diff([]string{"exit-codes", name}, names, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if all, some := newRoot(streams, "/nonexistent").Commands(), newRoot(streams, "/nonexistent", "chekc").Commands(); len(all) != len(some) {
		t.Errorf("%d commands, and %d for a word that is none", len(all), len(some))
	}
}
