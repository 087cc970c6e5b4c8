package gate

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
	"gatehouse/gate/shell"
)

// paths judges every effect on files, in the order of the line.
func (j *judge) paths() {
	for i := range j.calls {
		c := &j.calls[i]
		if !c.Meta.Remote {
			for n := range c.Effects {
				if j.over(1) {
					return
				}
				j.effect(i, &c.Effects[n])
			}
			j.lands(i)
			j.hidden(i)
			j.doors(i)
			j.asked(i)
			j.literals(i)
		}
		j.made.note(c)
	}
}

// effect judges one effect.
func (j *judge) effect(i int, e *call.Effect) {
	if e.Remote || !onFile(e) || j.scriptText(i, e) {
		return
	}
	switch {
	case e.Sure == call.Unknown:
		j.unplaced(i, e)
	case e.Pattern && j.patternClimbs(i):
		j.unplaced(i, e)
	case e.Pattern:
		found, ok := j.view.glob(e.Path, j.globs)
		if !ok {
			j.add(Reason{Stage: StagePaths, Call: i, Text: "the pattern matches more files than the gate looks at", Hint: "name a smaller directory"})
			return
		}
		if len(found) == 0 {
			j.missing(i, e, unescape(e.Path))
		}
		for _, p := range found {
			j.at(i, e, p)
		}
	default:
		p, tree := strings.CutSuffix(e.Path, "/...") // packages of Go
		if tree {
			all := *e
			all.Tree = true
			e = &all
		}
		j.at(i, e, p)
		if up := j.upward(i, e, p); up != "" {
			j.at(i, e, up)
		}
	}
}

// onFile reports whether an effect is one on a file, or may be.
func onFile(e *call.Effect) bool {
	switch e.Kind {
	case call.Read, call.Write, call.Append, call.Delete, call.Chdir:
		return true
	case call.Any, call.Run, call.Code:
		return e.Path != ""
	}
	return false
}

func writes(k call.EffectKind) bool { return k == call.Write || k == call.Append || k == call.Delete }

// scriptText reports whether an effect on a file is the text behind sh -c, which is followed as a script of its own.
func (j *judge) scriptText(i int, e *call.Effect) bool {
	c := &j.calls[i]
	if e.Kind != call.Code || e.Path == "" || c.Form == nil {
		return false
	}
	switch path.Base(c.Argv[0]) {
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "rbash", "su":
		for n := range c.Form.Parts {
			if part := &c.Form.Parts[n]; part.Role == call.Flag && slices.Contains(part.Names, "-c") {
				return true
			}
		}
	}
	return false
}

// wraps reports whether the call runs the next one.
func (j *judge) wraps(i int) bool {
	return i+1 < len(j.calls) && j.calls[i+1].Meta.Wrapper != "" && j.calls[i+1].Meta.Depth > j.calls[i].Meta.Depth
}

// at judges an effect on one path, by its name and by where it leads.
func (j *judge) at(i int, e *call.Effect, p string) {
	if p == "" || p[0] != '/' || stream(p) {
		return
	}
	s := j.view.at(p)
	if s.lost {
		j.add(Reason{Stage: StagePaths, Call: i, Rule: p, Text: fmt.Sprintf("where %s leads cannot be told", j.show(p)), Hint: "name the file itself"})
		return
	}
	exists := j.there(p)
	perhaps := e.Kind == call.Any || e.Sure != call.Sure && !e.Pattern
	for _, place := range j.places(p) {
		if stream(place) {
			return
		}
		if pattern := j.p.Paths.Deny.Match(place, j.ground.place); pattern != nil {
			j.add(Reason{Stage: StagePaths, Call: i, Rule: pattern.Text, At: pattern.At,
				Text: fmt.Sprintf("%s is among the paths that no call may touch%s", j.show(place), via(p, place))})
			return
		}
		if pattern := j.into(i, e, place); pattern != nil {
			j.add(Reason{Stage: StagePaths, Call: i, Rule: pattern.Text, At: pattern.At,
				Text: fmt.Sprintf("what is in %s is among the paths that no call may touch%s", j.show(place), via(p, place))})
			return
		}
		if perhaps && !s.exists {
			j.fresh(i, e, p, place)
			continue // a word that is no file
		}
		if !j.ground.inside(place) && (e.Kind != call.Run || !system(place)) {
			j.outside(i, p, place)
			return
		}
		if pattern := j.p.Paths.ReadOnly.Match(place, j.ground.place); pattern != nil {
			r := Reason{Stage: StagePaths, Call: i, Rule: pattern.Text, At: pattern.At,
				Text: fmt.Sprintf("%s may be read, and this writes it%s", j.show(place), via(p, place))}
			switch {
			case writes(e.Kind):
				j.add(r)
				return
			case e.Kind == call.Any:
				r.Text = fmt.Sprintf("%s may be read, and what %s does with it is not known", j.show(place), j.name(i))
				j.dynamic(r)
				return
			}
		}
		if writes(e.Kind) && e.Kind != call.Delete && j.isOutput(i, e) && !j.mayPut(place, s.exists) {
			j.notPut(i, e, place)
			return
		}
	}
	switch {
	case e.Tree && (exists || e.Sure == call.Sure):
		j.tree(i, e, s.real, nil)
	case !exists && !perhaps:
		j.missing(i, e, p)
	}
	if e.Kind == call.Chdir && s.exists && !s.dir && e.Sure == call.Sure {
		j.add(Reason{Stage: StagePaths, Call: i, Rule: p, Text: fmt.Sprintf("%s is no directory", j.show(p))})
	}
}

// fresh refuses a new file where the policy lets files only be read: cp a migrations makes one in there.
func (j *judge) fresh(i int, e *call.Effect, p, place string) {
	if !writes(e.Kind) || e.Sure != call.Maybe || gitCall(&j.calls[i]) {
		return
	}
	if pattern := j.p.Paths.ReadOnly.Match(place, j.ground.place); pattern != nil {
		j.add(Reason{Stage: StagePaths, Call: i, Rule: pattern.Text, At: pattern.At,
			Text: fmt.Sprintf("%s may be read, and this writes it%s", j.show(place), via(p, place))})
	}
}

// into returns the pattern that denies every file of a directory which a call writes into, or works on in any way but that
// of asking for names; nil if there is none.
func (j *judge) into(i int, e *call.Effect, dir string) *policy.Pattern {
	c := &j.calls[i]
	switch is := j.view.at(dir).dir; {
	case e.Tree && e.Kind != call.Write, !is && (!writes(e.Kind) || strings.HasPrefix(e.Arg, "redirect") || c.Name == "mkdir"):
		return nil
	case !writes(e.Kind) && (namesOnly(c) || slices.Contains([]string{"cd", "pushd", "test", "file", "realpath", "readlink"}, c.Name)):
		return nil
	}
	return j.p.Paths.Deny.Match(dir+"/\x00", j.ground.place)
}

// there reports whether something is at a path by now.
func (j *judge) there(p string) bool {
	return j.view.at(p).exists || j.made.has(p) || j.linked != nil && j.linked.at(p).exists
}

// places are what a path names: itself, where it leads on this disk, and where a link leads that the line makes.
func (j *judge) places(p string) []string {
	places := []string{p}
	if real := j.view.at(p).real; real != p {
		places = append(places, real)
	}
	if j.linked != nil {
		if real := j.linked.at(p).real; !slices.Contains(places, real) {
			places = append(places, real)
		}
	}
	return places
}

// system reports whether a path is where programs are installed for all users.
func system(p string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/opt", "/nix", "/snap"} {
		if below(p, dir) {
			return true
		}
	}
	return false
}

// via says that a path leads to another, where it does.
func via(p, place string) string {
	if p == place {
		return ""
	}
	return fmt.Sprintf(" (%s leads there)", p)
}

// show is a path as people write it: relative to the working directory where it is below.
func (j *judge) show(p string) string {
	if below(p, j.cwd) && j.cwd != "/" {
		return p[len(j.cwd)+1:]
	}
	return p
}

func (j *judge) outside(i int, p, place string) {
	r := Reason{Stage: StagePaths, Call: i, Rule: "root", At: j.keyAt("paths.root")}
	if j.ground.why != "" {
		r.Text = fmt.Sprintf("%s is a file, and no files may be touched here: %s", j.show(place), j.ground.why)
		r.Hint = "work in a directory that is a git repository, or a person can set paths.root"
	} else {
		r.Text = fmt.Sprintf("%s is outside of %s%s", place, j.ground.shown, via(p, place))
		r.Hint = "stay below that directory"
	}
	j.add(r)
}

// mayPut reports whether a redirection or an output option may write to a path.
func (j *judge) mayPut(p string, exists bool) bool {
	if j.p.Paths.Redirects.Match(p, j.ground.place) != nil {
		return true
	}
	return !exists && j.p.Paths.Create.Match(p, j.ground.place) != nil
}

func (j *judge) notPut(i int, e *call.Effect, p string) {
	r := Reason{Stage: StagePaths, Call: i, Rule: "redirects", At: j.keyAt("paths.redirects")}
	if strings.HasPrefix(e.Arg, "redirect") {
		r.Text = fmt.Sprintf("the redirection to %s is not among those that the policy lets write", j.show(p))
	} else {
		r.Text = fmt.Sprintf("%s writes %s here, which is not among what the policy lets output be written to", j.name(i), j.show(p))
	}
	r.Hint = "leave the output where it is, or a person can list the file under paths.redirects"
	j.add(r)
}

// isOutput reports whether an effect is what a redirection does, or an option of a program that exists to read.
func (j *judge) isOutput(i int, e *call.Effect) bool {
	if strings.HasPrefix(e.Arg, "redirect") || e.Arg == "overwrite_to" {
		return true
	}
	c := &j.calls[i]
	if c.Form == nil || len(c.Form.Path) == 0 || e.Arg == "" || existsToWrite(c.Form.Path[0]) {
		return false
	}
	switch {
	case e.Arg == "script", e.Arg == "expression", e.Arg == "program", e.Arg == "output" && c.Name == "curl": // also curl -O
		return true
	case c.Form.Path[0] == "sed", c.Form.Path[0] == "perl":
		return e.Arg != "paths" || !j.p.Names(c, "-i", j.host) // an entry "sed -i" is for this
	}
	for n := range c.Form.Parts {
		part := &c.Form.Parts[n]
		if part.Role == call.Flag && part.HasValue && part.Value != "" && strings.HasSuffix(e.Path, "/"+strings.TrimPrefix(path.Clean("/"+part.Value), "/")) {
			return true
		}
	}
	return false
}

// existsToWrite reports whether a program's output options are what it is there for.
func existsToWrite(name string) bool {
	switch name {
	case "tar", "bsdtar", "zip", "unzip", "7z", "ar", "cpio", "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "strip", "go", "rustc",
		"cargo", "javac", "jar", "kotlinc", "mvn", "gradle", "dotnet", "tsc", "cmake", "meson",
		"dd", "cp", "mv", "ln", "install", "touch", "tee", "mkdir", "rm", "rmdir", "split", "csplit", "mktemp", "patch", "ffmpeg", "convert",
		"magick", "pandoc", "protoc", "docker", "podman", "pip", "uv", "npm", "yarn", "pnpm", "openssl", "ssh-keygen",
		"gzip", "xz", "zstd", "bzip2", "lz4", "brotli":
		return true
	}
	return false
}

// upward is where a word with two dots in it leads on this disk, if that is not where it seems to: .. after a link is the
// parent of what the link leads to. "" if it is the same.
func (j *judge) upward(i int, e *call.Effect, p string) string {
	c := &j.commands[i]
	if c.Name() == "cd" || c.Name() == "pushd" {
		return "" // these go back along the names
	}
	if j.climbsAt != i || !j.climbs {
		if j.climbsAt == i {
			return ""
		}
		j.climbsAt, j.climbs = i, false
		for n := range c.Words {
			j.climbs = j.climbs || strings.Contains(c.Words[n].Text, "..")
		}
		for n := range c.Redirects {
			j.climbs = j.climbs || strings.Contains(c.Redirects[n].Target.Text, "..")
		}
		if !j.climbs {
			return ""
		}
	}
	if j.over(len(c.Words)) {
		return ""
	}
	last := ""
	for n := range c.Words {
		text := c.Words[n].Text
		if text == last {
			continue
		}
		if up := j.climb(i, text, p); up != "" {
			return up
		}
		last = text
	}
	for n := range c.Redirects {
		if up := j.climb(i, c.Redirects[n].Target.Text, p); up != "" {
			return up
		}
	}
	return ""
}

// patternClimbs reports whether two dots stand behind a name in a word with a glob: what that matches may be a link, and
// the parent of what it leads to another directory.
func (j *judge) patternClimbs(i int) bool {
	c := &j.commands[i]
	inside := func(w *shell.Word) bool {
		if w.State == shell.Exact || !strings.Contains(w.Text, "/..") {
			return false
		}
		text := w.Text
		for strings.HasPrefix(text, "../") || strings.HasPrefix(text, "./") {
			_, text, _ = strings.Cut(text, "/")
		}
		return strings.Contains(text, "/../") || strings.HasSuffix(text, "/..")
	}
	for n := range c.Words {
		if inside(&c.Words[n]) {
			return true
		}
	}
	for n := range c.Redirects {
		if inside(&c.Redirects[n].Target) {
			return true
		}
	}
	return false
}

// climb is where a word that seems to name the path p leads.
func (j *judge) climb(i int, text, p string) string {
	if !strings.Contains(text, "..") {
		return ""
	}
	dir := &j.commands[i].Dir
	bases := append([]string{dir.Path}, dir.Others...)
	for n := range j.calls[i].Effects {
		if e := &j.calls[i].Effects[n]; e.Kind == call.Chdir && e.Sure != call.Unknown && !e.Pattern {
			bases = append(bases, e.Path)
		}
	}
	for text := range climbing(text) {
		for _, base := range bases {
			if base == "" || base[0] != '/' {
				continue
			}
			seems := path.Clean(text)
			if !path.IsAbs(seems) {
				seems = path.Join(base, text)
			}
			if seems != p {
				continue
			}
			if s := j.view.follow(j.view.at(base).real, text); s.real != j.view.at(p).real {
				return s.real
			}
		}
	}
	return ""
}

// climbing lists the texts in a word that can be a path with two dots in it: the word, what is glued to an option, and what
// stands between the signs that programs set paths apart with (of=PATH, @PATH, a script of sed).
func climbing(word string) iter.Seq[string] {
	const apart = "=@:,;<>\"'{} \t\n"
	return func(yield func(string) bool) {
		if !yield(word) || strings.HasSuffix(word, "/...") && !yield(strings.TrimSuffix(word, "/...")) {
			return
		}
		for n := 2; n < min(len(word), 8) && word[0] == '-' && word[1] != '-'; n++ {
			if !yield(word[n:]) {
				return
			}
		}
		for from := 0; from < len(word); {
			end := strings.IndexAny(word[from:], apart)
			if end < 0 {
				end = len(word) - from
			}
			piece := word[from : from+end]
			if from+end < len(word) && strings.Contains(word[from:], "..") && from > 0 && !yield(word[from:]) {
				return
			}
			if piece != word && strings.Contains(piece, "..") && !yield(piece) {
				return
			}
			from += end + 1
		}
	}
}

// asked notes the files that a test asks for: what follows on the line knows whether they are there.
func (j *judge) asked(i int) {
	c := &j.commands[i]
	if c.Name() != "test" {
		return
	}
	for n := 1; n < len(c.Words); n++ {
		w := &c.Words[n]
		if w.State != shell.Exact || w.Text == "" || w.Text[0] == '-' || c.Dir.Path == "" {
			continue
		}
		p := path.Clean(w.Text)
		if !path.IsAbs(p) {
			p = path.Join(c.Dir.Path, p)
		}
		if j.made.paths == nil {
			j.made.paths = make(map[string]bool)
		}
		j.made.paths[p] = true
	}
}

// dashed reports whether a glob on the line can match a file whose name begins with a dash.
func (j *judge) dashed(c *call.Call, n int) bool {
	i := c.Meta.Index
	if i >= len(j.commands) || n >= len(j.commands[i].Words) {
		return true
	}
	w := &j.commands[i].Words[n]
	if w.State != shell.Pattern || len(w.Values) == 0 || w.Splits {
		return true
	}
	pattern := w.Values[0]
	if first := pattern[0]; first != '*' && first != '?' && first != '[' && first != '-' && first != '@' && first != '+' && first != '!' {
		return false
	}
	dir := &j.commands[i].Dir
	if !dir.Exact() {
		return true
	}
	found, ok := j.view.glob(path.Join(dir.Path, "/")+"/"+pattern, j.globs)
	if !ok {
		return true
	}
	for _, p := range found {
		rest, _ := strings.CutPrefix(p, dir.Path)
		if strings.HasPrefix(strings.TrimPrefix(rest, "/"), "-") {
			return true
		}
	}
	return j.made.anything
}

func unescape(pattern string) string {
	if !strings.Contains(pattern, `\`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// limits reports whether the policy bounds what a call may do to files in some way that matters for an effect.
func (j *judge) limits(i int, e *call.Effect) bool {
	paths := &j.p.Paths
	switch {
	case !j.ground.everywhere() || len(paths.Deny) > 0:
		return true
	case writes(e.Kind):
		return len(paths.ReadOnly) > 0 || j.isOutput(i, e) && paths.Redirects.Match("/any/file", policy.Place{}) == nil
	}
	return false
}
