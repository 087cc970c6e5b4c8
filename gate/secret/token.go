package secret

import "strings"

// token looks whether a credential of a known form begins at i, where a word begins that ends at end. It returns the end
// of the credential, 0 if there is none.
func (s *scanner) token(i, end int) int {
	t := s.text
	if len(t)-i < 16 || i < s.tried {
		return 0
	}
	switch t[i : i+3] {
	case "AKI", "ASI", "ABI", "ACC":
		if strings.HasPrefix(t[i+3:], "A") {
			return s.form("aws-access-key-id", i, 4, capitals, 16, 16)
		}
	case "ghp", "gho", "ghu", "ghs", "ghr":
		if t[i+3] == '_' {
			return s.form("github-token", i, 4, isAlnum, 36, 255)
		}
	case "git":
		return s.prefixed("github-token", i, "github_pat_", isWord, 22)
	case "glp", "gld", "glr", "glc", "glf", "gls", "gli", "gla", "glo":
		for _, prefix := range []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-"} {
			if strings.HasPrefix(t[i:], prefix) {
				return s.form("gitlab-token", i, len(prefix), dotted, 20, 512)
			}
		}
		return max(s.prefixed("grafana-token", i, "glc_", base64any, 32), s.prefixed("grafana-token", i, "glsa_", isWord, 32))
	case "xox":
		if strings.IndexByte("abeoprs", t[i+3]) >= 0 && (t[i+4] == '-' || t[i+4] == '.') {
			return s.form("slack-token", i, 5, dotted, 10, 512)
		}
	case "xap":
		return s.prefixed("slack-token", i, "xapp-", base64url, 10)
	case "hoo":
		if n := s.prefixed("slack-webhook", i, "hooks.slack.com/services/", pathByte, 20); n > 0 {
			return n
		}
	case "dis":
		for _, host := range []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"} {
			if n := s.prefixed("discord-webhook", i, host, pathByte, 20); n > 0 {
				return n
			}
		}
	case "sk_", "rk_":
		for _, mode := range []string{"live_", "test_"} {
			if strings.HasPrefix(t[i+3:], mode) {
				return s.form("stripe-key", i, 8, isAlnum, 16, 255)
			}
		}
	case "whs":
		return s.prefixed("stripe-key", i, "whsec_", base64any, 24)
	case "AIz":
		return s.prefixed("google-api-key", i, "AIza", base64url, 35)
	case "ya2":
		return s.prefixed("google-oauth-token", i, "ya29.", dotted, 20)
	case "GOC":
		return s.prefixed("google-client-secret", i, "GOCSPX-", base64url, 20)
	case "sk-":
		return s.sk(i)
	case "xai":
		return s.prefixed("xai-key", i, "xai-", isAlnum, 40)
	case "gsk":
		return s.prefixed("groq-key", i, "gsk_", isAlnum, 40)
	case "npm":
		return s.prefixed("npm-token", i, "npm_", isAlnum, 36)
	case "pyp":
		return s.prefixed("pypi-token", i, "pypi-AgE", base64url, 40)
	case "hf_":
		return s.form("huggingface-token", i, 3, isAlnum, 30, 64)
	case "dop", "doo", "dor":
		if strings.HasPrefix(t[i+3:], "_v1_") {
			return s.form("digitalocean-token", i, 7, isHex, 64, 64)
		}
	case "SG.":
		if first := s.run(i+3, base64url); first-i-3 == 22 && strings.HasPrefix(t[first:], ".") {
			return s.form("sendgrid-key", i, first+1-i, base64url, 43, 43)
		}
	case "AGE":
		return max(s.prefixed("age-key", i, "AGE-SECRET-KEY-1", capitals, 40),
			s.prefixed("age-key", i, "AGE-SECRET-KEY-PQ-1", capitals, 40))
	case "dck":
		return max(s.prefixed("docker-token", i, "dckr_pat_", base64url, 20), s.prefixed("docker-token", i, "dckr_oat_", base64url, 20))
	case "shp":
		if len(t) > i+6 && t[i+5] == '_' {
			return s.form("shopify-token", i, 6, isHex, 32, 32)
		}
	case "dap":
		return s.prefixed("databricks-token", i, "dapi", isHex, 32)
	case "hvs", "hvb":
		if t[i+3] == '.' {
			return s.form("vault-token", i, 4, base64url, 24, 512)
		}
	case "lin":
		return s.prefixed("linear-key", i, "lin_api_", isAlnum, 32)
	case "ntn":
		return s.prefixed("notion-token", i, "ntn_", isAlnum, 40)
	case "PMA":
		return s.prefixed("postman-key", i, "PMAK-", base64url, 40)
	case "snt":
		return max(s.prefixed("sentry-token", i, "sntrys_", base64any, 40), s.prefixed("sentry-token", i, "sntryu_", isHex, 40))
	case "NRA":
		return s.prefixed("new-relic-key", i, "NRAK-", capitals, 27)
	case "fig":
		return s.prefixed("figma-token", i, "figd_", base64url, 32)
	case "sbp":
		return s.prefixed("supabase-token", i, "sbp_", isHex, 40)
	case "sb_":
		return s.prefixed("supabase-key", i, "sb_secret_", base64url, 20)
	case "key":
		if t[i+3] == '-' {
			return s.form("mailgun-key", i, 4, isHex, 32, 32)
		}
	case "eyJ":
		return s.jwt(i)
	case "b3B":
		return s.prefixed(privateKey, i, "b3BlbnNzaC1rZXktdjE", base64any, 40) // openssh-key-v1
	case "Bea", "bea":
		if strings.HasPrefix(t[i+3:], "rer ") {
			return s.bearer(i + len("Bearer "))
		}
	}
	return s.plain(i, end)
}

// plain finds the tokens that only their shape tells: the word from i to end and what follows it.
func (s *scanner) plain(i, end int) int {
	t := s.text
	n := end - i
	switch {
	case n == 34 && t[i] == 'S' && t[i+1] == 'K' && s.run(i+2, isHex) == end:
		s.add("twilio-key", i, end)
		return end
	case n >= 8 && n <= 10 && isDigit(t[i]) && strings.HasPrefix(t[end:], ":AA") && s.run(i, isDigit) == end:
		return s.form("telegram-bot-token", i, n+1, base64url, 35, 35)
	case n >= 23 && n <= 28 && strings.IndexByte("MNO", t[i]) >= 0 && strings.HasPrefix(t[end:], "."):
		// The parts are an id, a time and a signature.
		if second := s.run(end+1, base64url); second-end-1 == 6 && strings.HasPrefix(t[second:], ".") {
			return s.form("discord-bot-token", i, second+1-i, base64url, 27, 64)
		}
	}
	return 0
}

// sk tells the makers apart whose keys begin with sk-.
func (s *scanner) sk(i int) int {
	for _, maker := range []struct{ prefix, kind string }{
		{"sk-ant-", "anthropic-key"}, {"sk-proj-", "openai-key"}, {"sk-svcacct-", "openai-key"}, {"sk-admin-", "openai-key"},
		{"sk-or-v1-", "openrouter-key"},
	} {
		if strings.HasPrefix(s.text[i:], maker.prefix) {
			return s.form(maker.kind, i, len(maker.prefix), base64url, 20, 512)
		}
	}
	if n := s.form("openai-key", i, 3, isAlnum, 32, 255); n > 0 {
		return n
	}
	if end := s.run(i+3, base64url); end-i-3 >= 40 && looksRandom(s.text[i+3:end]) {
		s.add("openai-key", i, end)
		return end
	} else if end-i > 64 {
		s.tried = end
	}
	return 0
}

// jwt finds three parts of base64 of which the first two are objects.
func (s *scanner) jwt(i int) int {
	t := s.text
	first := s.run(i, base64url)
	if first-i < 12 || !strings.HasPrefix(t[first:], ".eyJ") {
		if first-i > 64 {
			s.tried = first
		}
		return 0
	}
	second := s.run(first+1, base64url)
	if second-first < 8 || !strings.HasPrefix(t[second:], ".") {
		return 0
	}
	end := s.run(second+1, base64url)
	s.add("jwt", i, end)
	return end
}

// bearer takes the word after Bearer, if it can be one. Its form may tell more, so that it is looked at again.
func (s *scanner) bearer(i int) int {
	end := s.run(i, tokenByte)
	if v := s.text[i:end]; len(v) < 16 || !looksRandom(v) || refers(v) {
		return 0
	}
	s.add(bearer, i, end)
	return i
}

// prefixed is form for a prefix that is not yet known to stand at i, and with no upper limit to speak of.
func (s *scanner) prefixed(kind string, i int, prefix string, is func(byte) bool, least int) int {
	if !strings.HasPrefix(s.text[i:], prefix) {
		return 0
	}
	return s.form(kind, i, len(prefix), is, least, 1024)
}

// form adds the credential at i if after its prefix there are between least and most characters of a class, and no more.
func (s *scanner) form(kind string, i, prefix int, is func(byte) bool, least, most int) int {
	start := i + prefix
	end := s.run(start, is)
	if n := end - start; n < least || n > most || end < len(s.text) && isWord(s.text[end]) {
		if n > 64 {
			s.tried = end // or a text that is made of prefixes would be read again from each
		}
		return 0
	}
	s.add(kind, i, end)
	return end
}

func dotted(c byte) bool    { return base64url(c) || c == '.' }
func pathByte(c byte) bool  { return base64url(c) || c == '/' }
func base64any(c byte) bool { return base64url(c) || c == '+' || c == '/' || c == '=' }
