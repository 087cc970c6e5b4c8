package spec

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	sh "mvdan.cc/sh/v3/syntax"

	"gatehouse/gate/shell"
)

// BenchmarkLine compares the translation of a line with the bare parse of the same line. testdata/lines.txt has lines of
// the kinds that agents run, in which \n stands for a newline.
//
//	go test -bench Line -benchmem ./gate/spec
func BenchmarkLine(b *testing.B) {
	packs := packsForTest(b)
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		b.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `\n`, "\n")
	}
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	measure := func(name string, work func(line string) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size) / int64(len(lines)))
			b.ReportAllocs()
			before := used(b)
			for i := 0; b.Loop(); i++ {
				if err := work(lines[i%len(lines)]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	parser := sh.NewParser(sh.Variant(sh.LangBash))
	measure("syntax", func(line string) error {
		_, err := parser.Parse(strings.NewReader(line), "")
		return err
	})
	place := shell.Options{Dir: "/w", Home: "/home/u"}
	measure("shell", func(line string) error {
		_, err := shell.Parse(line, place)
		return err
	})
	measure("calls", func(line string) error {
		_, err := Line(line, Options{Packs: packs, Shell: place})
		return err
	})
	measure("forms", func(line string) error {
		_, err := Line(line, Options{Packs: packs, Shell: place, Forms: true})
		return err
	})
	measure("effects", func(line string) error {
		_, err := Line(line, Options{Packs: packs, Shell: place, Effects: true})
		return err
	})
	measure("forms and effects", func(line string) error {
		_, err := Line(line, Options{Packs: packs, Shell: place, Forms: true, Effects: true})
		return err
	})
}

// used is the processor time of the program so far: unlike the time on the clock it is the same on a busy machine.
func used(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
