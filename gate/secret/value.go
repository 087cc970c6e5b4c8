package secret

import "strings"

// given is how a value stands beside its name.
type given struct {
	env    bool // the name is written as a variable of the environment is
	quoted bool
	single bool // in single quotes: a $ in it is a $
	loose  bool // name: value or name = value, as in configuration, code and prose; else name=value as in a shell
	equals bool
	line   bool // the name begins its line
	next   byte // what follows the value
}

// isSecret reports whether v can be the credential that its name promises. What only says where the credential is, or of
// what type it is, cannot.
func isSecret(kind, v string, g given) bool {
	switch {
	case len(v) < 3:
		return false
	case refers(v) && !(g.single && v[0] == '$' && kind == password && !strings.HasPrefix(v, "${")):
		return false
	case wordOfCode(v) || path(v):
		return false
	case !g.quoted && (g.next == '(' || g.next == '['):
		return false // a call or an element of something
	}
	if g.loose {
		return g.inText(kind, v)
	}
	code := !g.quoted && !g.env && (g.next == ',' || g.next == ')') && identifier(v)
	switch {
	case code:
		return false // connect(user, password=pw)
	case kind == password:
		return true
	case g.env:
		return len(v) >= 6 && !capitalWords(v)
	default:
		return looksRandom(v)
	}
}

// inText is isSecret where a text that means something else is likely.
func (g given) inText(kind, v string) bool {
	if strings.ContainsAny(v, " \t\n") || strings.Contains(strings.ToLower(v), kind) && !hasDigit(v) {
		return false
	}
	switch {
	case g.quoted && kind == password:
		return len(v) >= 4
	case g.quoted:
		return looksRandom(v)
	case dottedNames(v):
		return false
	case kind == password && !g.equals:
		return len(v) >= 6 && hasDigit(v) && hasLetter(v) && (g.line || !identifier(v))
	default:
		return looksRandom(v) && strong(v)
	}
}

// refers reports whether v only points to a credential, or stands in the place of one.
func refers(v string) bool {
	switch v[0] {
	case '$', '`', '<', '@', '&', '%':
		return true
	case '*', '.', '-', '#':
		return strings.Trim(v, v[:1]) == "" // a mask
	case 'x', 'X':
		if strings.Trim(v, "xX-") == "" {
			return true
		}
	case '{':
		return strings.HasPrefix(v, "{{") || strings.HasSuffix(v, "}")
	case '[':
		return strings.HasSuffix(v, "]")
	}
	for _, prefix := range []string{"«redacted", "…", "•", "file:", "env:", "credential:", "vault:", "op://", "arn:", "ssm:", "secretref:", "keyring:",
		"http://", "https://", "ref+", "process.env", "os.environ", "os.getenv", "getenv(", "import.meta", "REDACTED", "redacted", "fd:", "stdin"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	if n := len(v); n >= 5 && n <= 32 {
		lower := strings.ToLower(v)
		return strings.HasPrefix(lower, "your") && strings.ContainsAny(lower, "_-") || strings.HasPrefix(lower, "my_") && capitalWords(v)
	}
	return false
}

// wordOfCode reports whether v is a word that stands for a type, a truth or nothing.
func wordOfCode(v string) bool {
	switch strings.ToLower(strings.TrimRight(v, ".!,")) {
	case "true", "false", "null", "none", "nil", "undefined", "yes", "string", "str", "text", "bytes", "bool", "boolean", "int", "integer",
		"number", "float", "any", "unknown", "object", "required", "optional", "prompt", "empty", "never", "always", "default", "char",
		"varchar", "option", "inherit", "plaintext", "hidden", "disabled", "enabled", "auto", "stdin":
		return true
	}
	return false
}

// path reports whether v is the name of a file.
func path(v string) bool {
	for _, suffix := range []string{".pem", ".key", ".crt", ".txt", ".json", ".yaml", ".yml", ".env", ".gpg", ".age", ".asc"} {
		if strings.HasSuffix(v, suffix) {
			return true
		}
	}
	if strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") || strings.HasPrefix(v, "~/") {
		return true
	}
	if !strings.HasPrefix(v, "/") || strings.Count(v, "/") < 2 {
		return false
	}
	for i := range len(v) {
		if c := v[i]; !isWord(c) && c != '/' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// identifier reports whether v is a name in a program.
func identifier(v string) bool {
	if isDigit(v[0]) {
		return false
	}
	for i := range len(v) {
		if !isWord(v[i]) && v[i] != '.' {
			return false
		}
	}
	return true
}

// dottedNames reports whether v is names joined by dots, each of letters: settings.token.
func dottedNames(v string) bool {
	return strings.Contains(v, ".") && identifier(v) && !hasDigit(v)
}

// capitalWords reports whether v is written as the name of a variable: YOUR_API_KEY.
func capitalWords(v string) bool {
	for i := range len(v) {
		if !isUpper(v[i]) && v[i] != '_' {
			return false
		}
	}
	return true
}

// looksRandom reports whether v can be a key that a machine made: long enough, and not only words.
func looksRandom(v string) bool {
	var digits, upper, lower int
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digits++
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		case c <= ' ' || c >= 0x7f:
			return false
		}
	}
	switch {
	case len(v) < 8:
		return false
	case digits > 0 && upper+lower > 0:
		return true
	case len(v) >= 16:
		return upper > 2 && lower > 2 && strings.IndexByte(v, '_') < 0 && strings.IndexByte(v, '.') < 0 || digits == len(v)
	}
	return false
}

// strong reports whether v is more than a word with a number behind it.
func strong(v string) bool {
	digits := 0
	for i := range len(v) {
		if isDigit(v[i]) {
			digits++
		} else if !isWord(v[i]) && v[i] != '-' && v[i] != '.' {
			return true
		}
	}
	return digits >= 2
}

func hasDigit(v string) bool { return strings.ContainsAny(v, "0123456789") }

func hasLetter(v string) bool {
	for i := range len(v) {
		if isUpper(v[i]) || isLower(v[i]) {
			return true
		}
	}
	return false
}
