package rules

import (
	"fmt"
	"strings"
)

// Start returns what an agent is told when a session begins: the rules, one a line. It is empty where there are none, or
// where the settings say that it is not to be told.
func (s *Set) Start() (string, error) {
	if len(s.slots) == 0 || !s.settings.announce {
		return "", nil
	}
	var b strings.Builder
	noun := "rules hold"
	if len(s.slots) == 1 {
		noun = "rule holds"
	}
	fmt.Fprintf(&b, "%d %s for your calls here:\n", len(s.slots), noun)
	for i := range s.slots {
		r, err := s.rule(i)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- %s (%s): %s", r.ID, r.Mode, short(r.says()))
		if r.Why != "" {
			fmt.Fprintf(&b, "; %s", r.Why)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
