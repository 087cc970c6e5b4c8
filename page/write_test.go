package page

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var write = flag.String("write", "", "write the samples to this `directory`, for packaging/page")

func TestWriteSamples(t *testing.T) {
	if *write == "" {
		t.Skip("no -write DIRECTORY was given")
	}
	for name, s := range samples() {
		if err := os.WriteFile(filepath.Join(*write, name+".html"), HTML(s), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*write, name+".prom"), Metrics(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
