package gate

import "strings"

// code looks through a program in a full language for the commands that it starts, where they stand in quotes behind one of
// the words that such languages have for it: os.system("git push --force"), `rm x`, subprocess.run(["rm", "x"]).
func (h *listener) code(text string) {
	for _, word := range spawnWords {
		rest := text
		for {
			at := strings.Index(rest, word)
			if at < 0 {
				break
			}
			rest = rest[at+len(word):]
			if line := quotedWords(rest); line != "" {
				h.spawns = append(h.spawns, line)
			}
		}
	}
	for _, sign := range []string{"`", "%x{", "%x(", "qx{", "qx(", "qx/"} {
		rest := text
		for {
			at := strings.Index(rest, sign)
			if at < 0 {
				break
			}
			rest = rest[at+len(sign):]
			close := sign[len(sign)-1:]
			switch close {
			case "{":
				close = "}"
			case "(":
				close = ")"
			}
			end := strings.Index(rest, close)
			if end < 0 {
				break
			}
			h.spawns = append(h.spawns, rest[:end])
			rest = rest[end+1:]
		}
	}
}

var spawnWords = [...]string{"system", "popen", "Popen", "exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "run", "call", "check_output",
	"check_call", "getoutput", "shell_exec", "passthru", "shell-command", "call-process", "syscmd", "esyscmd", "cmd", "Command"}

// quotedWords is the line of the texts in quotes that stand right behind the word for starting a program; "" if none do.
func quotedWords(rest string) string {
	var words []string
	for len(words) < 32 {
		rest = strings.TrimLeft(rest, " \t\n([,:{")
		if rest == "" || rest[0] != '"' && rest[0] != '\'' {
			break
		}
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			break
		}
		words = append(words, rest[1:1+end])
		rest = rest[end+2:]
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return quoted(words)
}
