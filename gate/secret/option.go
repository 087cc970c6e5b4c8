package secret

import "strings"

// words follows the words of commands, and knows which of them is a credential by the one before or by the command.
type words struct {
	found func(kind string, start, end int)

	command  string // what is known about: its base name
	mode     string // login, set: a subcommand that matters
	operands int
	batch    bool   // htpasswd -b: the password is the last operand
	expect   string // the kind that the next word is
	split    byte   // of the next word, only what follows this character
	loose    bool   // the next word only counts if it cannot be a word of prose
	last     token  // the last operand
	echoed   token  // the last operand of an echo before the pipe
	here     bool   // the next word is a here-string
	netrc    int    // words since machine
}

// end ends a command. piped says that the next one reads what it prints.
func (w *words) end(piped bool) {
	if w.command == "htpasswd" && w.batch && (w.operands >= 3 || w.operands == 2 && w.mode == "prints") {
		w.take(password, w.last)
	}
	echoed := token{}
	if piped && (w.command == "echo" || w.command == "printf") {
		echoed = w.last
	}
	*w = words{found: w.found, echoed: echoed}
}

// word takes the next word.
func (w *words) word(t token) {
	if t.text == "" {
		return
	}
	if w.here {
		w.here = false
		w.echoed = t
		if w.mode == "reads" {
			w.printed()
		}
		return
	}
	if w.expect != "" {
		kind := w.expect
		w.expect = ""
		if t.text[0] != '-' || len(t.text) == 1 {
			w.take(kind, t)
			w.split, w.loose = 0, false
			return
		}
		w.split, w.loose = 0, false
	}
	if rest, ok := strings.CutPrefix(t.text, "<<<"); ok && !t.quoted {
		if w.here = rest == ""; !w.here {
			t.text, t.at = rest, t.at+3
			t.unquote()
			w.here = true
			w.word(t)
		}
		return
	}
	if t.text[0] == '-' && len(t.text) > 1 {
		w.option(t)
		return
	}
	if name := command(t.text); len(name) <= 16 && takes(name) && (!looksFor(w.command) || w.mode == "exec") {
		w.command, w.mode, w.operands = name, "", 0
		if name == "chpasswd" {
			w.mode = "reads"
			w.printed()
		}
		return
	}
	w.operand(t)
}

// operand takes a word that is no option.
func (w *words) operand(t token) {
	w.operands++
	w.last = t
	switch t.text {
	case "machine":
		w.netrc = 1
	case "login", "config", "configure", "secret", "add_user", "change_password", "secrets", "auth", "create-secret", "put-parameter":
		w.mode = t.text
		return
	case "password":
		if w.netrc > 2 && w.netrc < 6 {
			w.expect = password
			return
		}
	}
	if w.netrc > 0 {
		w.netrc++
	}
	switch w.command {
	case "rabbitmqctl":
		if (w.mode == "add_user" || w.mode == "change_password") && w.operands == 3 {
			w.take(password, t)
		}
	case "openssl":
		if rest, ok := strings.CutPrefix(t.text, "pass:"); ok {
			w.take(password, token{rest, t.at + len("pass:"), t.quoted})
		}
	case "aws", "git", "npm", "pnpm", "yarn", "pip", "gem", "composer", "poetry":
		if w.mode == "config" || w.mode == "configure" {
			name := t.text[strings.LastIndexByte(t.text, ':')+1:]
			if kind, _ := classify(name); kind != "" && kind != cookie && kind != signature {
				w.expect = kind
			}
		}
	case "fly", "flyctl":
		if w.mode == "secrets" {
			if name, rest, ok := strings.Cut(t.text, "="); ok {
				given := token{rest, t.at + len(name) + 1, t.quoted}
				given.unquote()
				w.take(plainSecret, given)
			}
		}
	}
}

// option takes a word that begins with a dash.
func (w *words) option(t token) {
	if w.short(t) {
		return
	}
	name := strings.TrimLeft(t.text, "-")
	if name == "" || strings.IndexByte(name, '=') >= 0 {
		return
	}
	switch {
	case w.command == "find" && (name == "exec" || name == "execdir"):
		w.mode = "exec"
		return
	case name == "password-stdin" || name == "with-token" || name == "stdin":
		w.mode = "reads"
		w.printed()
		return
	case w.command == "openssl" && (name == "passin" || name == "passout" || name == "pass"):
		return // what follows says pass:
	case asks(w.command) && name == "password":
		return
	case (w.command == "aws" || w.command == "gh" || w.command == "az") &&
		(name == "secret-string" || name == "body" && w.mode == "secret" || name == "value" && (w.mode == "put-parameter" || w.mode == "secret")):
		w.expect = plainSecret
		return
	case w.command == "keytool" && (name == "storepass" || name == "keypass" || name == "srcstorepass" || name == "deststorepass"):
		w.expect = password
		return
	case name == "oauth2-bearer":
		w.expect = plainToken
		return
	case (name == "user" || name == "proxy-user") && w.command == "curl", name == "auth" && (w.command == "http" || w.command == "https"):
		w.expect, w.split = password, ':'
		return
	}
	if kind, _ := classify(name); kind != "" && kind != cookie && kind != signature && kind != authorization {
		w.expect, w.loose = kind, kind != password
	}
}

// short takes the options of one letter that some commands have for a credential. It reports whether t was one.
func (w *words) short(t token) bool {
	v := t.text
	if len(v) < 2 || v[1] == '-' {
		return false
	}
	if n := len(v) - 1 - len(strings.TrimLeft(v[1:], switches(w.command))); n > 0 { // curl -sSu user:password
		v, t.at = "-"+v[1+n:], t.at+n
		if v == "-" {
			return false
		}
	}
	letter, glued := v[1], token{v[2:], t.at + 2, t.quoted}
	kind, split := password, byte(0)
	switch w.command {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mariadb-admin", "7z", "7za", "7zz", "7zr":
		if letter != 'p' {
			return false
		}
		if glued.text != "" {
			glued.unquote()
			w.take(password, glued)
		}
		return true // alone it asks
	case "rar", "unrar":
		if rest, ok := strings.CutPrefix(v, "-hp"); ok && rest != "" {
			w.take(password, token{rest, t.at + 3, t.quoted})
			return true
		}
		if letter != 'p' || glued.text == "" {
			return false
		}
	case "sshpass", "mongo", "mongosh", "mongodump", "mongorestore":
		if letter != 'p' || strings.HasPrefix(v, "-port") {
			return false
		}
	case "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "az", "oc":
		if letter != 'p' || w.mode != "login" {
			return false
		}
	case "redis-cli", "http", "https":
		if letter != 'a' {
			return false
		}
		if w.command != "redis-cli" {
			split = ':'
		}
	case "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd":
		if letter != 'w' {
			return false
		}
	case "security":
		if letter != 'w' {
			return false
		}
	case "openssl":
		if v != "-k" {
			return false
		}
	case "zip", "unzip", "zipcloak", "mosquitto_pub", "mosquitto_sub", "sqlcmd", "bcp", "ipmitool":
		if letter != 'P' {
			return false
		}
	case "curl":
		if letter != 'u' && letter != 'U' {
			return false
		}
		split = ':'
	case "gh":
		if letter != 'b' || w.mode != "secret" {
			return false
		}
		kind = plainSecret
	case "htpasswd":
		w.batch = w.batch || strings.IndexByte(v, 'b') > 0
		if strings.IndexByte(v, 'n') > 0 {
			w.mode = "prints" // and has no file
		}
		return true
	case "sudo", "su":
		if letter == 'S' {
			w.mode = "reads"
			w.printed()
			return true
		}
		return false
	case "smbclient", "rpcclient":
		if letter != 'U' {
			return false
		}
		split = '%'
	default:
		return false
	}
	w.split = split
	if glued.text == "" {
		w.expect = kind
		return true
	}
	glued.unquote()
	w.take(kind, glued)
	w.split = 0
	return true
}

// take adds a word, or what follows its colon.
func (w *words) take(kind string, t token) {
	if w.split != 0 {
		i := strings.IndexByte(t.text, w.split) + 1
		t.text, t.at = t.text[i:], t.at+i
		if i == 0 {
			return
		}
	}
	if len(t.text) < 2 || refers(t.text) || wordOfCode(t.text) || path(t.text) {
		return
	}
	if w.loose && (!looksRandom(t.text) || strings.IndexByte(t.text, '=') > 0 && strings.IndexByte(t.text, ',') > 0) {
		return
	}
	if strings.HasPrefix(t.text, "pass:") && len(t.text) > len("pass:") {
		t.text, t.at = t.text[len("pass:"):], t.at+len("pass:")
	}
	w.found(kind, t.at, t.at+len(t.text))
}

// printed takes what an echo before the pipe, or a here-string, gives to a command that reads a credential.
func (w *words) printed() {
	if w.echoed.text == "" {
		return
	}
	if w.command == "chpasswd" {
		w.split = ':'
	}
	echoed := w.echoed
	echoed.text = strings.TrimSuffix(echoed.text, `\n`)
	w.take(password, echoed)
	w.split, w.echoed = 0, token{}
}

// switches are the options of a command that take no value and may stand before that of a credential in one word.
func switches(command string) string {
	switch command {
	case "curl":
		return "#0123456BGIJLMNORSafgijklnpqsvV"
	case "zip", "zipcloak":
		return "0123456789ADFJLMSTXcefgjlmopqruvwyz"
	case "unzip":
		return "BCDKLMTUVWXZabcfjlnopqstuvz"
	case "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd":
		return "ACIKLMNQZcknrtvx"
	}
	return ""
}

// command returns the name of the command that word would run: itself, or what a path to a program names.
func command(word string) string {
	i := strings.LastIndexByte(word, '/')
	if i >= 0 && !strings.HasSuffix(word[:i], "bin") {
		return ""
	}
	return word[i+1:]
}

// asks reports whether --password of this command takes no value as the next word.
func asks(command string) bool {
	switch command {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "mariadb-admin", "psql", "pg_dump", "pg_restore",
		"pg_dumpall", "createdb", "dropdb", "pg_basebackup":
		return true
	}
	return false
}

// takes reports whether a command of this name is one whose words this file knows.
func takes(name string) bool {
	switch name {
	case "sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras",
		"redis-cli", "http", "https", "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd", "security", "zip",
		"unzip", "zipcloak", "curl", "htpasswd", "smbclient", "rpcclient", "openssl", "rabbitmqctl", "chpasswd", "aws", "az", "oc", "git",
		"mosquitto_pub", "mosquitto_sub", "sqlcmd", "bcp", "ipmitool", "keytool", "gh", "npm", "pnpm", "yarn", "pip", "gem", "composer", "poetry", "fly", "flyctl", "sudo", "su", "7z", "7za",
		"7zz", "7zr", "rar", "unrar":
		return true
	}
	return asks(name) || looksFor(name)
}

// looksFor reports whether the words of a command are texts or names to it, and never a command that it runs.
func looksFor(name string) bool {
	switch name {
	case "echo", "printf", "find", "grep", "rg", "man", "which", "apt", "apt-get", "dnf", "yum", "brew", "systemctl", "service":
		return true
	}
	return false
}
