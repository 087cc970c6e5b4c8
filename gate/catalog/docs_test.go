package catalog

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// codes lists the codes in code.go with their exit codes, but for OK.
func codes(t *testing.T) map[string]int {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]int)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if code := Code(text); code != OK {
				all[text] = code.Exit()
			}
		}
		return true
	})
	return all
}

func TestTheManualListsEveryCodeWithItsExit(t *testing.T) {
	page, err := os.ReadFile("../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]int)
	exit := 0
	_, part, _ := strings.Cut(string(page), "\n## Codes\n")
	for line := range strings.Lines(part) {
		if m := regexp.MustCompile(`^Exit code ([0-9])`).FindStringSubmatch(line); m != nil {
			exit, _ = strconv.Atoi(m[1])
		}
		if m := regexp.MustCompile("^\\| `([a-z-]+)` \\|").FindStringSubmatch(line); m != nil {
			listed[m[1]] = exit
		}
	}
	if diff := cmp.Diff(codes(t), listed); diff != "" || len(listed) < 30 {
		t.Errorf("code.go and the manual differ (-code +manual)\n%s", diff)
	}
}

func TestTheExamplesOfTheManualAreCatalogues(t *testing.T) {
	for _, name := range []string{"../../docs/catalog.md", "../../vendor-gate/default/files/policy/tools.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, example, ok := strings.Cut(string(data), "\n```json\n"); ok {
			example, _, _ = strings.Cut(example, "\n```")
			data = []byte(example)
		}
		c, err := Parse(name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.Find("git_log") == nil && c.Find("lint_file") == nil {
			t.Errorf("%s: %d tools, and none of those it shows", name, len(c.Tools))
		}
	}
}
