package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The agent's side and its tests build for macOS. GOOS=darwin go vet ./cmd/gate ./cmd/gate-mcp ./gate/... says the same
// and more, but compiles the standard library for it first; here types are checked, and of foreign packages only what
// they declare.
func TestTheAgentsSideHasTypesOnMacOS(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module,Name",
		"gatehouse/cmd/gate", "gatehouse/cmd/gate-mcp", "gatehouse/gate/...")
	list.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Start(); err != nil {
		t.Fatal(err)
	}
	checked, ours := imports{"unsafe": types.Unsafe}, 0
	for decoder := json.NewDecoder(out); ; { // what is imported comes before what imports it
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" || p.Name == "main" && strings.HasSuffix(p.ImportPath, ".test") {
			continue // the latter is generated
		}
		own := p.Module != nil && p.Module.Main
		if own {
			ours++
		}
		checked[p.ImportPath] = p.check(t, own, checked)
	}
	if err := list.Wait(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	if ours < 40 {
		t.Errorf("only %d packages of our own were looked at", ours)
	}
}

// listed is what go list says of a package, or of one with its tests ("p [p.test]").
type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct{ Main bool }
}

func (p *listed) check(t *testing.T, bodies bool, checked imports) *types.Package {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer:         importsOf{checked, p.ImportMap},
		IgnoreFuncBodies: !bodies,
		Sizes:            types.SizesFor(runtime.Compiler, "arm64"),
		Error: func(err error) {
			if bodies {
				t.Error(err)
			}
		},
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	pkg, _ := config.Check(path, fset, files, nil)
	return pkg
}

type imports map[string]*types.Package

type importsOf struct {
	checked imports
	renamed map[string]string
}

func (i importsOf) Import(path string) (*types.Package, error) {
	if name := i.renamed[path]; name != "" {
		path = name
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("go list has not named " + path + " before")
}
