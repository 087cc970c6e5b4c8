package exchange

import (
	"strings"
	"testing"
)

func TestKeysAreReadAsTheyAreWritten(t *testing.T) {
	digest := strings.Repeat("a0", 32)
	for _, s := range []string{"beats/a", "beats/a.b-c_d", "exports/a/claude", "accepted/hub/g", "told/a/x.1", "objects/a/" + digest} {
		key, err := ParseKey(s)
		if err != nil || key.String() != s {
			t.Errorf("ParseKey(%q) = %v, %v", s, key, err)
		}
	}
	long := strings.Repeat("x", 254)
	for _, s := range []string{
		"", "/", "beats", "beats/", "/a", "beats/a/", "beats/a/b", "beats//a", "exports/a", "exports/a/", "exports//b", "exports/a/b/c", "claims/a/b", "Beats/a",
		"beats/A", "beats/.", "beats/..", "beats/.a", "beats/-a", "beats/a b", "beats/a*", "beats/>", "beats/a\x00", "beats/ä", "beats/a\n", "beats/" + long,
		"told/a/" + long[:129], "objects/a/x", "objects/a/" + strings.ToUpper(digest), "objects/a/" + digest[2:], "told/a/../b", "told/../b",
	} {
		if key, err := ParseKey(s); err == nil {
			t.Errorf("ParseKey(%q) = %v, want an error", s, key)
		}
	}
}

func TestAKeyOfAllHostsReadsAsOne(t *testing.T) {
	for want, k := range map[string]Key{"beats": {Kind: Beats}, "exports/a": {Kind: Exports, Host: "a"}, "exports/*/g": {Kind: Exports, Rest: "g"}} {
		if got := k.String(); got != want {
			t.Errorf("%#v reads %q, want %q", k, got, want)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("beats/a")
	f.Add("exports/a.b/c")
	f.Fuzz(func(t *testing.T, s string) {
		key, err := ParseKey(s)
		if err == nil && (key.String() != s || strings.Contains(s, "..") && strings.Contains(s, "/..") || key.Check() != nil) {
			t.Errorf("ParseKey(%q) = %v", s, key)
		}
	})
}

func TestKinds(t *testing.T) {
	for _, k := range Kinds() {
		if k.Limit() == 0 {
			t.Errorf("%s has no limit", k)
		}
	}
	if Kind("").Limit() != 0 || Kind("claims").Limit() != 0 {
		t.Error("what is no kind has a limit")
	}
}
