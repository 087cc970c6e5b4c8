// Package secret finds credentials in text that is about to be kept or shown: the lines that an agent proposes, what its
// tools were called with, what a program printed.
//
// A credential is known by its own form (ghp_…, a JSON web token, a private key), by the place where it stands (a URL, an
// Authorization header), by the name that it is given (PGPASSWORD=…, "client_secret": "…", --token …), or by the command
// that takes it (mysql -p…, curl -u user:…). What only refers to one is none: $TOKEN, $(pass show x), --password-file x,
// <your-token>, a path. Nor is what is merely random: commit hashes, UUIDs, checksums, data in base64.
//
// Text is read twice, once byte by byte and once as the words of shell commands, each time once through: the time grows
// with the length of the text and with nothing else. Nothing is set up before the first use.
//
// It is a net with holes: a password that stands alone in a text cannot be told from a word. Whoever keeps text must keep
// it where only its owner reads it, all the same.
//
// It knows no other package of the module.
package secret

import (
	"cmp"
	"slices"
	"strings"
)

// A Found is one credential in a text: the bytes from Start to End are it, without the quotes or the name before it.
type Found struct {
	Kind       string // github-token, password, …: what stands in the place of what is redacted
	Start, End int
}

// Find returns the credentials in text, in order and apart from each other.
func Find(text string) []Found {
	s := scanner{text: text}
	s.bytes()
	w := words{found: s.add}
	w.line(text, 0, 0)
	return apart(s.found)
}

// Redact returns text with every credential replaced by its kind: «redacted:github-token».
func Redact(text string) string { return replace(text, Find(text)) }

// RedactArgv is Redact for the words of one command, in which a word may say what the next one is (--password hunter2).
// It returns words itself where there is nothing to redact.
func RedactArgv(argv []string) []string {
	found := make([][]Found, len(argv))
	starts := make([]int, len(argv)) // as if the words stood in one text
	any := false
	w := words{found: func(kind string, start, end int) {
		i, exact := slices.BinarySearch(starts, start)
		if !exact {
			i--
		}
		found[i] = append(found[i], Found{kind, start - starts[i], end - starts[i]})
		any = true
	}}
	at := 0
	for i, word := range argv {
		starts[i] = at
		at += len(word) + 1
	}
	for i, word := range argv {
		found[i] = Find(word)
		any = any || len(found[i]) > 0
	}
	for i, word := range argv {
		w.word(token{text: word, at: starts[i], quoted: true})
	}
	w.end(false)
	if !any {
		return argv
	}
	redacted := slices.Clone(argv)
	for i := range redacted {
		redacted[i] = replace(redacted[i], apart(found[i]))
	}
	return redacted
}

// RedactNamed is Redact for the value of a named argument or variable, whose name may say what it is (password, api_key).
func RedactNamed(name, value string) string {
	kind, env := classify(name)
	if kind != "" && isSecret(kind, value, given{env: env, quoted: true}) {
		return mark(kind)
	}
	return Redact(value)
}

func mark(kind string) string { return "«redacted:" + kind + "»" }

func replace(text string, found []Found) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(mark(f.Kind))
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// apart sorts what was found and joins what overlaps, under the kind that says more.
func apart(found []Found) []Found {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	joined := found[:1]
	for _, f := range found[1:] {
		last := &joined[len(joined)-1]
		if f.Start >= last.End {
			joined = append(joined, f)
			continue
		}
		last.End = max(last.End, f.End)
		if general(last.Kind) && !general(f.Kind) {
			last.Kind = f.Kind
		}
	}
	return joined
}

// The kinds that a name or a place tells. The form of a credential tells more.
const (
	password      = "password"
	plainToken    = "token"
	plainSecret   = "secret"
	plainKey      = "key"
	authorization = "authorization"
	cookie        = "cookie"
	signature     = "signature"
	urlPassword   = "url-password"
	bearer        = "bearer-token"
	privateKey    = "private-key"
)

func general(kind string) bool {
	switch kind {
	case password, plainToken, plainSecret, plainKey, authorization, cookie, signature, urlPassword, bearer:
		return true
	}
	return false
}
