package gate

import (
	"fmt"
	"path"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/policy"
)

// chosen judges the files whose names a program makes out of its words: the backups of cp and its like, the pieces of split,
// the random names of mktemp.
func (j *judge) chosen(i int) {
	c := &j.calls[i]
	if c.Form == nil || len(c.Form.Path) == 0 {
		return
	}
	switch c.Form.Path[0] {
	case "cp", "mv", "ln", "install":
		j.backups(i, "-S", "--suffix", "-b", "--backup")
	case "patch":
		j.backups(i, "-z", "--suffix", "-b", "--backup")
		j.prefixed(i, "-B", "--prefix")
	case "rsync":
		j.backups(i, "", "--suffix", "-b", "--backup")
		for _, option := range []string{"--backup-dir", "--partial-dir", "--temp-dir"} {
			for _, g := range options(c, option) {
				j.fills(i, g.value)
			}
		}
	case "gzip", "xz", "lzma", "bzip2", "zstd":
		for _, option := range []string{"-S", "--suffix"} {
			for _, g := range options(c, option) {
				for _, o := range operands(c) {
					j.puts(i, o+g.value)
				}
			}
		}
	case "perl", "ruby":
		for _, w := range c.Argv[1:] {
			if at := strings.IndexByte(w, 'i'); at > 0 && w[0] == '-' && w[1] != '-' && strings.Trim(w[1:at], "0aclnpsSwW") == "" && at+1 < len(w) {
				for _, o := range operands(c) {
					if suffix := w[at+1:]; strings.Contains(suffix, "*") {
						j.puts(i, path.Join(path.Dir(o), strings.ReplaceAll(suffix, "*", path.Base(o))))
					} else {
						j.puts(i, o+suffix)
					}
				}
			}
		}
	case "split":
		j.pieces(i, "[a-z]", 2)
	case "csplit":
		j.pieces(i, "[0-9]", 2)
	case "mktemp":
		j.temporary(i)
	}
}

// operands lists the texts of the operands of a call that are known.
func operands(c *call.Call) (list []string) {
	for n := range c.Form.Parts {
		if part := &c.Form.Parts[n]; part.Role == call.Operand && !part.Dynamic {
			list = append(list, part.Value)
		}
	}
	return list
}

func (j *judge) absolute(i int, name string) string {
	if !path.IsAbs(name) {
		if j.commands[i].Dir.Path == "" {
			return ""
		}
		name = path.Join(j.commands[i].Dir.Path, name)
	}
	return path.Clean(name)
}

func (j *judge) puts(i int, name string) {
	if p := j.absolute(i, name); p != "" {
		j.at(i, &call.Effect{Kind: call.Write, Path: p, Sure: call.Sure}, p)
	}
}

// fills judges that files are put into a directory.
func (j *judge) fills(i int, dir string) { j.puts(i, dir+"/\x00") }

// backups judges what is kept of the files that a call overwrites: under their names with a suffix.
func (j *judge) backups(i int, short, long, keeps, keepsLong string) {
	c := &j.calls[i]
	var suffixes []string
	asked := hasOption(c, keeps) || hasOption(c, keepsLong)
	for _, option := range []string{short, long} {
		if option == "" {
			continue
		}
		for _, g := range options(c, option) {
			if !g.known {
				j.vague(i, fmt.Sprintf("the suffix %q is known only at run time, and so are the names of the backups", g.value))
				return
			}
			suffixes, asked = append(suffixes, g.value), true
		}
	}
	for _, v := range c.Meta.Env {
		if v.Name == "SIMPLE_BACKUP_SUFFIX" {
			suffixes = append(suffixes, v.Value)
		}
	}
	if !asked {
		return
	}
	suffixes = append(suffixes, "~", ".~1~", ".orig")
	paths := written(c)
	for _, p := range paths {
		for _, suffix := range suffixes {
			if strings.HasPrefix(p, "/") {
				name := path.Clean(p + suffix)
				j.at(i, &call.Effect{Kind: call.Write, Path: name, Sure: call.Sure}, name)
			}
		}
	}
}

// prefixed judges backups that are named by a prefix.
func (j *judge) prefixed(i int, short, long string) {
	for _, option := range []string{short, long} {
		for _, g := range options(&j.calls[i], option) {
			if p := j.absolute(i, g.value+"x"); p != "" {
				j.mayBecome(i, escape(strings.TrimSuffix(p, "x"))+"*")
			}
		}
	}
}

// pieces judges the files that split and csplit make: a prefix, some letters or digits, and perhaps a suffix.
func (j *judge) pieces(i int, sign string, count int) {
	c := &j.calls[i]
	prefix, suffix := "", ""
	value := func(names ...string) (last string) {
		for _, name := range names {
			for _, g := range options(c, name) {
				last = g.value
			}
		}
		return last
	}
	switch c.Form.Path[0] {
	case "split":
		prefix = "x"
		if o := operands(c); len(o) > 1 {
			prefix = o[1]
		}
		suffix = value("--additional-suffix")
		if hasOption(c, "-d") || hasOption(c, "--numeric-suffixes") {
			sign = "[0-9]"
		}
		if hasOption(c, "-x") || hasOption(c, "--hex-suffixes") {
			sign = "[0-9a-f]"
		}
		if n := value("-a", "--suffix-length"); len(n) == 1 && n[0] > '0' && n[0] <= '9' {
			count = int(n[0] - '0')
		}
	default:
		prefix = "xx"
		if p := value("-f", "--prefix"); p != "" {
			prefix = p
		}
		if n := value("-n", "--digits"); len(n) == 1 && n[0] > '0' && n[0] <= '9' {
			count = int(n[0] - '0')
		}
		if format := value("-b", "--suffix-format"); format != "" {
			from := strings.IndexByte(format, '%')
			to := strings.IndexAny(format[max(from, 0):], "diouxX")
			if from >= 0 && to > 0 {
				prefix, suffix, sign = prefix+format[:from], format[from+to+1:], "[0-9a-fA-F]"
				count = 1
			}
		}
	}
	p := j.absolute(i, prefix+"x")
	if p == "" {
		return
	}
	p = strings.TrimSuffix(p, "x")
	for n := count; n < count+4; n++ {
		if j.mayBecome(i, escape(p)+strings.Repeat(sign, n)+escape(suffix)) {
			return
		}
	}
}

// temporary judges the name that mktemp makes of a template, where one of the letters could make it a denied one.
func (j *judge) temporary(i int) {
	c := &j.calls[i]
	dir := ""
	for _, option := range []string{"-p", "--tmpdir"} {
		for _, g := range options(c, option) {
			dir = g.value
		}
	}
	suffix := ""
	for _, g := range options(c, "--suffix") {
		suffix = g.value
	}
	for _, o := range operands(c) {
		end := strings.LastIndexByte(o, 'X')
		if end < 0 || o == dir || hasOption(c, "-t") {
			continue
		}
		from := end
		for from > 0 && o[from-1] == 'X' {
			from--
		}
		if p := j.absolute(i, path.Join(dir, o[:from]+"x")); p != "" {
			j.mayBecome(i, escape(strings.TrimSuffix(p, "x"))+strings.Repeat("[0-9a-zA-Z]", end-from+1)+escape(o[end+1:]+suffix))
		}
	}
}

// mayBecome objects to names that a program makes, where a pattern of the policy matches one of those which it can make.
func (j *judge) mayBecome(i int, glob string) bool {
	for _, list := range []policy.Patterns{j.p.Paths.Deny, j.p.Paths.ReadOnly} {
		if hit := list.MayMatch(glob, j.ground.place); hit != nil {
			j.dynamic(Reason{Call: i, Rule: hit.Text, At: hit.At,
				Text: fmt.Sprintf("%s makes names of its own, and one of them can be %s", j.name(i), hit.Text), Hint: "choose names that cannot be taken for it"})
			return true
		}
	}
	return false
}

// escape is a text as a pattern that matches nothing but it.
func escape(text string) string {
	if !strings.ContainsAny(text, `*?[\(`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(`*?[\(`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
