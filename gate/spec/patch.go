package spec

import (
	"slices"
	"strconv"
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
	if h := t.lastHit("directory"); h != nil && p.effectsOf(&p.optionOf(h).place)&maskChdir == 0 {
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
		content, known := t.content(word, text, from)
		if ok = ok && known; known {
			texts = append(texts, content)
		}
	}
	for _, dest := range []string{"input", "patchfile", "patches", "mailboxes"} {
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

// content is what a file holds, and whether that is known: nothing on the line changes it. The word that names it is 0
// where its text is known to be right.
func (t *translator) content(word int32, text string, from *dirs) (string, bool) {
	if from.unsure || len(from.others) > 0 || from.first == "" && !strings.HasPrefix(text, "/") || t.o.ReadFile == nil {
		return "", false
	}
	name := join(from.first, text)
	if word > 0 && t.runTime(word) || t.changed.touched(name) {
		return "", false
	}
	data, err := t.o.ReadFile(name)
	return string(data[:min(len(data), 2<<20)]), err == nil
}

// diffNames returns the names in the header lines of a diff, as they stand there.
func diffNames(diff string) (names []string) {
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if both, ok := strings.CutPrefix(line, "diff --git "); ok { // alone where only bits, modes or empty files change
			names = append(names, gitNames(both)...)
			continue
		}
		for _, head := range []string{"--- ", "+++ ", "*** ", "Index: ", "rename from ", "rename to ", "copy from ", "copy to "} {
			name, ok := strings.CutPrefix(line, head)
			if !ok {
				continue
			}
			name = strings.TrimLeft(name, " \t")
			if text, _, ok := quotedName(name); ok {
				name = text
			} else {
				name, _, _ = strings.Cut(name, "\t")
			}
			if head[0] == 'r' || head[0] == 'c' {
				name = "x/" + name // these come without the first component
			}
			if name != "/dev/null" && name != "" && !strings.HasSuffix(name, " ****") {
				names = append(names, name)
			}
		}
	}
	return names
}

// gitNames are the two names of a line diff --git a/X b/X.
func gitNames(text string) []string {
	if first, rest, ok := quotedName(text); ok {
		second, _, ok := quotedName(strings.TrimLeft(rest, " "))
		if !ok {
			second = strings.TrimLeft(rest, " ")
		}
		return []string{first, second}
	}
	if at := strings.IndexByte(text, '"'); at > 0 {
		second, _, _ := quotedName(text[at:])
		return []string{strings.TrimRight(text[:at], " "), second}
	}
	if half := len(text) / 2; len(text)%2 == 1 && text[half] == ' ' {
		return []string{text[:half], text[half+1:]}
	}
	return nil // two names, which stand below on lines of their own
}

// quotedName reads a name in quotes, as diff and git write names with special characters.
func quotedName(text string) (name, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", text, false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			n := 0
			for n < 3 && i+n < len(text) && text[i+n] >= '0' && text[i+n] <= '7' {
				n++
			}
			if code, err := strconv.ParseUint(text[i:i+n], 8, 8); n > 0 && err == nil {
				b.WriteByte(byte(code))
				i += n - 1
			} else if at := strings.IndexByte("abtnvfr", text[i]); at >= 0 {
				b.WriteByte("\a\b\t\n\v\f\r"[at])
			} else {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", text, false
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
