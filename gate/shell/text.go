package shell

import "strings"

// joinTexts is the text of words that a wrapper runs, with quotes where one needs them to read it.
func joinTexts(words []Word) string {
	var out strings.Builder
	for i, word := range words {
		if i > 0 {
			out.WriteByte(' ')
		}
		if word.State == Exact && (word.Text == "" || strings.ContainsAny(word.Text, " \t\n'\"\\$`*?[]{}()<>|&;#~!")) {
			out.WriteString(singleQuoted(word.Text))
			continue
		}
		out.WriteString(word.Text)
	}
	return out.String()
}

func singleQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
