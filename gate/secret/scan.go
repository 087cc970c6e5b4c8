package secret

import "strings"

// A scanner reads a text byte by byte.
type scanner struct {
	text  string
	found []Found
	tried int // no token begins before this place: a long run up to it was looked at and is none
	quiet int // see header
	taken int // up to here, a value was found that a name told; names in it tell nothing more
}

func (s *scanner) add(kind string, start, end int) {
	s.found = append(s.found, Found{kind, start, end})
}

// bytes stops at the beginning of each word, where a token may begin, and at the few signs that say what follows.
func (s *scanner) bytes() {
	t := s.text
	for i := 0; i < len(t); {
		c := t[i]
		if isWord(c) {
			end := i + 1
			for end < len(t) && isWord(t[end]) {
				end++
			}
			i = max(s.token(i, end), end)
			continue
		}
		switch c {
		case '=', ':':
			s.assigned(i)
		case '-':
			if strings.HasPrefix(t[i:], pemBegin) {
				i = s.pem(i)
				continue
			}
		case '~':
			s.azure(i)
		case '.':
			s.atlas(i)
		case '@':
			s.dataSource(i)
		case '\\':
			if i+2 < len(t) && strings.IndexByte("nrt", t[i+1]) >= 0 {
				i++ // the letter belongs to the escape and not to the word after it
			}
		case '%':
			if i+2 < len(t) && isHex(t[i+1]) && isHex(t[i+2]) {
				i += 2
			}
		}
		i++
	}
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
)

// pem takes a private key in its armour, and returns where to go on. One without an end goes to the end of the text.
func (s *scanner) pem(i int) int {
	after := i + len(pemBegin)
	label := s.text[after:min(after+48, len(s.text))]
	label, _, ok := strings.Cut(label, "-----")
	if !ok || !strings.Contains(label, "PRIVATE KEY") {
		return after
	}
	end := len(s.text)
	if n := strings.Index(s.text[after:], pemEnd); n >= 0 {
		end = after + n + len(pemEnd)
		if n := strings.Index(s.text[end:min(end+64, len(s.text))], "-----"); n >= 0 {
			end += n + len("-----")
		}
	}
	s.add(privateKey, i, end)
	return end
}

// azure finds the client secrets of Microsoft Entra at the sign ~ in them: abc8Q~ and 31 to 34 more.
func (s *scanner) azure(i int) {
	t := s.text
	start, end := i-5, i+1
	if start < 0 || t[i-1] != 'Q' || !isDigit(t[i-2]) {
		return
	}
	for end < len(t) && (isWord(t[end]) || t[end] == '-' || t[end] == '.' || t[end] == '~') {
		end++
	}
	if n := end - i - 1; n >= 31 && n <= 34 {
		s.add("azure-client-secret", start, end)
	}
}

// atlas finds the tokens of Terraform Cloud: 14 letters and digits, .atlasv1. and 60 or more.
func (s *scanner) atlas(i int) {
	const middle = ".atlasv1."
	if i < 14 || !strings.HasPrefix(s.text[i:], middle) {
		return
	}
	if end := s.run(i+len(middle), base64url); end-i >= 60 {
		s.add("terraform-token", i-14, end)
	}
}

// dataSource finds user:password@tcp(host:3306)/name, as Go's drivers take it.
func (s *scanner) dataSource(i int) {
	rest := s.text[i:]
	if !strings.HasPrefix(rest, "@tcp(") && !strings.HasPrefix(rest, "@unix(") {
		return
	}
	for j := i - 1; j > 0 && j > i-128; j-- {
		switch s.text[j] {
		case ':':
			s.literal(urlPassword, j+1, i)
			return
		case ' ', '\t', '\n', '"', '\'', '=', '/':
			return
		}
	}
}

// url finds the password in scheme://user:password@host, where colon is the place of the first colon.
func (s *scanner) url(colon int) {
	t := s.text
	start := colon + len("://")
	first := -1
	for i := start; i < len(t) && i < start+512; i++ {
		switch c := t[i]; {
		case c == ':' && first < 0:
			first = i + 1
		case c == '@':
			if first >= 0 {
				s.literal(urlPassword, first, i)
			} else if user := t[start:i]; len(user) >= 20 && looksRandom(user) {
				s.literal(urlPassword, start, i)
			}
			return
		case c <= ' ' || strings.IndexByte(`/?#"'<>|()[]`+"`", c) >= 0:
			return
		}
	}
}

// literal adds what stands between start and end, unless it only refers to a credential.
func (s *scanner) literal(kind string, start, end int) {
	if v := s.text[start:end]; len(v) > 2 && !refers(v) {
		s.add(kind, start, end)
	}
}

// run returns the end of the characters of a class that begin at i.
func (s *scanner) run(i int, is func(byte) bool) int {
	for i < len(s.text) && is(s.text[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isAlnum(c byte) bool { return isDigit(c) || isUpper(c) || isLower(c) }
func isWord(c byte) bool  { return isAlnum(c) || c == '_' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func base64url(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }
func capitals(c byte) bool  { return isUpper(c) || isDigit(c) }
func tokenByte(c byte) bool {
	return isAlnum(c) || strings.IndexByte("_-.~+/=", c) >= 0
}
