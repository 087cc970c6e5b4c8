//go:build linux

package safefs

import (
	"path"
	"strings"
	"testing"
)

func TestValidName(t *testing.T) {
	long, deep := strings.Repeat("x", 255), strings.Repeat("d/", 63)+"f"
	for _, name := range []string{
		"f", "a/b", "a b", "-rf", ":(top)x", ".git", "...", "..f", "a\nb", "\x1b[2J", "\xff\xfe",
		"ü", long, long + "/" + long, deep,
	} {
		if err := ValidName(name); err != nil {
			t.Errorf("ValidName(%q) = %v", name, err)
		}
	}
	for _, name := range badNames() {
		if err := ValidName(name); err == nil {
			t.Errorf("ValidName(%q) accepts it", name)
		} else {
			wantRefused(t, err, shown(name), Name)
		}
	}
}

// badNames are what no method may accept, although the kernel would open some of them.
func badNames() []string {
	return []string{
		"", ".", "..", "/", "/etc/passwd", "//f", "f/", "d/", "d//f", "./f", "d/./f", "d/.", "d/..", "../f",
		"d/../f", "d/../../f", "f\x00", "\x00", "d\x00/f", strings.Repeat("x", 256), "d/" + strings.Repeat("x", 256),
		strings.Repeat("d/", 64) + "f", strings.Repeat("x/", 3000) + "f",
	}
}

// shown is the name that a refusal shows.
func shown(name string) string {
	if len(name) > maxName {
		return name[:maxComponent] + "…"
	}
	return name
}

func TestErrorsQuoteTheName(t *testing.T) {
	err := refuse("a\x1b[2J\n<!channel>\u202e", Symlink, "it is a link")
	want := `"a\x1b[2J\n<!channel>\u202e" is refused (symlink): it is a link`
	if err.Error() != want {
		t.Errorf("got %s, want %s", err, want)
	}
}

func FuzzValidName(f *testing.F) {
	for _, name := range badNames() {
		f.Add(name)
	}
	for _, name := range []string{"f", "a/b/c", "..f", "a\xffb", "ü/…"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if ValidName(name) != nil {
			return
		}
		if path.IsAbs(name) || path.Clean(name) != name || strings.Contains("/"+name+"/", "/../") || name == "." {
			t.Errorf("ValidName(%q) accepts a name with two meanings", name)
		}
		if strings.ContainsRune(name, 0) || strings.Count(name, "/") >= maxDepth || len(name) > maxName {
			t.Errorf("ValidName(%q) accepts a name beyond its limits", name)
		}
		if b := base(name); b == "" || strings.Contains(b, "/") || !strings.HasSuffix(name, b) {
			t.Errorf("base(%q) = %q", name, b)
		}
	})
}
