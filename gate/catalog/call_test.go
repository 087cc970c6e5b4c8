//go:build linux

package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate"
)

const (
	word = `"word": {"type": "string", "pattern": "^[a-z ]{1,20}$"}`
	file = `"file": {"type": "string", "format": "path"}`
	mode = `"mode": {"type": "string", "enum": ["fast", "-slow"]}`
)

func printing(t *testing.T) *world {
	return newWorld(t, 100, entry("print", word+";"+mode, `"print", "a b", "{word}", "{mode}", "$HOME;"`, ""), entry("file", file, `"touch", "{file}"`, ""))
}

func TestAGoodCallRuns(t *testing.T) {
	w := printing(t)
	r := w.call("job", "print", "word", "two words", "mode", "-slow")
	w.want(r, OK)
	r.Took = 0
	zero := 0
	want := Result{
		Schema: ResultSchema, Code: OK, Tool: "print", Job: "job", Step: 1, Steps: 100, Ran: true, Exit: &zero, Decision: "c-000000000001",
		Stdout: `["a b" "two words" "-slow" "$HOME;"]` + "\n", Counter: "guard",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if len(w.judge.decided) != 1 || w.judge.decided[0].Tool.Name != "catalog__print" || w.judge.decided[0].Session != "catalogue: job" {
		t.Errorf("judged: %+v", w.judge.decided)
	}
	if len(w.judge.recorded) != 1 || w.judge.recorded[0].Status == nil || *w.judge.recorded[0].Status != 0 {
		t.Errorf("recorded: %+v", w.judge.recorded)
	}
}

func TestCallsThatAreRefused(t *testing.T) {
	w := printing(t)
	w.must(os.Symlink("/etc", w.path("project/out")))
	w.must(os.Symlink("nowhere", w.path("project/dangling")))
	for name, test := range map[string]struct {
		call string
		code Code
	}{
		"no JSON":                   {`{"tool": "print"`, BadCall},
		"a shell line":              {`git status`, BadCall},
		"empty":                     {``, BadCall},
		"a list":                    {`["print"]`, BadCall},
		"two values":                {`{"tool": "print", "args": {}} {"tool": "print", "args": {}}`, BadCall},
		"no UTF-8":                  {"{\"tool\": \"print\xff\", \"args\": {}}", BadCall},
		"another key":               {`{"tool": "print", "args": {}, "argv": ["sh"]}`, BadCall},
		"key in capitals":           {`{"Tool": "print", "args": {}}`, BadCall},
		"a key twice":               {`{"tool": "print", "tool": "file", "args": {"word": "a", "mode": "fast"}}`, BadCall},
		"an argument twice":         {`{"tool": "print", "args": {"word": "a", "word": "b", "mode": "fast"}}`, BadCall},
		"no args":                   {`{"tool": "print"}`, BadCall},
		"tool is a number":          {`{"tool": 1, "args": {}}`, BadCall},
		"too deep":                  {`{"tool": "print", "args": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, BadCall},
		"too large":                 {`{"tool": "print", "args": {"word": "` + strings.Repeat("a", maxCall) + `"}}`, BadCall},
		"unknown tool":              {`{"tool": "rm", "args": {}}`, UnknownTool},
		"tool in capitals":          {`{"tool": "Print", "args": {"word": "a", "mode": "fast"}}`, UnknownTool},
		"extra key":                 {`{"tool": "print", "args": {"word": "a", "mode": "fast", "x": "y"}}`, ExtraArgument},
		"extra key by case":         {`{"tool": "print", "args": {"Word": "a", "word": "a", "mode": "fast"}}`, ExtraArgument},
		"missing key":               {`{"tool": "print", "args": {"word": "a"}}`, MissingArgument},
		"args is a list":            {`{"tool": "print", "args": []}`, WrongType},
		"args is null":              {`{"tool": "print", "args": null}`, WrongType},
		"number":                    {`{"tool": "print", "args": {"word": 5, "mode": "fast"}}`, WrongType},
		"list":                      {`{"tool": "print", "args": {"word": ["a", "b"], "mode": "fast"}}`, WrongType},
		"object":                    {`{"tool": "print", "args": {"word": {"a": "b"}, "mode": "fast"}}`, WrongType},
		"null":                      {`{"tool": "print", "args": {"word": null, "mode": "fast"}}`, WrongType},
		"not the pattern":           {`{"tool": "print", "args": {"word": "a1", "mode": "fast"}}`, BadValue},
		"not in the enum":           {`{"tool": "print", "args": {"word": "a", "mode": "slow"}}`, BadValue},
		"too long":                  {`{"tool": "print", "args": {"word": "` + strings.Repeat("a", 21) + `", "mode": "fast"}}`, BadValue},
		"far too long":              {`{"tool": "file", "args": {"file": "` + strings.Repeat("a", 5000) + `"}}`, BadValue},
		"semicolon":                 {`{"tool": "file", "args": {"file": "a;b"}}`, Metacharacter},
		"substitution":              {`{"tool": "file", "args": {"file": "$(id)"}}`, Metacharacter},
		"backtick":                  {"{\"tool\": \"file\", \"args\": {\"file\": \"`id`\"}}", Metacharacter},
		"line end":                  {`{"tool": "print", "args": {"word": "a\n", "mode": "fast"}}`, Metacharacter},
		"NUL":                       {`{"tool": "file", "args": {"file": "a\u0000b"}}`, Metacharacter},
		"turned around":             {`{"tool": "file", "args": {"file": "a\u202eb"}}`, Metacharacter},
		"quote":                     {`{"tool": "file", "args": {"file": "a'b"}}`, Metacharacter},
		"glob":                      {`{"tool": "file", "args": {"file": "*"}}`, Metacharacter},
		"home":                      {`{"tool": "file", "args": {"file": "~"}}`, Metacharacter},
		"option":                    {`{"tool": "file", "args": {"file": "--help"}}`, Metacharacter},
		"empty value":               {`{"tool": "file", "args": {"file": ""}}`, Metacharacter},
		"half a surrogate":          {`{"tool": "file", "args": {"file": "a\ud800"}}`, Metacharacter},
		"parent":                    {`{"tool": "file", "args": {"file": "../x"}}`, PathOutside},
		"parent inside":             {`{"tool": "file", "args": {"file": "sub/../../x"}}`, PathOutside},
		"parent that stays":         {`{"tool": "file", "args": {"file": "sub/.."}}`, PathOutside},
		"absolute":                  {`{"tool": "file", "args": {"file": "/etc/passwd"}}`, PathOutside},
		"through a link":            {`{"tool": "file", "args": {"file": "out/passwd"}}`, PathOutside},
		"through a link, not yet":   {`{"tool": "file", "args": {"file": "out/none/x"}}`, PathOutside},
		"by a link leading nowhere": {`{"tool": "file", "args": {"file": "dangling"}}`, PathOutside},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.judge.refused, w.judge.decided = nil, nil
			r := w.raw(name, test.call)
			w.want(r, test.code)
			if r.Code.Exit() != 1 || !r.Ended || r.Step != 1 {
				t.Errorf("exit %d, ended %t, step %d: a refusal is a no that ends the job", r.Code.Exit(), r.Ended, r.Step)
			}
			if diff := cmp.Diff([]Code{test.code}, w.judge.refused); diff != "" || len(w.judge.decided) != 0 {
				t.Errorf("logged: %s, judged %v", diff, w.judge.decided)
			}
			w.want(w.call(name, "print", "word", "a", "mode", "fast"), JobEnded)
		})
	}
	if made, _ := filepath.Glob(filepath.Join(w.project, "*")); len(made) != 4 {
		t.Errorf("something ran: %v", made)
	}
}

func TestAPathInsideIsFine(t *testing.T) {
	w := printing(t)
	w.want(w.call("job", "file", "file", "sub/new.txt"), OK)
	if _, err := os.Stat(w.path("project/sub/new.txt")); err != nil {
		t.Error(err)
	}
}

func TestThePolicyIsAsked(t *testing.T) {
	reason := func(stage gate.Stage, rule string) gate.Decision {
		return gate.Decision{Action: gate.Deny, Reasons: []gate.Reason{{Stage: stage, Rule: rule, Text: "because"}}}
	}
	for name, test := range map[string]struct {
		argv gate.Decision
		code Code
	}{
		"not on the allow list": {reason(gate.StageEntry, ""), OK},
		"flags not known":       {reason(gate.StageFlags, "--x"), OK},
		"outside of the root":   {reason(gate.StagePaths, "root"), OK},
		"deny entry":            {reason(gate.StageEntry, "git push"), Refused},
		"denied path":           {reason(gate.StagePaths, ".env*"), Refused},
		"the gate's own files":  {reason(gate.StageProtect, "self-protection"), Refused},
		"a rule":                {reason(gate.StageRules, "x"), Refused},
		"no policy":             {reason(gate.StagePolicy, ""), Refused},
		"a fault":               {reason(gate.StageFault, ""), Fault},
		"a stage of tomorrow":   {reason("tomorrow", ""), Refused},
	} {
		t.Run(name, func(t *testing.T) {
			w := printing(t)
			w.judge.argv = test.argv
			w.want(w.call("job", "print", "word", "a", "mode", "fast"), test.code)
		})
	}
	t.Run("the tool", func(t *testing.T) {
		w := printing(t)
		w.judge.refuse = true
		w.want(w.call("job", "print", "word", "a", "mode", "fast"), Refused)
	})
	t.Run("a log that cannot be written", func(t *testing.T) {
		w := printing(t)
		w.judge.broken = errors.New("the disk is full")
		r := w.call("job", "print", "word", "a", "mode", "fast")
		w.want(r, Fault)
		if r.Step != 0 || r.Ended {
			t.Errorf("step %d, ended %t: nobody could tell, and the job is as it was", r.Step, r.Ended)
		}
	})
}
