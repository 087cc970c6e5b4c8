package catalog

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"gatehouse/gate/policy"
)

// argv checks the template of a tool: fixed words, and words that are one slot each.
func (p *parser) argv(n *node, key string, t *Tool) {
	if n.get("argv") == nil {
		return
	}
	words, ok := p.list(n, "argv", key+".argv")
	if !ok {
		return
	}
	if len(words) == 0 {
		p.bad(n.get("argv"), key+".argv", BadTemplate, "is empty")
	}
	for i, w := range words {
		at := fmt.Sprintf("%s.argv[%d]", key, i)
		word, ok := w.value.(string)
		if !ok {
			p.bad(w, at, BadTemplate, "is %s and has to be a string", w.kind())
			continue
		}
		t.Argv = append(t.Argv, word)
		slot, isSlot := slotOf(word)
		switch {
		case i == 0:
			p.program(w, at, word)
		case isSlot && !validName(slot):
			p.bad(w, at, BadTemplate, "%q is no slot: the name of an argument in braces is one", word)
		case isSlot && slices.Contains(t.slots, slot):
			p.bad(w, at, BadTemplate, "the slot %s is there twice", slot)
		case isSlot && t.values != nil && !t.has(slot):
			p.bad(w, at, BadTemplate, "no argument is called %s", slot)
		case isSlot && i > 1 && evaluates(t.Argv[0], t.Argv[i-1]):
			p.bad(w, at, Shell, "%s would run the text in slot %s; put the program into a file of its own", filepath.Base(t.Argv[0]), slot)
		case !isSlot && strings.ContainsAny(word, "{}"):
			p.bad(w, at, BadTemplate, "%q: a slot is a whole word, and braces stand in no other", word)
		case !isSlot && !plainText(word):
			p.bad(w, at, BadTemplate, "%q holds control characters", word)
		}
		if isSlot {
			t.slots = append(t.slots, slot)
		}
	}
	for name := range t.values {
		if !slices.Contains(t.slots, name) {
			p.bad(n.get("args"), key+".args.properties."+name, BadTemplate, "no slot of argv takes it")
		}
	}
}

func (t *Tool) has(slot string) bool {
	_, ok := t.values[slot]
	return ok
}

// slotOf returns the name in a word that is a slot.
func slotOf(word string) (string, bool) {
	if len(word) < 2 || word[0] != '{' || word[len(word)-1] != '}' {
		return "", false
	}
	return word[1 : len(word)-1], true
}

func (p *parser) program(n *node, key, word string) {
	switch {
	case !filepath.IsAbs(word) || !cleanPath(word[1:]) || !plainText(word):
		p.bad(n, key, BadTemplate, "%q is not the clean absolute path of a program", word)
	case strings.ContainsAny(word, "{}"):
		p.bad(n, key, BadTemplate, "%q: the program is no slot", word)
	case runsOthers(word) != "":
		p.bad(n, key, Shell, "%s", runsOthers(word))
	}
}

func (p *parser) environment(n *node, key string, t *Tool) {
	if n.get("env") == nil {
		return
	}
	t.Env = p.texts(n, "env", key+".env")
	var names []string
	for i, text := range t.Env {
		at := fmt.Sprintf("%s.env[%d]", key, i)
		name, _, fixed := strings.Cut(text, "=")
		switch {
		case !validVariable(name) || !plainText(text):
			p.bad(n.get("env"), at, BadCatalogue, "%q is neither NAME nor NAME=value", text)
		case slices.Contains(names, name):
			p.bad(n.get("env"), at, BadCatalogue, "%s is there twice", name)
		case !fixed && steers(name):
			p.bad(n.get("env"), at, BadCatalogue, "%s decides what programs load or run, and the caller would set it; give it a value here: %s=…", name, name)
		}
		names = append(names, name)
	}
}

func validVariable(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// steers reports whether a variable can make a program load or run what its caller names: one that a policy holds to be
// dangerous, or of a family that has such. PATH and HOME are not taken from the caller.
func steers(name string) bool {
	if name == "PATH" || name == "HOME" {
		return false
	}
	for _, family := range []string{"BASH_", "PERL", "NODE_", "NPM_", "npm_", "TS_NODE_", "LUA_", "PHP", "JAVA_", "JDK_", "_JAVA", "MAVEN_", "GRADLE_",
		"GO", "CGO_", "CARGO", "RUST", "MIX_", "MAKE", "GNUMAKE", "CMAKE_", "CTEST_", "CCACHE_", "HG", "GPG", "DOCKER_", "KUBE", "AWS_", "TF_", "LESS",
		"MAN", "GCONV", "GLIBC", "MALLOC_", "NIX_", "OPENSSL_"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return policy.Dangerous(name)
}

// plainText reports whether a text has no control characters and nothing that changes the direction of what follows.
func plainText(text string) bool {
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}
