package flags

import "testing"

func TestKnownWords(t *testing.T) {
	ls := Parse("Usage: x [OPTION]...\n  -a, --all       all\n  -n, --lines=N   lines\n  -o FILE         output\n" +
		"  -i[SUF], --in-place[=SUF]  edit\n  -name PATTERN   long with one dash\n  -Wl,<options>   to the linker\n")
	head := Parse("  -NUM  same as -n NUM\n  -q    quiet\n")
	gitLog := Parse("  -<number>, -n <number>, --max-count=<number>\n    limit\n")
	golang := Parse("Usage of x:\n  -run string\n    \tpattern\n  -v\tverbose\n")
	for _, test := range []struct {
		help    Help
		word    string
		numbers bool
		known   bool
		value   Value
		text    string
		next    bool
	}{
		{ls, "-a", false, true, None, "", false},
		{ls, "--all", false, true, None, "", false},
		{ls, "--al", false, false, Unknown, "", false},
		{ls, "--all=x", false, false, None, "x", false},
		{ls, "--lines=3", false, true, Required, "3", false},
		{ls, "--lines", false, true, Required, "", true},
		{ls, "-n5", false, true, Required, "5", false},
		{ls, "-an5", false, true, Required, "5", false},
		{ls, "-an", false, true, Required, "", true},
		{ls, "-aofile", false, true, Required, "file", false},
		{ls, "-ab", false, false, Unknown, "", false},
		{ls, "-ba", false, false, Unknown, "", false},
		{ls, "-i.bak", false, true, Optional, ".bak", false},
		{ls, "-i", false, true, Optional, "", false},
		{ls, "-name", false, true, Required, "", true},
		{ls, "-Wl,-x", false, true, Required, "-x", false},
		{ls, "-Wx", false, false, Unknown, "", false},
		{ls, "-20", false, false, Unknown, "", false},
		{ls, "-20", true, true, None, "", false},
		{ls, "-a20", true, true, Unknown, "20", false},
		{ls, "--", false, true, Unknown, "", false},
		{ls, "-", false, false, Unknown, "", false},
		{ls, "file", false, false, Unknown, "", false},
		{ls, "-é", false, false, Unknown, "", false},
		{ls, "-\xff", false, false, Unknown, "", false},
		{head, "-20", false, true, Required, "20", false},
		{head, "-NUM", false, false, Unknown, "", false},
		{gitLog, "-20", false, true, Required, "20", false},
		{gitLog, "--max-count=5", false, true, Required, "5", false},
		{gitLog, "--max-count", false, true, Required, "", true},
		{gitLog, "-n5", false, true, Required, "5", false},
		{gitLog, "-<number>", false, false, Unknown, "", false},
		{head, "-q5", false, true, Unknown, "5", false},
		{golang, "--run", false, true, Required, "", true},
		{golang, "-run=x", false, true, Required, "x", false},
		{golang, "-v=true", false, true, Optional, "true", false},
		{golang, "-vrun", false, false, Unknown, "", false},
		{Help{}, "-x", false, false, Unknown, "", false},
	} {
		got := test.help.Known(test.word, test.numbers)
		value := got.Value
		if got.Known != test.known || got.Text != test.text || got.Next != test.next || got.Known && value != test.value && got.Flag != nil && !got.Flag.Digits {
			t.Errorf("%q (numbers %t): %+v, want %+v", test.word, test.numbers, got, test)
		}
		if !got.Known && got.Why == "" {
			t.Errorf("%q: refused without a reason", test.word)
		}
	}
}

func TestTheZeroAnswerRefuses(t *testing.T) {
	if (Answer{}).Known || Value(0) != Unknown {
		t.Error("zero values must not say yes")
	}
}

func TestHiddenTextsAreRead(t *testing.T) {
	for _, test := range []struct{ program, sub, word string }{
		{"grep", "", "-y"}, {"zgrep", "", "-A3"}, {"find", "", "-newermt"}, {"sed", "", "--zero-terminated"}, {"diff", "", "--new-line-format=x"},
		{"gzip", "", "--to-stdout"}, {"jq", "", "--raw-output"}, {"jq", "", "-rn"}, {"od", "", "-X"}, {"xxd", "", "-p"}, {"ps", "", "--forest"},
		{"ps", "", "--sort=-rss"}, {"node", "", "--max-old-space-size=4096"}, {"npm", "run", "--silent"}, {"npm", "run", "-ws"}, {"git", "diff", "--staged"},
		{"git", "show", "--no-stat"}, {"git", "log", "--stat-width=80"}, {"git", "reflog", "--since=1.day"}, {"systemctl", "", "--no-legend"},
	} {
		h := Parse(hidden(test.program, test.sub))
		if a := h.Known(test.word, false); !a.Known {
			t.Errorf("%s %s %s is not known: %s", test.program, test.sub, test.word, a.Why)
		}
	}
	if text := hidden("cat", ""); text != "" {
		t.Errorf("cat has hidden options: %q", text)
	}
}
