package document

import "testing"

func TestWhatIsNearAKey(t *testing.T) {
	fields := []Field{{Key: "host"}, {Key: "live"}, {Key: "limits"}, {Key: "loaded_by"}}
	for word, want := range map[string]string{
		"hots": "host", "hosts": "host", "lim": "limits", "limitsize": "limits", "loaded-by": "loaded_by",
		"LIVE": "", "x": "", "": "", "lives": "live", "zzzz": "",
	} {
		if got := nearest(word, fields); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
