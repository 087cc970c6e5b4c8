package policy

import (
	"os"
	"strings"
	"testing"
)

// TestTheManualIsRight reads every example of docs/gate-yaml.md, and tries the rows of its table of entries.
func TestTheManualIsRight(t *testing.T) {
	data, err := os.ReadFile("../../docs/gate-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for i, block := range strings.Split(string(data), "```") {
		text, yaml := strings.CutPrefix(block, "yaml\n")
		if i%2 == 0 || !yaml {
			continue
		}
		examples++
		if !strings.Contains(text, "version:") {
			text = "version: 1\n" + text
		}
		if _, err := Parse("gate.yaml", []byte(text), bundled()); err != nil {
			t.Errorf("%s%v", text, err)
		}
	}
	rows := 0
	_, table, _ := strings.Cut(string(data), "| this entry of `allow` |")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows++
		p := listed(t, []string{code(cells[1])[0]}, nil)
		for at, want := range map[int]bool{2: true, 3: false} {
			for _, line := range code(cells[at]) {
				if strings.HasPrefix(line, "--") {
					continue // a part of a sentence
				}
				list := calls(t, line)
				all := true
				for _, c := range p.Cover(list, onPath) {
					all = all && c.OK()
				}
				if all != want {
					t.Errorf("%s: covered %v, and the manual says %v", line, all, want)
				}
			}
		}
	}
	if examples < 6 || rows < 10 {
		t.Errorf("the manual has only %d examples and %d rows", examples, rows)
	}
}

// code are the texts between backquotes.
func code(s string) (list []string) {
	for i, text := range strings.Split(s, "`") {
		if i%2 == 1 {
			list = append(list, text)
		}
	}
	return list
}
