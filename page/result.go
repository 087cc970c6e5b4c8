package page

import "slices"

// A level is how much a thing matters. The zero level is that it could not be told.
type level int

const (
	unsure level = iota
	found
	good
)

// name is the level in class names and metrics, which do not change.
func (l level) name() string {
	switch l {
	case good:
		return "good"
	case found:
		return "found"
	}
	return "unsure"
}

// code is the level as the exit codes have it, and the metrics.
func (l level) code() int {
	switch l {
	case good:
		return 0
	case found:
		return 1
	}
	return 2
}

// order puts findings before what could not be told, and that before what is well.
func (l level) order() int { return slices.Index([]level{found, unsure, good}, l) }

// A word is a result, as it is named in the state of the warden and as a person reads it.
type word struct {
	name  string
	text  string
	level level
}

// results are those of a gate, worst first.
var results = []word{
	{"publisher-disagrees", "publisher disagrees", found},
	{"mismatch", "mismatch", found},
	{"forged", "forged", found},
	{"replayed", "replayed", found},
	{"broken-policy", "policy does not compile", found},
	{"diverged", "diverged", found},
	{"drifted", "drifted", found},
	{"behind", "behind", found},
	{"rejected", "rejected", found},
	{"other-policy", "other policy", found},
	{"log-rewound", "log rewound", found},
	{"unfollowed", "hub not followed", found},
	{"unpublished", "unpublished", found},
	{"stale", "stale", found},
	{"unknown", "loaded is unknown", found},
	{"missing", "missing", unsure},
	{"overdue", "overdue", unsure},
	{"refused", "refused", unsure},
	{"in-flux", "in flux", unsure},
	{"unfetched", "not fetched", unsure},
	{"unreachable", "unreachable", unsure},
	{"error", "error", unsure},
	{"in-sync", "in sync", good},
}

// peerFindings are what can be the matter with a host that is watched, worst first; the last is that nothing is. Those that
// count are the kinds of package peer.
var peerFindings = []word{
	{"bad-signature", "bad signature", found},
	{"replayed", "replayed", found},
	{"silent", "silent", found},
	{"unseen", "never seen", unsure},
	{"split", "split", found},
	{"undelivered", "undelivered", found},
	{"unavailable", "could not be asked", unsure},
	{"maintenance", "in maintenance", good},
	{"awaited", "not seen yet", good},
	{"stranger", "not in the inventory", good},
	{"", "heard", good},
}

// verdicts are what a service may have loaded, worst first.
var verdicts = []word{
	{"stale", "stale", found},
	{"unknown", "unknown", found},
	{"not-running", "not running", good},
	{"loaded", "loaded", good},
}

// Code is the exit code that stands for a result: 0 in order, 1 a finding, 2 it could not be told.
func Code(result string) int {
	_, w := rank(results, result)
	return w.level.code()
}

// Results are the names of the results of a gate that page knows, worst first.
func Results() []string { return names(results) }

func names(words []word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.name
	}
	return list
}

// rank is the place of name among words, and what it means. A name that is not there could not be told.
func rank(words []word, name string) (int, word) {
	if i := slices.IndexFunc(words, func(w word) bool { return w.name == name }); i >= 0 {
		return i, words[i]
	}
	text := name
	if text == "" {
		text = "no result"
	}
	// It stands before the first that is well.
	i := slices.IndexFunc(words, func(w word) bool { return w.level == good })
	return i, word{name: "other", text: text, level: unsure}
}
