package rules

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"gatehouse/gate/call"
	"gatehouse/gate/ltl"
)

// Events returns the events that the calls of a line are, in their order. What a call runs elsewhere follows it.
//
// Beside the arguments of the spec an event has
//
//	prefix_env  the variables set for the command, NAME=value; env too, where the spec has no argument of that name
//	stdin       the text of a here-string
//	wrapper     the command that runs it
//	piped_from  the names of the calls before it in its pipeline
//	host_call   true for what runs elsewhere
//	argv        the words after the command, where the spec has no argument of that name
//
// The executable is a second name of its calls, so that "cargo" names each call of cargo.
func Events(calls []call.Call) []Event {
	events := make([]Event, 0, len(calls))
	for i := range calls {
		events = appendEvents(events, &calls[i], i)
		if p := calls[i].Meta.Pipeline; p != 0 {
			e := &events[len(events)-1-len(calls[i].Elsewhere)]
			var from []string
			for j := range i {
				if calls[j].Meta.Pipeline == p {
					from = append(from, calls[j].Name)
				}
			}
			if from != nil {
				e.Args["piped_from"] = from
			}
		}
	}
	return events
}

func appendEvents(events []Event, c *call.Call, index int) []Event {
	e := Event{Event: ltl.Of(*c), Call: index, Text: c.Meta.Source, Remote: c.Meta.Remote}
	if len(c.Argv) > 0 {
		e.Argv = c.Argv[1:]
		if name := toolName(path.Base(c.Argv[0])); name != e.Name && name != "" {
			e.Also = append(e.Also, name)
		}
	}
	e.Unknown = slices.DeleteFunc(e.Unknown, func(name string) bool { return placed(c, name) })
	if len(c.Meta.DynamicArgs) > 0 && !slices.Contains(e.Unknown, "argv") {
		e.Unknown = append(e.Unknown, "argv")
	}
	e.surround(&c.Meta)
	for _, f := range c.Effects {
		e.touches(f)
	}
	if all, _ := c.Args.Get("unknown_paths"); all == true { // operands that arrive at run time
		e.Files = append(e.Files, arriving(c))
	}
	events = append(events, e)
	for i := range c.Elsewhere {
		events = appendEvents(events, &c.Elsewhere[i], index)
	}
	return events
}

// placed reports whether the only thing that is not known of an argument is which files its patterns expand to: that is
// told by Files.
func placed(c *call.Call, arg string) bool {
	found := false
	for _, f := range c.Effects {
		if f.Arg == arg {
			if !f.Pattern {
				return false
			}
			found = true
		}
	}
	return found
}

// anyFile stands for the argument of files that may be named by any argument for paths.
const anyFile = "*"

// arriving is what a call touches whose operands only the run will tell.
func arriving(c *call.Call) Touch {
	t := Touch{Arg: anyFile, Unknown: true}
	for _, f := range c.Effects {
		if f.Path == "" {
			t.Reads = t.Reads || f.Kind == call.Read
			t.Writes = t.Writes || f.Kind == call.Write || f.Kind == call.Append || f.Kind == call.Delete
		}
	}
	return t
}

// names reports whether f may be named by that argument.
func (f *Touch) names(arg string) bool {
	if f.Arg != anyFile {
		return f.Arg == arg
	}
	switch arg {
	case "paths", "path", "file", "files", "directory", "source", "sources", "destination", "destination_dir", "of", "if",
		"archive", "input", "patchfile", "patches", "script", "script_file", "program_file", "output", "targets", "extra_args":
		return true
	default:
		return false
	}
}

func (e *Event) surround(m *call.Meta) {
	var env []string
	for _, v := range m.Env {
		switch {
		case v.Unset:
		case v.Dynamic:
			env = append(env, v.Name+"="+v.Value)
			e.Unknown = append(e.Unknown, "prefix_env")
		default:
			env = append(env, v.Name+"="+v.Value)
		}
	}
	if len(env) > 0 {
		e.Args["prefix_env"] = env
		if _, taken := e.Args["env"]; !taken {
			e.Args["env"] = env
		}
	}
	if m.Wrapper != "" {
		e.Args["wrapper"] = m.Wrapper
	}
	if m.Remote {
		e.Args["host_call"] = true
	}
	for _, r := range m.Redirects {
		if r.Op == "<<<" {
			e.Args["stdin"] = r.Target
		}
	}
}

func (e *Event) touches(f call.Effect) {
	switch f.Kind {
	case call.Any, call.Read, call.Write, call.Append, call.Delete, call.Run:
	default:
		return
	}
	if f.Remote || f.Path == "" && (f.Arg == "" || f.Text != "") {
		return
	}
	t := Touch{Arg: f.Arg, Path: f.Path, Pattern: f.Pattern, Tree: f.Tree, Sure: f.Sure == call.Sure}
	switch f.Kind {
	case call.Read, call.Run:
		t.Reads = true
	case call.Write, call.Append, call.Delete:
		t.Writes = true
	}
	t.Unknown = f.Sure == call.Unknown && !f.Pattern && (f.Path == "" || strings.ContainsAny(f.Path, "$`"))
	e.Files = append(e.Files, t)
	if f.Arg == "redirect_to" && f.Kind == call.Write && slices.Contains(texts(e.Args["overwrite_to"]), f.Path) {
		t.Arg = "overwrite_to"
		e.Files = append(e.Files, t)
	}
}

// Tool returns the event that a call of a client's own tool is. It goes by the client's name and by that of Claude Code,
// whose names rule files use; arguments that have another name there are found under both. Where two arguments with one
// name there differ, nobody can tell which of them the client takes: that name's value is not known.
func Tool(name string, args map[string]any, cwd string) Event {
	e := Event{Event: ltl.Event{Name: name, Args: make(map[string]any, len(args)+1)}}
	for k, v := range args {
		e.Args[k] = v
	}
	if common, ok := commonTool(name); ok && common != name {
		e.Also = []string{common}
	}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		common := commonArg(k)
		had, taken := e.Args[common]
		switch {
		case common == k:
		case !taken:
			e.Args[common] = args[k]
		case !reflect.DeepEqual(had, args[k]) && !slices.Contains(e.Unknown, common):
			e.Unknown = append(e.Unknown, common)
			if common == "file_path" {
				e.Files = append(e.Files, Touch{Arg: common, Unknown: true})
			}
		}
	}
	for _, k := range []string{"file_path", "notebook_path", "path", "paths", "file", "files", "directory", "source", "destination"} {
		for _, text := range texts(e.Args[k]) {
			if text == "" || strings.Contains(text, "://") {
				continue
			}
			if !path.IsAbs(text) {
				if cwd == "" {
					e.Files = append(e.Files, Touch{Arg: k, Path: text, Unknown: true})
					continue
				}
				text = path.Join(cwd, text)
			}
			e.Files = append(e.Files, Touch{Arg: k, Path: path.Clean(text), Sure: true, Tree: k == "path" && treeTool(&e)})
		}
	}
	for i := range e.Files {
		e.Files[i].Reads = e.goesBy("Read") || e.goesBy("Grep") || e.goesBy("Glob") || e.goesBy("LS")
		e.Files[i].Writes = e.goesBy("Write") || e.goesBy("Edit") || e.goesBy("MultiEdit") || e.goesBy("NotebookEdit")
	}
	e.Text = name
	if len(e.Files) > 0 {
		e.Text += " " + e.Files[0].Path
	}
	return e
}

// treeTool reports whether a client's tool works on all files below its path.
func treeTool(e *Event) bool { return e.goesBy("Grep") }

// certain is e as it is if it ran.
func (e *Event) certain() *Event {
	if !e.Doubt {
		return e
	}
	ran := *e
	ran.Doubt = false
	return &ran
}

// goesBy reports whether name is one of the names of e.
func (e *Event) goesBy(name string) bool { return e.Name == name || slices.Contains(e.Also, name) }

// commonTool returns the name that Claude Code has for the tool of another client.
func commonTool(name string) (string, bool) {
	switch name {
	case "bash", "shell", "exec", "local_shell", "exec_command", "run_shell_command", "run_terminal_cmd", "Shell", "run_command":
		return "Bash", true
	case "create", "write", "write_file", "create_file", "write_to_file", "fs_write":
		return "Write", true
	case "edit", "replace", "edit_file", "str_replace", "search_replace", "str_replace_editor", "apply_diff", "apply_patch", "patch",
		"StrReplace", "TabWrite", "Delete", "delete_file", "replace_string_in_file", "multi_replace_string_in_file",
		"insert_edit_into_file", "editFiles":
		return "Edit", true
	case "multiedit", "multi_edit":
		return "MultiEdit", true
	case "edit_notebook", "notebook_edit":
		return "NotebookEdit", true
	case "view", "read", "read_file", "view_image", "read_many_files", "fs_read":
		return "Read", true
	case "glob", "file_search", "find_files":
		return "Glob", true
	case "grep", "search_file_content", "grep_search", "codebase_search":
		return "Grep", true
	case "task", "spawn_agent", "agent":
		return "Task", true
	case "web_fetch", "webfetch", "fetch":
		return "WebFetch", true
	case "web_search", "websearch", "google_web_search":
		return "WebSearch", true
	case "list", "ls", "list_dir", "list_directory":
		return "LS", true
	default:
		return "", false
	}
}

// commonArg returns the name that Claude Code has for the argument of a client's tool.
func commonArg(name string) string {
	switch name {
	case "path", "filePath", "filepath", "absolute_path", "target_file", "filename":
		return "file_path"
	case "file_text", "contents":
		return "content"
	case "old_str", "oldString":
		return "old_string"
	case "new_str", "newString":
		return "new_string"
	case "cmd":
		return "command"
	default:
		return name
	}
}

// toolName is the name of the calls of an executable: runs of other characters become one underscore.
func toolName(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}

// arg returns an argument, and whether it is there.
func (e *Event) arg(name string) (any, bool) {
	v, ok := e.Args[name]
	if !ok && name == "argv" && e.Argv != nil {
		return e.Argv, true
	}
	return v, ok
}

// unsure reports whether the argument can have a value, or another one, that is not known. To a target that is about any
// tool, a program that nobody knows has the arguments that are seen and no more; else it would refuse them all.
func (e *Event) unsure(name string, anyTool bool) bool {
	if slices.Contains(e.Unknown, name) || slices.ContainsFunc(e.Files, func(f Touch) bool { return f.Arg == anyFile && f.names(name) }) {
		return true
	}
	switch name {
	case "redirect_to", "overwrite_to", "redirect_from", "prefix_env", "env", "stdin", "wrapper", "piped_from", "host_call":
		// what the shell itself does is always known
		return false
	}
	if !e.Loose || name == "argv" && e.Argv != nil || anyTool && e.bare() {
		return false
	}
	v, ok := e.Args[name]
	return !ok || v == false
}

// bare reports whether no spec has named the arguments of e.
func (e *Event) bare() bool {
	for name := range e.Args {
		switch name {
		case "argv", "redirect_to", "overwrite_to", "redirect_from", "prefix_env", "env", "stdin", "wrapper", "piped_from",
			"host_call", "unknown_paths":
		default:
			return false
		}
	}
	return true
}

// texts returns all texts in v.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, texts(x)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, texts(v[k])...)
		}
		return all
	default:
		return nil
	}
}
