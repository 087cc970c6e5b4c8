package secret

import "strings"

// classify says what a name promises: a kind, or nothing. env is set where the name is written as a variable of the
// environment is.
func classify(name string) (kind string, env bool) {
	var buf [64]byte
	words, env := normal(buf[:0], name)
	last := words
	before := ""
	if i := strings.LastIndexByte(words, '_'); i >= 0 {
		last, before = words[i+1:], words[:i]
		before = before[strings.LastIndexByte(before, '_')+1:]
	}
	switch {
	case ends(last, "password", "passwd", "passphrase", "passcode"):
		if flagWord(before) {
			return "", env
		}
		return password, env
	case last == "pass" || last == "pw":
		if before == "" || flagWord(before) || before == "first" || before == "second" || before == "test" {
			return "", env
		}
		return password, env
	case last == "pwd":
		if before == "" || before == "old" {
			return "", env
		}
		return password, env
	case ends(last, "secret"):
		if flagWord(before) {
			return "", env
		}
		return plainSecret, env
	case ends(last, "token"):
		if flagWord(before) || tokenOfText(before) {
			return "", env
		}
		return plainToken, env
	case ends(last, "apikey", "secretkey", "privatekey", "accesskey", "accountkey", "authkey", "masterkey", "signingkey", "encryptionkey"),
		last == "key" && keyOf(before):
		return plainKey, env
	case last == "base" && strings.HasSuffix(words, "secret_key_base"):
		return plainSecret, env
	case last == "authorization":
		return authorization, env
	case last == "cookie":
		return cookie, env
	case last == "auth" && strings.HasPrefix(name, "_"): // of an .npmrc
		return plainToken, env
	case last == "sig" || words == "x_amz_signature":
		return signature, env
	}
	return "", env
}

// normal writes name as lower-case words with _ between them, without a number at the end.
func normal(b []byte, name string) (words string, env bool) {
	env = true
	for i := 0; i < len(name) && len(b) < cap(b)-1; i++ {
		switch c := name[i]; {
		case isUpper(c):
			if i > 0 && (isLower(name[i-1]) || isDigit(name[i-1])) {
				b = append(b, '_')
			}
			b = append(b, c+'a'-'A')
		case c == '-' || c == '.' || c == '_':
			env = env && c == '_'
			if len(b) > 0 {
				b = append(b, '_')
			}
		default:
			env = env && !isLower(c)
			b = append(b, c)
		}
	}
	for len(b) > 0 && (b[len(b)-1] == '_' || isDigit(b[len(b)-1])) {
		b = b[:len(b)-1]
	}
	return string(b), env
}

func ends(word string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(word, suffix) {
			return true
		}
	}
	return false
}

// flagWord reports whether a word before password or token makes it a switch or a deed, which has no credential as value.
func flagWord(word string) bool {
	switch word {
	case "no", "ask", "prompt", "require", "requires", "required", "without", "with", "skip", "allow", "disable", "enable", "empty",
		"forgot", "reset", "show", "hide", "store", "save", "is", "has", "needs", "change", "validate", "check", "verify", "by":
		return true
	}
	return false
}

// tokenOfText reports whether a token of this kind is one of a text, a list or a program, and no credential.
func tokenOfText(word string) bool {
	switch word {
	case "next", "page", "starting", "start", "continuation", "pagination", "sync", "max", "min", "num", "per", "stop", "special", "pad",
		"eos", "bos", "unk", "mask", "sep", "cls", "end", "cancellation", "cancel", "request", "idempotency", "last", "first", "prev", "previous":
		return true
	}
	return false
}

func keyOf(word string) bool {
	switch word {
	case "api", "secret", "private", "access", "encryption", "signing", "master", "auth", "account", "service", "role", "admin", "app",
		"subscription", "anon", "secretaccess", "sharedaccess":
		return true
	}
	return false
}
