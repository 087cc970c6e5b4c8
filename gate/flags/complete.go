package flags

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// complete asks the program for its flags in the way that shells do, where the program is known to have one. It returns
// the names, with = behind those that take a value.
func (a *asking) complete(m marks) ([]string, error) {
	switch {
	case a.program.complete != nil && len(a.sub) > 0:
		args := fill(a.program.complete, a.sub)
		out, err := a.run(a.ctx, append([]string{a.path}, args...))
		if err != nil || out.code != 0 {
			return nil, err
		}
		return a.completed(strings.Fields(string(out.stdout)), args), nil
	case m.cobra:
		args := append([]string{"__complete"}, a.sub...)
		out, err := a.run(a.ctx, append([]string{a.path}, append(args, "-")...))
		if err != nil || out.code != 0 || !strings.Contains(string(out.stdout), "\n:") {
			return nil, err
		}
		var names []string
		for line := range strings.Lines(string(out.stdout)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			names = append(names, name)
		}
		return a.completed(names, append(args, "-")), nil
	case m.argcomplete:
		line := strings.Join(append(append([]string{filepath.Base(a.path)}, a.sub...), "-"), " ")
		out, err := a.run(a.ctx, []string{a.path}, "_ARGCOMPLETE=1", "_ARGCOMPLETE_SHELL=bash", "_ARGCOMPLETE_SUPPRESS_SPACE=1",
			"_ARGCOMPLETE_IFS=\v", "_ARGCOMPLETE_COMP_WORDBREAKS=", "IFS=\v", "COMP_TYPE=9", "COMP_LINE="+line, "COMP_POINT="+strconv.Itoa(len(line)))
		if err != nil {
			return nil, err
		}
		return a.completed(strings.Split(string(out.extra), "\v"), []string{"(argcomplete)"}), nil
	}
	return nil, nil
}

// completed keeps what are flags.
func (a *asking) completed(names, args []string) (kept []string) {
	for _, name := range names {
		plain := strings.TrimSuffix(strings.TrimSpace(name), "=")
		if read, rest := readName(plain); len(read) == 1 && rest == "" && !slices.Contains(kept, name) {
			kept = append(kept, strings.TrimSpace(name))
		}
	}
	if len(kept) > 0 {
		a.sources = append(a.sources, call(filepath.Base(a.path), args))
	}
	return kept
}

// addCompleted adds the flags that the help does not have. What they take is not known, but for an equals sign.
func (a *asking) addCompleted(names []string) {
	for _, name := range names {
		f := Flag{Names: []string{strings.TrimSuffix(name, "=")}}
		if strings.HasSuffix(name, "=") {
			f.Value, f.Uncertain = Required, true
		}
		if a.found.Find(f.Names[0]) == nil {
			a.found.Flags = append(a.found.Flags, f)
		}
	}
}
