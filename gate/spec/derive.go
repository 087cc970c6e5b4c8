package spec

import (
	"path"
	"strings"

	"gatehouse/gate/call"
)

// derived lists the effects that no table can say, and appends the arguments that come of them. It reports whether any
// path may be touched.
func (t *translator) derived(args call.Args) (_ call.Args, anyPath bool) {
	for i := range t.p.top().derive {
		d := &t.p.top().derive[i]
		if !t.p.holds(d) {
			continue
		}
		switch d.rule {
		case deriveURLBasename:
			args = t.urlBasename(args)
		case deriveCloneDir:
			t.cloneDir()
		case deriveArchive:
			t.archive()
		case derivePatch:
			var unread bool
			args, unread = t.patch(args)
			anyPath = anyPath || unread
		case deriveIntoDirectory:
			t.intoDirectory()
		case deriveScript:
			t.script()
		case deriveReplace:
			t.replace()
		case deriveCwdTree:
			t.cwdTree()
		case deriveSetting:
			t.setting()
		case deriveVimCommand:
			t.vimCommand()
		}
	}
	return args, anyPath
}

// words calls yield for each word that a positional argument got.
func (t *translator) words(name string, yield func(word int32, text string)) {
	n := t.p.top()
	for _, b := range t.bounds {
		if n.operands[b.operand].name != name {
			continue
		}
		for _, op := range t.p.ops[b.from:b.to] {
			yield(op.word, t.p.words[op.word].Text)
		}
	}
}

// lastHit returns the last occurrence of the option with that dest that has a value.
func (t *translator) lastHit(dest string) *hit {
	for i := len(t.p.hits) - 1; i >= 0; i-- {
		h := &t.p.hits[i]
		if h.has && t.p.optionOf(h).dest == dest {
			return h
		}
	}
	return nil
}

// made lists a write of a file whose name the command makes up itself, in one of the directories from.
func (t *translator) made(kinds mask, from dirs, name string, e call.Effect) {
	e.Remote = t.places.remote
	if e.Remote || name == "" {
		e.Path, e.Sure = name, call.Unknown
		t.each(kinds, e)
		return
	}
	t.at(kinds, name, &from, e)
}

// into returns the directory that an option names, or the current one.
func (t *translator) into(dest string) dirs {
	h := t.lastHit(dest)
	if h == nil {
		return t.places.now
	}
	if t.runTime(h.word) {
		return dirs{unsure: true}
	}
	return t.join(t.places.now, h)
}

// urlBasename is curl -O and wget: a file is named like the last part of the URL.
func (t *translator) urlBasename(args call.Args) call.Args {
	p := &t.p
	curl := hasOption(p.top(), "remote_name")
	if curl && !p.given("remote_name") && !p.given("remote_name_all") || t.lastHit("output") != nil && curl ||
		t.lastHit("output_document") != nil || p.given("spider") {
		return args
	}
	dir := t.into("output_dir")
	if !curl {
		dir = t.into("directory_prefix")
	}
	var output []string
	sure := call.Sure
	if p.given("remote_header_name") || p.given("content_disposition") || !curl {
		sure = call.Maybe // a header, or a file that is there, may change the name
	}
	t.words("urls", func(word int32, text string) {
		if t.runTime(word) {
			t.made(maskWrite, dir, "", call.Effect{Arg: "output"})
			t.vague("output")
			return
		}
		text, _, _ = strings.Cut(text, "?")
		text, _, _ = strings.Cut(text, "#")
		if _, after, ok := strings.Cut(text, "://"); ok {
			text = after
		}
		name := ""
		if slash := strings.LastIndexByte(text, '/'); slash >= 0 {
			name = text[slash+1:]
		}
		if name == "" {
			if curl {
				return // curl refuses
			}
			name = "index.html"
		}
		t.made(maskWrite, dir, name, call.Effect{Arg: "output", Sure: sure})
		if dir.first != "" {
			name = join(dir.first, name)
		}
		output = append(output, name)
	})
	if curl && len(output) > 0 {
		args = append(args, call.Arg{Name: "output", Value: output})
	}
	return args
}

func hasOption(n *node, dest string) bool {
	for i := range n.options {
		if n.options[i].dest == dest {
			return true
		}
	}
	return false
}

// cloneDir is git clone without a directory: it is named like the repository.
func (t *translator) cloneDir() {
	named := false
	t.words("directory", func(int32, string) { named = true })
	if named {
		return
	}
	t.words("repository", func(word int32, text string) {
		if t.runTime(word) {
			t.made(maskWrite, t.places.now, "", call.Effect{Tree: true})
			return
		}
		text = strings.TrimSuffix(strings.TrimRight(text, "/"), "/.git")
		text = text[strings.LastIndexAny(text, "/:")+1:]
		t.made(maskWrite, t.places.now, strings.TrimSuffix(text, ".git"), call.Effect{Tree: true, Sure: call.Sure})
	})
}

// archive is what unpacks: names from inside the archive, below a directory.
func (t *translator) archive() {
	p := &t.p
	n := p.top()
	if p.given("list") || p.given("test") || p.given("to_stdout") || hasOption(n, "extract") && !p.given("extract") {
		return
	}
	if h := t.lastHit("directory"); h != nil && p.effectsOf(&p.optionOf(h).place)&maskWrite != 0 {
		return // its own table says so
	}
	members := false
	t.words("paths", func(int32, string) { members = true })
	if members && !p.givenAny([]string{"transform", "strip_components", "one_top_level", "wildcards", "absolute_names"}) {
		return // those that are named, and no others
	}
	t.made(maskWrite, t.places.now, ".", call.Effect{Tree: true, Sure: call.Sure})
}

// intoDirectory is cp, mv, ln and install: the destination may be a directory that the sources go into.
func (t *translator) intoDirectory() {
	p := &t.p
	tree := p.given("recursive") || p.given("archive") || p.top().tool == "mv"
	type source struct {
		word int32
		text string
	}
	var sources []source
	for _, name := range []string{"sources", "source"} {
		t.words(name, func(word int32, text string) { sources = append(sources, source{word, text}) })
	}
	target := int32(0)
	t.words("destination", func(word int32, _ string) { target = word })
	if target == 0 {
		t.words("paths", func(word int32, text string) { sources = append(sources, source{word, text}) })
		if n := len(sources); n > 1 && t.lastHit("destination_dir") == nil {
			target = sources[n-1].word // ln
			sources = sources[:n-1]
			t.file(maskWrite, p.words[target].Text, target, &place{path: true}, "paths", false)
		}
	}
	into, sure := t.places.now, call.Sure
	switch h := t.lastHit("destination_dir"); {
	case h != nil:
		into = t.into("destination_dir")
	case target != 0:
		if p.given("no_target_directory") || isRemote(p.words[target].Text) {
			return
		}
		if t.runTime(target) {
			return // it is on the list already, as unknown
		}
		into, sure = t.join(t.places.now, &hit{word: target, value: p.words[target].Text}), call.Maybe
		if strings.HasSuffix(p.words[target].Text, "/") {
			sure = call.Sure
		}
	}
	for _, s := range sources {
		if t.runTime(s.word) {
			t.made(maskWrite, into, "", call.Effect{Tree: true})
			continue
		}
		name := path.Base(s.text[strings.LastIndexByte(s.text, ':')+1:])
		if name == "." || name == ".." || name == "/" {
			t.made(maskWrite, into, ".", call.Effect{Sure: call.Maybe, Tree: true})
			continue
		}
		t.made(maskWrite, into, name, call.Effect{Sure: sure, Tree: tree})
	}
}

// replace is gzip and its like: FILE becomes FILE.gz, and goes.
func (t *translator) replace() {
	p := &t.p
	if p.given("stdout") || p.given("list") || p.given("test") {
		return
	}
	suffix := ""
	switch p.top().tool {
	case "gzip", "pigz":
		suffix = ".gz"
	case "bzip2":
		suffix = ".bz2"
	case "xz":
		suffix = ".xz"
	case "zstd":
		suffix = ".zst"
	case "lz4":
		suffix = ".lz4"
	}
	if h := t.lastHit("suffix"); h != nil {
		suffix = h.value
	}
	if t.inOut() {
		return
	}
	tree := p.given("recursive")
	t.words("paths", func(word int32, text string) {
		tool := p.top().tool
		keeps := p.given("keep") || (tool == "zstd" || tool == "lz4") && !p.given("rm")
		if !keeps {
			t.file(maskDelete, text, word, &place{path: true}, "paths", tree)
		}
		switch {
		case t.runTime(word) || text == "-":
			t.made(maskWrite, t.places.now, "", call.Effect{Arg: "paths", Tree: tree})
		case !p.given("decompress"):
			t.made(maskWrite, t.places.now, text+suffix, call.Effect{Arg: "paths", Sure: call.Sure})
		case suffix != "" && strings.HasSuffix(text, suffix):
			t.made(maskWrite, t.places.now, strings.TrimSuffix(text, suffix), call.Effect{Arg: "paths", Sure: call.Sure})
		case strings.HasSuffix(text, ".tgz"):
			t.made(maskWrite, t.places.now, strings.TrimSuffix(text, "tgz")+"tar", call.Effect{Arg: "paths", Sure: call.Sure})
		default:
			t.made(maskWrite, t.places.now, "", call.Effect{Arg: "paths"})
		}
	})
}

// cwdTree is what works on everything below the directory that it runs in, unless operands say on what.
func (t *translator) cwdTree() {
	n := t.p.top()
	for _, b := range t.bounds {
		o := &n.operands[b.operand]
		if t.p.effectsOf(&o.place)&maskFile&^maskChdir != 0 && !o.maybe {
			return
		}
	}
	kinds := n.effects & maskFile
	if kinds == 0 {
		kinds = maskWrite
	}
	t.made(kinds, t.places.now, ".", call.Effect{Sure: call.Maybe, Tree: true})
}

// vimCommand is an editor whose commands can run others: :!rm x.
func (t *translator) vimCommand() {
	for i := range t.p.hits {
		h := &t.p.hits[i]
		if !h.has || t.p.optionOf(h).effects&maskCode == 0 {
			continue
		}
		if _, program, ok := strings.Cut(h.value, "!"); ok {
			sure := call.Sure
			if t.runTime(h.word) || strings.ContainsAny(program, "%#") {
				sure = call.Unknown
			}
			t.each(maskRun, call.Effect{Text: program, Arg: t.p.optionOf(h).dest, Sure: sure})
		}
	}
}

// inOut reports whether the command has two operands of which it reads the first and writes the second: uniq a b.
func (t *translator) inOut() bool {
	if !t.p.derives(deriveInOut) || t.p.given("multiple") {
		return false
	}
	count := 0
	t.words("paths", func(int32, string) { count++ })
	return count == 2
}

// setting is git config KEY VALUE: a program that later commands will run, or a file that they will read.
func (t *translator) setting() {
	var words []int32
	for _, op := range t.p.ops {
		words = append(words, op.word)
	}
	if len(words) > 0 && t.p.words[words[0]].Text == "set" {
		words = words[1:]
	}
	if len(words) < 2 {
		return
	}
	key, word := t.p.words[words[0]].Text, words[1]
	text := t.p.words[word].Text
	if t.runTime(word) {
		t.each(maskRun, call.Effect{Text: text, Arg: "value"})
		return
	}
	if kind, file := settingPath(key + "=" + text); file != "" {
		t.part(kind, file, word, &place{maybe: true, path: true}, "value", false)
	}
	if program, is := settingProgram(key + "=" + text); is {
		t.each(maskRun, call.Effect{Text: program, Arg: "value", Sure: call.Maybe})
	}
}
