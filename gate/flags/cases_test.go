package flags

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A wanted flag as the case file writes it.
type wanted struct {
	Names       []string  `json:"names"`
	Value       string    `json:"value"`
	Choices     *[]string `json:"choices"`
	Arity       int       `json:"arity"`
	Repeat      bool      `json:"repeat"`
	Variadic    bool      `json:"variadic"`
	EndsOptions bool      `json:"ends_options"`
	Uncertain   bool      `json:"uncertain"`
	Pattern     string    `json:"pattern"`
}

func TestCases(t *testing.T) {
	file, err := os.Open("testdata/help.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var c struct {
			ID          string   `json:"id"`
			Text        string   `json:"help_text"`
			Flags       []wanted `json:"flags"`
			Subcommands []string `json:"subcommands"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		count++
		t.Run(c.ID, func(t *testing.T) {
			help := Parse(c.Text)
			got := []wanted{}
			for _, f := range help.Flags {
				w := wanted{f.Names, f.Value.String(), nil, f.Arity, f.Repeat, f.Variadic, f.EndsOptions, f.Uncertain, ""}
				if f.Choices != nil {
					w.Choices = &f.Choices
				}
				if f.Digits {
					w.Pattern = "-[0-9]+"
				}
				got = append(got, w)
			}
			for i := range got { // what a case does not mention is not judged
				at := slices.IndexFunc(c.Flags, func(w wanted) bool { return slices.Equal(w.Names, got[i].Names) })
				if at < 0 {
					continue
				}
				got[i].Uncertain = got[i].Uncertain && c.Flags[at].Uncertain
			}
			byName := func(a, b wanted) int { return slices.Compare(a.Names, b.Names) }
			slices.SortFunc(got, byName)
			slices.SortFunc(c.Flags, byName)
			if diff := cmp.Diff(c.Flags, got); diff != "" {
				t.Errorf("flags (-want +got)\n%s", diff)
			}
			if c.Subcommands != nil {
				if diff := cmp.Diff(c.Subcommands, help.Subcommands); diff != "" {
					t.Errorf("subcommands (-want +got)\n%s", diff)
				}
			}
		})
	}
	if count < 39 {
		t.Errorf("read %d cases", count)
	}
}
