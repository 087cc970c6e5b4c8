package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gatehouse/gate/rules/library"
)

// TestLibraryCatchesWhatItShould plays the fixtures of every entry of the library.
func TestLibraryCatchesWhatItShould(t *testing.T) {
	for _, name := range library.Names() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("../../gate/rules/library/testdata", name+".txt")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := parseSteps(filepath.Base(file), data)
			if err != nil {
				t.Fatal(err)
			}
			g := &globals{index: "/nonexistent"}
			g.streams.Getenv = func(string) string { return "" }
			book, err := g.ruleBook(ruleSource{use: []string{name}})
			if err != nil {
				t.Fatal(err)
			}
			trial := book.trial("/project", "/home/user")
			for _, s := range steps {
				answer, verdicts := trial.play(s)
				if got := answered(s, answer, verdicts); answer != "" && !got.Pass {
					text := fmt.Sprintf("%s: %s expects %s, the rules say %s", got.At, got.Step, got.Expected, got.Answer)
					for _, v := range got.Verdicts {
						text += "\n  " + v.line()
					}
					t.Error(text)
				}
			}
		})
	}
}
