package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

// TestTheManualOfLTLShowsRealAnswers asks the questions of docs/ltl.md.
func TestTheManualOfLTLShowsRealAnswers(t *testing.T) {
	text, err := os.ReadFile("../../docs/ltl.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```jsonl\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of JSON lines, want the questions and the answers", len(blocks))
	}
	var out bytes.Buffer
	if err := judgeObjects(bytes.NewReader(blocks[0][1]), &out); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), string(blocks[1][1]); got != want {
		t.Errorf("got\n%s\nthe manual says\n%s", got, want)
	}
}
