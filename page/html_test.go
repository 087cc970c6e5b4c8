package page

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/internal/glyph"
)

// A node is an element of a page or a text in it.
type node struct {
	name     string // empty for a text
	attr     map[string]string
	text     string
	children []*node
}

// read parses a page as strictly as XML is parsed: what is not closed, quoted or escaped fails the test.
func read(t *testing.T, page []byte) *node {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	root := &node{name: "root"}
	stack := []*node{root}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return root
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				if _, twice := n.attr[a.Name.Local]; twice {
					t.Fatalf("<%s> has %s twice", n.name, a.Name.Local)
				}
				n.attr[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.children = append(top.children, &node{text: string(token)})
		case xml.Comment, xml.ProcInst:
			t.Fatalf("a page holds no %T", token)
		}
	}
}

func (n *node) walk(visit func(n *node, above []*node)) { n.walkFrom(nil, visit) }

func (n *node) walkFrom(above []*node, visit func(*node, []*node)) {
	visit(n, above)
	for _, c := range n.children {
		c.walkFrom(append(above, n), visit)
	}
}

func (n *node) all(name string) (list []*node) {
	n.walk(func(n *node, _ []*node) {
		if n.name == name {
			list = append(list, n)
		}
	})
	return list
}

func (n *node) withClass(class string) (list []*node) {
	n.walk(func(n *node, _ []*node) {
		if slices.Contains(strings.Fields(n.attr["class"]), class) {
			list = append(list, n)
		}
	})
	return list
}

// words are the text of n and all in it, with single spaces.
func (n *node) words() string {
	var b strings.Builder
	n.walk(func(n *node, above []*node) {
		if n.name == "" {
			b.WriteString(n.text + " ")
		}
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// mayHave is every element that a page may have, with the attributes beside class.
var mayHave = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "",
	"body": "", "header": "", "nav": "aria-label", "main": "id tabindex", "section": "aria-labelledby", "article": "aria-labelledby", "footer": "",
	"h1": "", "h2": "id", "h3": "id", "p": "", "div": "", "span": "", "ul": "", "li": "", "a": "href", "code": "", "pre": "", "ins": "", "del": "", "bdi": "", "time": "datetime",
	"details": "", "summary": "", "table": "role", "caption": "", "thead": "role", "tbody": "role", "tr": "role", "th": "scope role", "td": "role data-label",
	"svg": "width height aria-hidden focusable viewBox preserveAspectRatio", "symbol": "id viewBox", "use": "href", "rect": "x y width height",
	"path": "d fill stroke stroke-width stroke-linecap stroke-linejoin", "circle": "cx cy r fill stroke stroke-width",
}

func TestPagesHoldOnlyWhatTheyMay(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			page := HTML(s)
			root := read(t, page)
			ids := map[string]bool{}
			root.walk(func(n *node, _ []*node) {
				if n.name == "" || n.name == "root" {
					return
				}
				allowed, ok := mayHave[n.name]
				if !ok {
					t.Errorf("an element <%s>", n.name)
				}
				for a, value := range n.attr {
					if a != "class" && !slices.Contains(strings.Fields(allowed), a) {
						t.Errorf("<%s> has an attribute %s=%q", n.name, a, value)
					}
				}
				if id := n.attr["id"]; id != "" {
					if ids[id] {
						t.Errorf("two elements are #%s", id)
					}
					ids[id] = true
				}
			})
			root.walk(func(n *node, _ []*node) {
				if ref := n.attr["aria-labelledby"]; ref != "" && !ids[ref] {
					t.Errorf("nothing is #%s", ref)
				}
				href := n.attr["href"]
				if to, here := strings.CutPrefix(href, "#"); here && !ids[to] || !here && !slices.Contains([]string{"", "/", "/metrics", "/?refresh=60"}, href) {
					t.Errorf("<%s> leads to %q", n.name, href)
				}
			})
			for _, r := range string(page) {
				if r != '\n' && r != '\t' && r != '\u202f' && (r < ' ' || r > '~') && !glyph.Shows(r) {
					t.Fatalf("the page holds %U", r)
				}
			}
		})
	}
}

func TestForeignTextIsShownAndNothingElse(t *testing.T) {
	root := read(t, HTML(hostileSite()))
	words := root.words()
	for _, want := range []string{
		`<script>alert(1)</script>`, `</style><style>body{display:none}</style>`, `{{.Host}} {{template "page"}}`,
		`\x1b[2J\x1b[31m\a\b\r\nbad\x00\x7f\u0085\u2028\u2029`, `\u202egnp.exe\u202c \u2066in sync\u2069`, `\U000e0001\U000e0069`,
		`vs:\ufe0f\U000e0101 zw:\u200b\u200d\ufeff\u2060\u00ad fill:\u3164\u2800\uffa0`, `bytes \xff\xfe\x80 that are no text`, "\u05e9\u05dc\u05d5\u05dd/",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	// Every foreign text stands in an element that keeps its direction to itself, or in one of fixed direction.
	root.walk(func(n *node, above []*node) {
		if n.name != "" || !strings.ContainsAny(n.text, "\u05e9\u0645") {
			return
		}
		within := func(names ...string) bool {
			return slices.ContainsFunc(above, func(a *node) bool { return slices.Contains(names, a.name) })
		}
		if !within("bdi", "code", "pre") {
			t.Errorf("%q may turn what stands around it, in <%s>", n.text, above[len(above)-1].name)
		}
	})
}

func TestLandmarksHeadingsAndTablesAreInOrder(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			root := read(t, HTML(s))
			if html := root.all("html"); len(html) != 1 || html[0].attr["lang"] != "en" {
				t.Error("the language is not set")
			}
			for _, one := range []string{"title", "header", "main", "footer", "nav", "h1"} {
				if n := root.all(one); len(n) != 1 || n[0].words() == "" {
					t.Errorf("%d of <%s>", len(n), one)
				}
			}
			if a := root.all("a"); a[0].attr["href"] != "#main" || a[0].attr["class"] != "skip" {
				t.Error("the first link is not the one past the navigation")
			}
			depth := 0
			root.walk(func(n *node, _ []*node) {
				if len(n.name) == 2 && n.name[0] == 'h' && n.name[1] >= '1' && n.name[1] <= '6' {
					level := int(n.name[1] - '0')
					if level > depth+1 {
						t.Errorf("<%s> %q follows a heading of level %d", n.name, n.words(), depth)
					}
					depth = level
				}
			})
			for _, table := range root.all("table") {
				if c := table.all("caption"); len(c) != 1 || c[0].words() == "" {
					t.Error("a table without a caption")
				}
				for _, th := range table.all("th") {
					if th.attr["scope"] == "" {
						t.Error("a heading of a table without a scope")
					}
				}
				for _, row := range table.all("tbody")[0].all("tr") {
					if len(row.all("th")) != 1 {
						t.Error("a row without its heading")
					}
				}
			}
			root.walk(func(n *node, above []*node) {
				if n.name == "svg" && n.attr["aria-hidden"] != "true" {
					t.Error("a picture that is read aloud")
				}
				if n.name == "summary" && n.words() == "" || n.name == "a" && n.words() == "" || n.name == "li" && n.words() == "" {
					t.Errorf("an empty <%s>", n.name)
				}
			})
		})
	}
}

// TestColourIsNeverAlone: what has the colour of a level has its shape or a sign, and words.
func TestColourIsNeverAlone(t *testing.T) {
	for name, s := range samples() {
		root := read(t, HTML(s))
		for _, level := range []string{"good", "found", "unsure"} {
			for _, n := range root.withClass(level) {
				if n.name == "rect" {
					continue // its words are in the list before it
				}
				uses := n.all("use")
				if len(uses) == 0 || uses[0].attr["href"] != "#"+level {
					t.Errorf("%s: <%s class=%q> has not the shape of its level", name, n.name, n.attr["class"])
				}
				if n.words() == "" {
					t.Errorf("%s: <%s class=%q> says nothing", name, n.name, n.attr["class"])
				}
			}
		}
		for tag, sign := range map[string]string{"ins": "+", "del": "-"} {
			for _, n := range root.all(tag) {
				for line := range strings.Lines(strings.TrimPrefix(n.children[0].text, "\n")) {
					if !strings.HasPrefix(line, sign) {
						t.Errorf("%s: a line %q in <%s>", name, line, tag)
					}
				}
			}
		}
	}
}

func TestPolicyAdmitsTheStyleOfThePageAndNothingElse(t *testing.T) {
	root := read(t, HTML(driftSite()))
	styles := root.all("style")
	if len(styles) != 1 || len(styles[0].children) != 1 || styles[0].children[0].text != style {
		t.Fatal("the style of the page is not the one that the policy admits")
	}
	for _, bad := range []string{"url(", "@import", "expression", "http:", "https:", "//", "<", "&"} {
		if strings.Contains(style, bad) {
			t.Errorf("the style has %q", bad)
		}
	}
	const want = `^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`
	if !regexp.MustCompile(want).MatchString(Policy()) {
		t.Errorf("policy: %s", Policy())
	}
	for _, m := range root.all("meta") {
		if m.attr["http-equiv"] == "Content-Security-Policy" && m.attr["content"]+"; frame-ancestors 'none'" == Policy() {
			return
		}
	}
	t.Error("a page that is saved has another policy")
}

func TestAPageReloadsItselfOnlyWhenAsked(t *testing.T) {
	s := calmSite()
	if bytes.Contains(HTML(s), []byte(`http-equiv="refresh"`)) {
		t.Error("it reloads itself unasked")
	}
	s.Refresh = time.Minute
	if !bytes.Contains(HTML(s), []byte(`<meta http-equiv="refresh" content="60"/>`)) {
		t.Error("it does not reload itself")
	}
	if words := read(t, HTML(s)).all("footer")[0].words(); !strings.Contains(words, "every 60 seconds. Stop that") {
		t.Errorf("it does not say how to stop it: %s", words)
	}
	s.Served, s.Refresh = false, 0
	if words := read(t, HTML(s)).all("footer")[0].words(); strings.Contains(words, "Metrics") {
		t.Errorf("a file leads to what only a listener has: %s", words)
	}
}

func TestInSyncIsCalmAndShort(t *testing.T) {
	page := HTML(calmSite())
	root := read(t, page)
	if h1 := root.all("h1")[0].words(); h1 != "agent-1 In sync" {
		t.Errorf("it says %q", h1)
	}
	if n := len(root.all("article")) + len(root.withClass("found")) + len(root.withClass("unsure")); n != 0 {
		t.Errorf("%d alarming elements", n)
	}
	if n := len(page) - len(style); n > 9<<10 {
		t.Errorf("%d bytes without the style", n)
	}
}

// TestNothingIsNoGoodNews: what is not filled in is not in sync.
func TestNothingIsNoGoodNews(t *testing.T) {
	for name, s := range map[string]*Site{
		"an empty site":      {},
		"a gate of zero":     {Gates: []Gate{{}}},
		"an unknown result":  {Gates: []Gate{{Name: "claude", Result: "in-sync "}}},
		"a warning":          {Gates: []Gate{calmGate("claude")}, Warnings: []string{"x"}},
		"a host of zero":     {Gates: []Gate{calmGate("claude")}, Fleet: []Gate{{}}},
		"an unknown finding": {Gates: []Gate{calmGate("claude")}, Peers: []Peer{{Host: "a", Finding: "sleepy"}}},
		"a failed notice":    {Gates: []Gate{calmGate("claude")}, Notices: []Notice{{Error: "x"}}},
	} {
		s.Host = "h"
		if h1 := read(t, HTML(s)).all("h1")[0].words(); h1 != "h 1 thing could not be told" {
			t.Errorf("%s: %q", name, h1)
		}
	}
	s := &Site{Host: "h", Gates: []Gate{calmGate("claude")}, Failures: []Failure{{Summary: "x"}}}
	if h1 := read(t, HTML(s)).all("h1")[0].words(); h1 != "h 1 finding" {
		t.Errorf("a failed run: %q", h1)
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	s := &Site{Host: "h", At: at}
	for i := len(results) - 1; i >= 0; i-- {
		s.Gates = append(s.Gates, Gate{Name: fmt.Sprintf("g%02d", i), Result: results[i].name})
	}
	s.Gates = append(s.Gates, Gate{Name: "g98", Result: "new"})
	var got, want []string
	for _, h3 := range read(t, HTML(s)).all("h3") {
		got = append(got, h3.words())
	}
	for i, w := range results {
		switch w.level {
		case good:
		default:
			want = append(want, fmt.Sprintf("g%02d %s", i, w.text))
		}
	}
	want = append(want, "g98 new")
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFortyHostsWithOneDriftAreOneGroup(t *testing.T) {
	root := read(t, HTML(fortySite()))
	articles := root.all("article")
	if len(articles) != 1 {
		t.Fatalf("%d groups", len(articles))
	}
	words := articles[0].words()
	for _, want := range []string{"40 hosts agent-2 , agent-3", "and 32 more", "agent-41", "+ - npm test -- --watch=false", "unwitnessed", "since 13:24 UTC"} {
		if !strings.Contains(words, want) {
			t.Errorf("the group does not say %q: %s", want, words)
		}
	}
	if h1 := root.all("h1")[0].words(); h1 != "agent-1 1 finding" {
		t.Errorf("it says %q", h1)
	}
	// Another drift, another finding beside it or another gate is another group.
	s := fortySite()
	s.Fleet[0].ID = "d-ffffffffffff"
	s.Fleet[1].Findings = append(s.Fleet[1].Findings, Finding{Result: "stale"})
	s.Fleet[2].Name = "codex"
	s.Fleet[3].Unwitnessed = false
	if n := len(read(t, HTML(s)).all("article")); n != 5 {
		t.Errorf("%d groups, want 5", n)
	}
}

func TestTheFleetIsCountedByHost(t *testing.T) {
	s := &Site{Host: "hub", At: at, Gates: []Gate{calmGate("claude")}}
	for i := range 1000 {
		host := fmt.Sprint("h", i)
		result := "in-sync"
		if i == 7 {
			result = "drifted"
		}
		s.Fleet = append(s.Fleet, Gate{Host: host, Name: "a", Result: "in-sync"}, Gate{Host: host, Name: "b", Result: result})
	}
	root := read(t, HTML(s))
	if got := root.withClass("shares")[0].words(); got != "1 host with findings 999 hosts in sync" {
		t.Errorf("shares: %q", got)
	}
	x := 0
	for _, r := range root.all("rect") {
		var at, width int
		fmt.Sscan(r.attr["x"], &at)
		fmt.Sscan(r.attr["width"], &width)
		if at != x || width < 5 {
			t.Errorf("a segment from %d, %d wide, after %d", at, width, x)
		}
		x = at + width
	}
	if x != 1000 {
		t.Errorf("the bar ends at %d", x)
	}
}

func TestPagesStayBounded(t *testing.T) {
	// A fleet of 10 000.
	huge := HTML(hugeSite(10_000))
	if len(huge) > 200<<10 {
		t.Errorf("a page of 10 000 hosts has %d bytes", len(huge))
	}
	words := read(t, huge).words()
	for _, want := range []string{"50 hosts with findings 30 hosts could not be told 9 920 hosts in sync", "9 512 more hosts, not listed here", "9 987 of 10 000 were heard in time"} {
		if !strings.Contains(words, want) {
			t.Errorf("it does not say %q", want)
		}
	}

	// Everything as large as it gets.
	long := strings.Repeat("\U000e0041<", 2000)
	many := func(n int) []string { return slices.Repeat([]string{long}, n) }
	g := Gate{Result: "drifted", ID: long, Tree: long, Changes: 10_000, Findings: slices.Repeat([]Finding{{Result: "drifted", Reason: long, Items: many(100), Next: long}}, 50)}
	for range 100 {
		g.Diffs = append(g.Diffs, Diff{many(1000)})
		g.Processes = append(g.Processes, Process{Unit: long, Reason: long, Fix: long})
		g.Grants = append(g.Grants, Grant{ID: long, Text: long, Cwd: long, By: long})
	}
	s := &Site{Host: long, Version: long, At: at, Warnings: many(500)}
	for i := range 60 {
		g.Name, g.Host = fmt.Sprint(i, long), fmt.Sprint(i, long)
		s.Gates, s.Fleet = append(s.Gates, g), append(s.Fleet, g)
		s.Peers = append(s.Peers, Peer{Host: g.Host, Finding: "silent", Reason: long, Next: g.Name})
		s.History = append(s.History, Event{at, long, long, long, long, long})
		s.Notices = append(s.Notices, Notice{ID: long, Sink: long, Error: long})
	}
	worst := HTML(s)
	if len(worst) > 6<<20 {
		t.Errorf("a page of %d bytes", len(worst))
	}
	if n := len(Metrics(s)); n > 4<<20 {
		t.Errorf("metrics of %d bytes", n)
	}
}

func BenchmarkHTML(b *testing.B) {
	for _, hosts := range []int{100, 1000, 10_000} {
		s := hugeSite(hosts)
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			for b.Loop() {
				HTML(s)
			}
		})
	}
}
