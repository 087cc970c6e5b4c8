package spelling

import (
	"strings"
	"testing"
)

func TestNearestIsWhatWasMeant(t *testing.T) {
	for list, words := range map[string]map[string]string{
		"accept reconcile reject status": {
			"acept": "accept", "recnocile": "reconcile", "stat": "status", "reconcileall": "reconcile",
			"x": "", "deploy": "", "": "",
		},
		"host live limits loaded_by": {
			"hots": "host", "hosts": "host", "lim": "limits", "limitsize": "limits", "loaded-by": "loaded_by", "lives": "live",
			"LIVE": "live", "li": "", "zzzz": "",
		},
		"list test":                  {"lost": "list", "tset": "test", "fist": "list", "best": "test", "lest": "list", "mast": ""},
		"--force --force-with-lease": {"--forse": "--force", "--forec": "--force"},
		"Write git_push":             {"Wirte": "Write", "git_psh": "git_push"},
	} {
		for word, want := range words {
			if got := Nearest(word, strings.Fields(list)); got != want {
				t.Errorf("Nearest(%q) of %s = %q, want %q", word, list, got, want)
			}
		}
	}
}
