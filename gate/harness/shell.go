package harness

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"gatehouse/gate"
)

// command is the line of a shell tool: a text, a vector, or a list of lines, under the names that clients have for it.
// What is none of these is refused: nobody knows what would run.
func command(input object) gate.Request {
	if input["command"] != nil && input["cmd"] != nil {
		return objected(tool("shell", input), "the call names two commands", "")
	}
	for _, key := range []string{"command", "cmd"} {
		switch v := input[key].(type) {
		case nil:
			continue
		case string:
			if strings.TrimSpace(v) == "" {
				return objected(tool("shell", input), "the command is empty", "")
			}
			return line(v, "")
		case []any:
			if argv := texts(v); len(argv) > 0 {
				return gate.Request{Argv: argv}
			}
		}
		return objected(tool("shell", input), "the command is not a text", "")
	}
	return objected(tool("shell", input), "the call names no command", "")
}

// shells are what clients call the tool that runs a line, in lower case and without what stands between words.
var shells = []string{
	"bash", "sh", "zsh", "shell", "terminal", "cmd", "exec", "execute", "bashtool", "shelltool", "localshell", "containerexec", "unifiedexec",
	"execbash", "execcommand", "execshell", "executebash", "executecmd", "executecommand", "executeshell", "executeshellcommand", "executeterminalcommand",
	"runbash", "runcommand", "runcommands", "runshell", "runshellcommand", "runterminal", "runterminalcmd", "runterminalcommand", "runinterminal",
	"shellcommand", "shellexec", "terminalexec",
}

// anyTool is a request for a tool that the client is not known to run lines with. Where it is called as such a tool of
// some client is, it is taken for one: a newer version may write the name of its own in another way.
func anyTool(name string, input object) gate.Request {
	plain := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
	switch {
	case slices.Contains([]string{"powershell", "pwsh", "executepwsh"}, plain):
		return objected(tool(name, input), "the gate reads the language of bash, not that of PowerShell", "use the Bash tool")
	case !slices.Contains(shells, plain):
		return tool(name, input)
	}
	r := command(input)
	for _, key := range []string{"cwd", "workdir", "working_directory", "dir_path", "directory"} {
		if dir := input[key]; dir != nil && dir != "" {
			return objected(r, "it would run in a directory of its own, and how this tool reads that is not known", "leave it out, and write: cd DIRECTORY && …")
		}
	}
	return r
}

// within is a request that runs in a directory of its own, which has to be spelled as it is called: clients differ in
// whether they take space off it, or read ~ as the home.
func within(r gate.Request, dir any) gate.Request {
	s, ok := dir.(string)
	switch {
	case dir != nil && !ok, strings.HasPrefix(s, "~"), strings.TrimFunc(s, isSpace) != s:
		return objected(r, "the directory that it would run in is not a plain path", "write the whole path of the directory, or leave it out")
	default:
		r.Cwd = s
		return r
	}
}

// either is the first of two members that holds anything.
func either(m object, first, second string) any {
	if v := m[first]; v != nil && v != "" {
		return v
	}
	return m[second]
}

// keystrokes is what is typed into a program that runs, as a line. Only whole lines can be judged: what is typed piece by
// piece, or edited with keys, becomes something that no piece shows.
func keystrokes(name string, input object, key string) gate.Request {
	typed, ok := input[key].(string)
	if !ok && input[key] != nil {
		return objected(tool(name, input), "what is typed is not a text", "")
	}
	typed = strings.ReplaceAll(typed, "{enter}", "\n")
	typed = strings.ReplaceAll(typed, "\r\n", "\n")
	typed = strings.ReplaceAll(typed, "\r", "\n")
	text := strings.TrimRight(typed, "\n")
	switch {
	case strings.TrimSpace(text) == "" || text == "\x03" || text == "\x04":
		return tool(name, input) // an empty line, ctrl-C, the end of the input
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }), strings.Contains(text, "\t"),
		namesKey(text):
		return objected(tool(name, input), "keys are typed whose effect on the line cannot be known", "type whole lines of plain text")
	case text == typed:
		return objected(tool(name, input), "a part of a line is typed, and only whole lines can be judged", "end it with the enter key")
	case strings.HasSuffix(text, "\\"):
		return objected(tool(name, input), "the typed line goes on behind its end", "type it as one line")
	default:
		return line(text, "")
	}
}

// namesKey reports whether a text holds a key by its name, like {up}.
func namesKey(text string) bool {
	for _, key := range []string{"{up}", "{down}", "{left}", "{right}", "{backspace}", "{delete}", "{home}", "{end}", "{tab}", "{escape}", "{ctrl"} {
		if strings.Contains(strings.ToLower(text), key) {
			return true
		}
	}
	return false
}

// process is a call of the tool with which OpenClaw and Hermes handle a program in the background.
func process(name string, params object) gate.Request {
	switch text(params, "action") {
	case "list", "poll", "log", "wait", "kill", "clear", "remove", "close":
		return tool(name, params)
	case "write":
		return keystrokes(name, params, "data")
	case "paste":
		return keystrokes(name, params, "text")
	case "submit": // Hermes types the data first
		params = maps.Clone(params)
		if s, ok := params["data"].(string); ok || params["data"] == nil {
			params["data"] = s + "\n"
		}
		return keystrokes(name, params, "data")
	}
	return objected(tool(name, params), "this way to type into a running program cannot be judged", "write whole lines that end with a newline")
}
