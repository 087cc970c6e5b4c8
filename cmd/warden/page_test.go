package main

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/cli"
	"gatehouse/page"
	"gatehouse/peer"
	"gatehouse/reconcile"
)

// TestThePageKnowsEveryResult: page has no part of reconcile, and has to name the same results in the same order.
func TestThePageKnowsEveryResult(t *testing.T) {
	want := constants(t, "../../reconcile/result.go", "Result")
	if got := page.Results(); !slices.Equal(got, want) {
		t.Errorf("page knows %q,\nreconcile has %q", got, want)
	}
	for _, name := range append(want, "", "new") {
		if got, want := page.Code(name), reconcile.Result(name).Code(); got != want {
			t.Errorf("%q: the page counts it as %d, the exit code is %d", name, got, want)
		}
	}
}

// constants are the values of the constants of one type in a file, in their order.
func constants(t *testing.T, file, typ string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typ {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no constants of type %s", file, typ)
	}
	return values
}

func TestStatusWritesAPageAndMetrics(t *testing.T) {
	h := newTrial(t)
	run := func(want int, args ...string) string {
		t.Helper()
		streams := quiet()
		streams.Getenv = os.Getenv
		if code := Main(t.Context(), append([]string{"--config", h.path("warden.yaml")}, args...), streams); code != want {
			t.Fatalf("%q: exit code %d: %s", args, code, streams.Err)
		}
		return streams.Out.(*bytes.Buffer).String() + streams.Err.(*bytes.Buffer).String()
	}
	run(cli.No, "reconcile")
	run(cli.Yes, "pause", "demo", "--for", "1h", "--why", "<script>alert(1)</script>")

	// To a file, at once, with the exit code of status.
	file, metrics := h.path("index.html"), h.path("gatehouse.prom")
	if out := run(cli.No, "status", "--html", file, "--metrics", metrics); out != "" {
		t.Errorf("it prints %q", out)
	}
	html, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"<title>1 finding – try – Gatehouse</title>", "<bdi>drifted</bdi>", "warden --config ", " accept d-", "<ins>&#43;",
		"&lt;script&gt;alert(1)&lt;/script&gt;", "Notices are held until", "It does not reload itself",
	} {
		if got := bytes.Contains(html, []byte(part)); got == (part == "It does not reload itself") {
			t.Errorf("in the page: %q: %v", part, got)
		}
	}
	text, err := os.ReadFile(metrics)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `gatehouse_gate_paused{gate="demo"} 1`) {
		t.Errorf("metrics:\n%s", text)
	}
	for name, want := range map[string]os.FileMode{file: 0o640, metrics: 0o644} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if left, err := filepath.Glob(h.path(".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}

	// To standard output, of what is named.
	if out := run(cli.No, "status", "demo", "--html", "-"); !strings.HasPrefix(out, "<!doctype html>\n") {
		t.Errorf("%.100s", out)
	}
	if out := run(cli.Yes, "status", "--exit-zero", "--metrics", "-"); !strings.HasPrefix(out, "# HELP gatehouse_build_info ") {
		t.Errorf("%.100s", out)
	}

	// What cannot be replaced is said.
	link := h.path("link.html")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, h.dir, h.path("none/index.html")} {
		if out := run(cli.Unknown, "status", "--html", name); !strings.Contains(out, filepath.Base(filepath.Dir(name))) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out := run(cli.Unknown, "status", "--html", "-", "--json"); !strings.Contains(out, "html") {
		t.Error(out)
	}
}

// TestThePageSaysWhatCannotBeRead: a state or a configuration out of order is on the page, and is no good news.
func TestThePageSaysWhatCannotBeRead(t *testing.T) {
	h := newTrial(t)
	g := &globals{streams: h.streams, config: h.path("warden.yaml")}
	streams := quiet()
	streams.Getenv = os.Getenv
	Main(t.Context(), []string{"--config", g.config, "reconcile"}, streams)
	files, err := filepath.Glob(h.path("state/gates/*"))
	if err != nil || len(files) == 0 {
		files, _ = filepath.Glob(h.path("state/*/demo*.json"))
	}
	if len(files) == 0 {
		t.Fatal("no state was found to damage")
	}
	for _, file := range files {
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := g.lookForPage()
	if len(s.Gates) != 1 || s.Gates[0].Result != "error" || len(s.Warnings) == 0 {
		t.Errorf("with a damaged state: %+v", s)
	}
	if err := os.WriteFile(g.config, []byte("version: 1\ngate: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = g.lookForPage()
	if len(s.Gates) != 0 || len(s.Warnings) == 0 || !strings.Contains(strings.Join(s.Warnings, "\n"), "warden.yaml:2") {
		t.Errorf("with a broken configuration: %+v", s)
	}
	if !bytes.Contains(page.HTML(s), []byte("could not be told</span>")) {
		t.Error("the page is not alarmed")
	}
}

// TestMakingThePageChangesNothing: whatever is asked for, the state stays as the pass left it.
func TestMakingThePageChangesNothing(t *testing.T) {
	h := newTrial(t)
	streams := quiet()
	streams.Getenv = os.Getenv
	Main(t.Context(), []string{"--config", h.path("warden.yaml"), "reconcile"}, streams)
	before := snapshotOf(t, h.dir)
	g := &globals{streams: h.streams, config: h.path("warden.yaml")}
	if s := g.lookForPage(); len(s.Warnings) > 0 || s.Gates[0].Result != "drifted" || len(s.Gates[0].Diffs) == 0 {
		t.Errorf("%+v", s)
	}
	if after := snapshotOf(t, h.dir); !slices.Equal(after, before) {
		t.Errorf("before %q\nafter %q", before, after)
	}
}

// snapshotOf lists the files below dir with their times.
func snapshotOf(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			list = append(list, path+" "+info.ModTime().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestThePageKnowsEveryFindingAboutAPeer: the same for the other hosts. What could not be told comes last.
func TestThePageKnowsEveryFindingAboutAPeer(t *testing.T) {
	site := func(peers ...page.Peer) *page.Site {
		now := time.Now()
		return &page.Site{At: now, Gates: []page.Gate{{Name: "g", Result: "in-sync", CheckedAt: now}}, Peers: peers}
	}
	kinds := peer.Kinds()
	slices.SortStableFunc(kinds, func(a, b peer.Kind) int { return cmp.Compare(a.Code(), b.Code()) })
	var all []page.Peer
	for _, k := range slices.Backward(kinds) {
		p := page.Peer{Host: "on-" + string(k), Finding: string(k)}
		all = append(all, p)
		want := map[int]string{cli.No: "1 finding", cli.Unknown: "1 thing could not be told"}[k.Code()]
		if want == "" || !bytes.Contains(page.HTML(site(p)), []byte("<title>"+want+" ")) {
			t.Errorf("%q: the page does not say %q", k, want)
		}
		if !bytes.Contains(page.Metrics(site(p)), []byte(`gatehouse_peers{finding="`+string(k)+`"} 1`)) {
			t.Errorf("%q: the metrics do not know it", k)
		}
	}
	html, last := page.HTML(site(all...)), -1
	for _, k := range kinds {
		at := bytes.Index(html, []byte("on-"+string(k)))
		if at < last {
			t.Errorf("%q stands above what is worse", k)
		}
		last = at
	}
}
