package spec

import (
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// patch is what applies a diff: the files that the diff names become paths.
func (t *translator) patch(args call.Args) (_ call.Args, anyPath bool) {
	p := &t.p
	strip, both := 1, p.top().tool == "patch"
	if h := t.lastHit("strip"); h != nil {
		if t.runTime(h.word) || len(h.value) != 1 || h.value[0] < '0' || h.value[0] > '9' {
			return args, true
		}
		strip, both = int(h.value[0]-'0'), false
	}
	root := t.places.now
	if h := t.lastHit("directory"); h != nil && p.effectsOf(&p.levels[h.level].n.options[h.option].place)&maskChdir == 0 {
		root = t.into("directory")
	}
	diffs, ok := t.diffs()
	if !ok || len(diffs) == 0 {
		return args, true
	}
	var paths []string
	for _, diff := range diffs {
		for _, name := range diffNames(diff) {
			from := strip
			if both {
				from = 0
			}
			for n := from; n <= strip; n++ {
				rest, ok := stripped(name, n)
				if !ok {
					continue
				}
				shown := rest
				if root.first != "" {
					shown = join(root.first, rest)
				}
				if !slices.Contains(paths, shown) {
					paths = append(paths, shown)
					sure := call.Sure
					if both {
						sure = call.Maybe
					}
					if !p.given("check") && !p.given("dry_run") {
						t.made(maskRead|maskWrite, root, rest, call.Effect{Arg: "paths", Sure: sure})
					}
				}
			}
		}
	}
	if len(paths) == 0 {
		return args, true
	}
	return append(args, call.Arg{Name: "paths", Value: paths}), false
}

// diffs returns the texts of all diffs that the call applies, and whether all could be read as they will be.
func (t *translator) diffs() (texts []string, ok bool) {
	ok = true
	read := func(word int32, text string, from *dirs) {
		if from.unsure || len(from.others) > 0 || from.first == "" && !strings.HasPrefix(text, "/") || t.o.ReadFile == nil {
			ok = false
			return
		}
		name := join(from.first, text)
		if word > 0 && t.runTime(word) || t.changed.touched(name) {
			ok = false
			return
		}
		data, err := t.o.ReadFile(name)
		if err != nil {
			ok = false
			return
		}
		texts = append(texts, string(data[:min(len(data), 2<<20)]))
	}
	for _, dest := range []string{"input", "patchfile", "patches"} {
		if h := t.lastHit(dest); h != nil {
			read(h.word, h.value, &t.places.now)
		}
		t.words(dest, func(word int32, text string) {
			if text != "-" {
				read(word, text, &t.places.now)
			}
		})
	}
	if len(texts) > 0 || !ok {
		return texts, ok
	}
	if t.c.Stdin.Known {
		return []string{t.c.Stdin.Text}, true
	}
	for i := range t.c.Redirects {
		if r := &t.c.Redirects[i]; r.Op == "<" && !r.Copy {
			if r.Target.State != shell.Exact || r.Target.Splits {
				return nil, false
			}
			read(0, r.Target.Text, &t.places.start)
		}
	}
	return texts, ok
}

// diffNames returns the names in the header lines of a diff, as they stand there.
func diffNames(diff string) (names []string) {
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		for _, head := range []string{"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "} {
			name, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			name, _, _ = strings.Cut(name, "\t")
			if head[0] == 'r' || head[0] == 'c' {
				name = "x/" + name // these come without the first component
			}
			if name != "/dev/null" && name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// stripped takes n leading components off a name.
func stripped(name string, n int) (string, bool) {
	for range n {
		slash := strings.IndexByte(name, '/')
		if slash < 0 {
			return "", false
		}
		name = strings.TrimLeft(name[slash:], "/")
	}
	return name, name != ""
}
