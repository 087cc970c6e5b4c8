package shell

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each assignment is compared with those before it; a line of nothing else comes to its end all the same.
func TestManyAssignmentsAreALimit(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "A%d=1 ", i)
	}
	for _, line := range []string{b.String() + "ls", b.String(), "declare " + b.String(), "export " + b.String() + "; ls"} {
		_, err := Parse(line, Options{Dir: "/p", Home: "/h"})
		if e := (*Error)(nil); !errors.As(err, &e) || e.Kind != Limit {
			t.Errorf("%.30s…: %v", line, err)
		}
	}
	if _, err := Parse("A=1 B=2 ls", Options{Dir: "/p", Home: "/h"}); err != nil {
		t.Error(err)
	}
}
