package shell

import "strings"

// sourceFile follows source and ".": the file of a virtual environment, or of the Rust and uv installers, is taken at its
// word (see the package comment); every other file is refused. The command itself is listed already.
func (w *walker) sourceFile(args []Word, source string, st *state) {
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 || !w.activates(&args[0], len(args), st) {
		w.fail(Source, "the commands stand in a file; run it as a program, or write them out", source)
		return
	}
	st.flags |= sourced
	for _, name := range [...]string{"PATH", "PS1", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PYTHONHOME", "CONDA_PREFIX",
		"CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL", "CONDA_EXE", "CONDA_PYTHON_EXE"} {
		st.bind(w, binding{name: name, val: Word{Text: "$" + name}, unset: perhaps, export: perhaps})
	}
}

// activates reports whether file, the first of n words, is surely one that sets up an environment.
func (w *walker) activates(file *Word, n int, st *state) bool {
	switch file.State {
	case Exact:
		return !file.Splits && (activation(file.Text) || file.Text == "activate" && n > 1)
	case Several:
		for _, v := range file.Values {
			if !activation(v) {
				return false
			}
		}
		return !file.Splits
	case Unknown:
		if !activation(file.Text) {
			return false
		}
		return !file.Splits || w.underHome(file.Text, st)
	}
	return false
}

// activation reports whether the path is that of a file which sets up an environment, to judge by its name.
func activation(path string) bool {
	for _, end := range [...]string{"bin/activate", ".cargo/env", ".local/bin/env"} {
		if rest, ok := strings.CutSuffix(path, end); ok && (rest == "" || rest[len(rest)-1] == '/') {
			return true
		}
	}
	return false
}

// underHome reports whether the text begins with $HOME, which is not split into words where it is what it was at the start.
func (w *walker) underHome(text string, st *state) bool {
	rest, ok := strings.CutPrefix(text, "$HOME/")
	if !ok {
		rest, ok = strings.CutPrefix(text, "${HOME}/")
	}
	return ok && st.ifs == ifsDefault && st.find(w, "HOME") == nil && !strings.ContainsAny(rest, "$`*?[{")
}
