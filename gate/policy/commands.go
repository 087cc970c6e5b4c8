package policy

import "strings"

// Commands returns what the entries of allow run, each once: the program, as written, and its subcommands. They are the
// commands whose flags are wanted.
func (p *Policy) Commands() [][]string {
	var list [][]string
	seen := make(map[string]bool)
	for i := range p.Allow {
		for j := range p.Allow[i].begins {
			f := &p.Allow[i].begins[j]
			words := append([]string{""}, f.path[1:]...)
			if words[0] = f.base; f.file != "" {
				words[0] = f.file
				if !strings.Contains(f.file, "/") {
					words[0] = "./" + f.file
				}
			}
			if key := strings.Join(words, "\x00"); !seen[key] {
				seen[key] = true
				list = append(list, words)
			}
		}
	}
	return list
}
