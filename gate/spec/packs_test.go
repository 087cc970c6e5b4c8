package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestPacksAreValid(t *testing.T) {
	if _, err := compiledPacks(); err != nil {
		t.Fatal(err)
	}
}

func TestTheProgramHoldsThePacks(t *testing.T) {
	compiled, err := compiledPacks()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(compiled, []byte(bundled)) {
		t.Error("packs.bin is not what packs/*.yaml compile to: go generate ./gate/spec")
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(bundled))); Edition() != want {
		t.Errorf("packs.sha256 is %s, want %s: go generate ./gate/spec", Edition(), want)
	}
}

// TestPacksKeepTheNames holds the packs to the names of calls and arguments that rule files in the field use.
func TestPacksKeepTheNames(t *testing.T) {
	packs := packsForTest(t)
	data, err := os.ReadFile("testdata/names.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var want struct {
			Command     string
			Aliases     []string
			Tool        string
			Options     map[string]string // flag: "argument type"
			Positionals []string          // name and nargs
		}
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		n := lookUp(packs, strings.Fields(want.Command))
		if n == nil {
			t.Errorf("%s has no spec", want.Command)
			continue
		}
		if n.tool != want.Tool {
			t.Errorf("%s: tool %s, want %s", want.Command, n.tool, want.Tool)
		}
		if n.beyond {
			t.Errorf("%s is marked as beyond", want.Command)
		}
		for _, alias := range want.Aliases {
			words := strings.Fields(want.Command)
			words[len(words)-1] = alias
			if lookUp(packs, words) == nil {
				t.Errorf("%s: no alias %s", want.Command, alias)
			}
		}
		for flag, meaning := range want.Options {
			o := n.flagIndex(flag)
			if o < 0 && strings.HasPrefix(flag, "-") && n.syntax == goflag {
				o = n.flagIndex("-" + flag)
			}
			if o < 0 {
				t.Errorf("%s: no option %s", want.Command, flag)
				continue
			}
			have := &n.options[o]
			dest, kind, _ := strings.Cut(meaning, " ")
			if have.dest != dest || !sameType(have.kind, kind) {
				t.Errorf("%s: %s sets %s (type %d), want %s", want.Command, flag, have.dest, have.kind, meaning)
			}
			if have.beyond {
				t.Errorf("%s: %s is marked as beyond", want.Command, flag)
			}
		}
		var positionals []string
		for i := range n.operands {
			if n.onlyDash && i == n.dashdash {
				continue
			}
			name := n.operands[i].name
			if nargs := n.operands[i].nargs; nargs != 0 {
				name += string(nargs)
			}
			positionals = append(positionals, name)
		}
		if !inOrder(want.Positionals, positionals) {
			t.Errorf("%s: positionals %v, want %v in this order", want.Command, positionals, want.Positionals)
		}
	}
}

// inOrder reports whether have has all of want, in that order.
func inOrder(want, have []string) bool {
	for _, name := range have {
		if len(want) > 0 && want[0] == name {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// sameType reports whether a rule that was written for an option of type want finds what it looks for.
func sameType(have kind, want string) bool {
	switch want {
	case "bool", "attached":
		return have == kindBool || have == kindOptional || have == kindAttached
	default:
		k, _ := kindOf(want)
		return have == k
	}
}

func lookUp(packs *Packs, words []string) *node {
	n, pack, _ := packs.find(words[0])
	for _, word := range words[1:] {
		if n == nil {
			return nil
		}
		n, _ = n.sub(pack, word)
	}
	return n
}
