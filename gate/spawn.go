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
			switch words := quotedWords(rest); {
			case len(words) > maxSpawned:
				h.unsure(word)
			case len(words) == 1:
				h.spawns = append(h.spawns, words[0])
			case len(words) > 1:
				h.spawns = append(h.spawns, quoted(words))
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

// maxSpawned bounds the words of a command that a program starts.
const maxSpawned = 256

// quotedWords are the texts in quotes that stand right behind the word for starting a program.
func quotedWords(rest string) (words []string) {
	for len(words) <= maxSpawned {
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
	return words
}
