package policy

import (
	"path"
	"strings"

	"gatehouse/internal/document"
)

// Paths say which files may be touched.
type Paths struct {
	Root           Root
	Roots          []string // absolute and clean, where Root is Absolute
	Within         Pattern  // the directory that a project must lie below
	Deny           Patterns // neither read nor written
	ReadOnly       Patterns // read, but not written
	Redirects      Patterns // where redirections and the output options of reading programs may write
	Create         Patterns // new files where Redirects does not reach
	ReadsMustExist bool
}

// A Root says which directory bounds the files of a line.
type Root uint8

// The values of paths.root.
const (
	Project  Root = iota // the nearest directory with a .git, within Within
	Cwd                  // the working directory
	Absolute             // Roots
)

// A Place is where ${PROJECT} and ${HOME} are, absolute and clean; "" where it is not known.
type Place struct{ Project, Home string }

func (r *reader) paths(v document.Value, to *Paths, all bool) {
	fields := []document.Field{
		document.May("deny", r.patterns(&to.Deny, false)),
		document.May("read_only", r.patterns(&to.ReadOnly, false)),
		document.May("redirects", r.patterns(&to.Redirects, true)),
		document.May("create", r.patterns(&to.Create, true)),
	}
	if all {
		fields = append(fields,
			document.May("root", r.root),
			document.May("within", r.within),
			document.May("reads_must_exist", r.bool(&to.ReadsMustExist)))
	}
	v.Mapping(fields)
}

func (r *reader) root(v document.Value) {
	to := &r.p.Paths
	r.texts(func(v document.Value, text string) {
		switch {
		case text == "project" || text == "cwd":
			to.Root = Project
			if text == "cwd" {
				to.Root = Cwd
			}
			if len(to.Roots) > 0 || v.Key != "paths.root" {
				v.Bad("%q stands alone, not in a list", text)
			}
		case path.IsAbs(text):
			to.Root = Absolute
			to.Roots = append(to.Roots, path.Clean(text))
		default:
			v.Bad("must be project, cwd or absolute paths, not %q", text)
		}
	})(v)
	if v.Node.Kind != yamlScalar && len(v.Node.Content) == 0 {
		v.Bad("must not be empty")
	}
}

func (r *reader) within(v document.Value) {
	text, ok := v.Text()
	if !ok {
		return
	}
	if rest, home := strings.CutPrefix(text, "${HOME}"); !(path.IsAbs(text) || home && (rest == "" || rest[0] == '/')) {
		v.Bad("must be an absolute path or begin with ${HOME}")
	}
	r.p.Paths.Within = Pattern{Text: text, At: r.at(v)}
}

func (r *reader) patterns(to *Patterns, permits bool) func(document.Value) {
	return func(v document.Value) {
		*to = nil
		r.texts(func(v document.Value, text string) {
			if why := wrong(text); why != "" {
				v.Bad("%q %s", text, why)
				return
			}
			*to = append(*to, Pattern{text, r.at(v), permits})
		})(v)
	}
}

// Expand returns the directory that the pattern is, clean, with ${HOME} replaced; "" where that is not known.
func (p Pattern) Expand(at Place) string {
	rest, home := strings.CutPrefix(p.Text, "${HOME}")
	if home && at.Home == "" {
		return ""
	}
	if home {
		return path.Clean(at.Home + rest)
	}
	return path.Clean(p.Text)
}
