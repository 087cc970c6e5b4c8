package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A pkg is one package without its tests.
type pkg struct {
	path  string
	name  string
	fset  *token.FileSet
	files []*ast.File
}

// parsed is the packages, once a test has read them.
var parsed []pkg

func packages(t *testing.T) []pkg {
	t.Helper()
	if parsed == nil {
		parsed = parse(t)
	}
	return parsed
}

func parse(t *testing.T) (pkgs []pkg) {
	t.Helper()
	for _, line := range goList(t, "{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "./...") {
		fields := strings.Split(line, "\t")
		p := pkg{path: strings.TrimPrefix(fields[0], module+"/"), fset: token.NewFileSet()}
		for _, name := range strings.Fields(fields[2]) {
			file, err := parser.ParseFile(p.fset, filepath.Join(fields[1], name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			p.name = file.Name.Name
			p.files = append(p.files, file)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

func TestEachPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		for _, why := range docProblems(p) {
			t.Errorf("%s: %s", p.path, why)
		}
	}
}

func docProblems(p pkg) (problems []string) {
	var docs []string
	for _, file := range p.files {
		if file.Doc != nil {
			docs = append(docs, file.Doc.Text())
		}
	}
	if len(docs) != 1 {
		return []string{fmt.Sprintf("has %d package comments, want one", len(docs))}
	}
	begin := "Package " + p.name + " "
	if p.name == "main" {
		begin = "Command " + path.Base(p.path) + " "
	}
	if !strings.HasPrefix(docs[0], begin) {
		problems = append(problems, fmt.Sprintf("the package comment does not begin with %q", begin))
	}
	if strings.Count(docs[0], "\n") < 3 {
		problems = append(problems, "the package comment has less than three lines; it is the design note")
	}
	return problems
}

func TestNoPackageIsAShelf(t *testing.T) {
	shelves := []string{"util", "utils", "common", "types", "helper", "helpers", "misc", "shared"}
	for _, p := range packages(t) {
		if slices.Contains(shelves, p.name) || slices.Contains(shelves, path.Base(p.path)) {
			t.Errorf("%s: a package is named after what it does", p.path)
		}
	}
}

func TestPackagesKeepNoState(t *testing.T) {
	for _, p := range packages(t) {
		for _, why := range stateProblems(p) {
			t.Error(why)
		}
	}
}

// stateProblems finds init functions and package variables that are more than names for constants.
func stateProblems(p pkg) (problems []string) {
	bad := func(at ast.Node, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: %s", p.fset.Position(at.Pos()), fmt.Sprintf(format, args...)))
	}
	vars := make(map[string]*ast.ValueSpec)
	for _, file := range p.files {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.Name == "init" && decl.Recv == nil {
					bad(decl, "a package does nothing before it is asked to: func init")
				}
			case *ast.GenDecl:
				if decl.Tok != token.VAR {
					continue
				}
				for _, spec := range decl.Specs {
					spec := spec.(*ast.ValueSpec)
					for i, name := range spec.Names {
						vars[name.Name] = spec
						if !constant(spec, i) && !embedded(decl, spec) && name.Name != "_" {
							bad(name, "%s is state; a package has errors, patterns, tables and embedded files", name.Name)
						}
					}
				}
			}
		}
	}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, target := range changed(n) {
				name := base(target)
				if name == nil || vars[name.Name] == nil || name.Obj != nil && name.Obj.Decl != vars[name.Name] {
					continue // no package variable, or a local one of the same name
				}
				bad(n, "%s is a package variable and may not be changed", name.Name)
			}
			return true
		})
	}
	return problems
}

// constant reports whether the i-th variable of a declaration begins as an error, a pattern or a table.
func constant(spec *ast.ValueSpec, i int) bool {
	if i >= len(spec.Values) {
		return false
	}
	switch value := spec.Values[i].(type) {
	case *ast.CompositeLit, *ast.FuncLit:
		return true
	case *ast.UnaryExpr:
		_, ok := value.X.(*ast.CompositeLit)
		return value.Op == token.AND && ok
	case *ast.CallExpr:
		fun, ok := value.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := fun.X.(*ast.Ident)
		makers := []string{"errors.New", "regexp.MustCompile", "strings.NewReplacer"}
		return ok && slices.Contains(makers, from.Name+"."+fun.Sel.Name)
	default:
		return false
	}
}

// embedded reports whether a go:embed line fills the variable.
func embedded(decl *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{decl.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		for _, line := range doc.List {
			if strings.HasPrefix(line.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// changed returns the expressions that n gives a new value. A change through a pointer is not found.
func changed(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "delete" || name.Name == "clear") {
			return n.Args[:min(len(n.Args), 1)] // a function of that name may have none
		}
	}
	return nil
}

// base returns the variable that an expression is a part of: v in v.f[i].
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// The checks themselves must be able to fail.
func TestChecksFindWhatTheyLookFor(t *testing.T) {
	for _, test := range []struct {
		source string
		want   []string // parts of the problems
	}{
		{"// Package p is good.\n// Line.\n// Line.\npackage p\n", nil},
		{"package p\n", []string{"has 0 package comments"}},
		{"// Package q is another.\n// Line.\n// Line.\npackage p\n", []string{`does not begin with "Package p "`}},
		{"// Package p is terse.\npackage p\n", []string{"less than three lines"}},
		{good("func init() {}"), []string{"func init"}},
		{good("var n int"), []string{"n is state"}},
		{good("var m = make(map[string]int)"), []string{"m is state"}},
		{good("var a, b = errors.New(``), new(int)"), []string{"b is state"}},
		{good("var e = errors.New(``)\nvar _ error = e\nvar r = regexp.MustCompile(``)"), nil},
		{good("var t = []int{1}\n//go:embed x\nvar f embed.FS"), nil},
		{good("var t = []int{1}\nfunc f() { t[0] = 2 }"), []string{"t is a package variable"}},
		{good("var t = struct{n int}{}\nfunc f() { t.n++ }"), []string{"t is a package variable"}},
		{good("var t = map[int]int{}\nfunc f() { delete(t, 1) }"), []string{"t is a package variable"}},
		{good("var t = []int{1}\nfunc f() { for t[0] = range 3 {} }"), []string{"t is a package variable"}},
		{good("var t = []int{1}\nfunc f() { t := []int{2}; t[0] = 3 }"), nil},
		{good("var t = []int{1}\nfunc f() { for _, x := range t { _ = x } }"), nil},
	} {
		p := pkg{path: "p", name: "p", fset: token.NewFileSet()}
		file, err := parser.ParseFile(p.fset, "p.go", test.source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		p.files = []*ast.File{file}
		got := append(docProblems(p), stateProblems(p)...)
		if len(got) != len(test.want) {
			t.Errorf("%s\ngot %q, want %q", test.source, got, test.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], test.want[i]) {
				t.Errorf("%s\ngot %q, want %q in it", test.source, got[i], test.want[i])
			}
		}
	}
}

func good(code string) string {
	return "// Package p is good.\n// Line.\n// Line.\npackage p\n\n" + code + "\n"
}
