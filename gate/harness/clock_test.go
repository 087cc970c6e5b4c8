package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatehouse/gate/harness"
)

func TestARefusalOfTheClockIsNeverSilent(t *testing.T) {
	files, err := filepath.Glob("testdata/*/deny.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		client := filepath.Base(filepath.Dir(file))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(data), "-- input --\n")
		input, _, _ := strings.Cut(rest, "\n-- ")
		for end := range len(input) + 1 {
			for _, limit := range []time.Duration{1, 20 * time.Microsecond, 200 * time.Microsecond} {
				exit, out, errOut := answered(client, strings.NewReader(input[:end]), harness.Options{Open: stub{}.open, Limit: limit})
				if why := silent(client, exit, out, errOut); why != "" {
					t.Fatalf("%s, %d bytes of input within %v: %s", client, end, limit, why)
				}
			}
		}
	}
}
