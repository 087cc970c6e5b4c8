package rules

import (
	"fmt"
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	tests := map[string]struct{ rule, want string }{
		"fine":                {`{id: a, never: {tool: git_push, with: {force: true}}}`, ""},
		"fine client tool":    {`{id: a, never: {tool: Edit, where: {file_path: "*.lock"}}}`, ""},
		"fine by executable":  {`{id: a, never: {tool: npm, with: {argv: install}}}`, ""},
		"fine with dashes":    {`{id: a, never: {tool: apt-get, with: {argv: install}}}`, ""},
		"fine unknown":        {`{id: a, never: {tool: our-deployer, with: {argv: prod}}}`, ""},
		"fine mcp":            {`{id: a, never: {tool: mcp__x__y, with: {z: 1}}}`, ""},
		"misspelt tool":       {`{id: a, never: git_psh}`, `nothing makes calls named "git_psh"; did you mean "git_push"?`},
		"misspelt client":     {`{id: a, never: Wirte}`, `did you mean "Write"?`},
		"runner's script":     {`{id: a, never: make_deploy_all}`, `{tool: make, with: {argv: deploy_all}}`},
		"misspelt argument":   {`{id: a, never: {tool: git_push, with: {forced: true}}}`, `have no argument "forced"; did you mean "force"?`},
		"no such argument":    {`{id: a, never: {tool: git_push, where: {colour: x}}}`, `calls of git_push have no argument "colour"`},
		"no spec":             {`{id: a, never: {tool: ourdeployer, with: {env: x, prod: true}}}`, `ourdeployer has no spec`},
		"glob of nothing":     {`{id: a, never: "kubectx_*"}`, `no call is named like "kubectx_*"`},
		"everything":          {`{id: a, never: "*"}`, `it refuses every call`},
		"never by count":      {`{id: a, at_most: {call: rm, times: 0}}`, `write never`},
		"itself first":        {`{id: a, before: [git_push, git_push]}`, `the first one would have to come before itself`},
		"ahead of its status": {`{id: a, never: {tool: rm, succeeded: true}}`, `succeeded is not known before a call runs`},
		"since the first":     {`{id: a, before: {first: pytest, then: git_push, since: pytest}}`, `since does nothing here`},
		"ltl":                 {`{id: a, ltl: 'before("git_fetch", "git_rebace")'}`, `did you mean "git_rebase"?`},
	}
	var text strings.Builder
	text.WriteString("rules:\n")
	for name, test := range tests {
		fmt.Fprintf(&text, "- %s\n", strings.Replace(test.rule, "{id: a,", "{id: "+strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "")+",", 1))
	}
	found, err := parse(t, text.String()).Lint(packs)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		var got string
		for _, p := range found {
			if p.Rule == strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "") {
				got += p.String()
			}
		}
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
		if got != "" && !strings.HasPrefix(got, "rules.yaml:") {
			t.Errorf("%s: where is it: %q", name, got)
		}
	}
}
