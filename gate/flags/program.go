package flags

import (
	"path/filepath"
	"slices"
	"strings"
)

// A program says how one program that has its own ways is asked. %s stands for the words of the subcommand.
type program struct {
	names    []string
	root     [][]string // arguments that print help for the program as a whole
	sub      [][]string // and for a subcommand
	commands []string   // arguments that print the names of the subcommands and nothing else
	complete []string   // arguments that print the flags of a subcommand, one a word, = after those with a value
	extra    map[string][][]string
	man      bool // the manual page has more than the help
}

const words = "%s"

// programs are those whose --help is not the whole truth. It is a function since the gate starts before every command,
// and seldom asks.
func programs() []program {
	return []program{
		{
			names:    []string{"git"},
			root:     [][]string{{"--help"}},
			sub:      [][]string{{words, "-h"}},
			commands: []string{"--list-cmds=main,others,nohelpers"},
			complete: []string{words, "--git-completion-helper-all"},
			extra:    map[string][][]string{"diff": {{"diff", "--no-index", "-h"}}},
			man:      true,
		},
		{
			names: []string{"go"},
			root:  [][]string{{"help"}},
			sub:   [][]string{{"help", words}},
			extra: map[string][][]string{
				"test": {{"help", "testflag"}, {"help", "build"}}, "run": {{"help", "build"}}, "install": {{"help", "build"}}, "list": {{"help", "build"}},
				"vet": {{"help", "build"}}, "get": {{"help", "build"}}, "generate": {{"help", "build"}},
			},
		},
		{
			names: []string{"kubectl"},
			root:  [][]string{{"--help"}, {"options"}},
			sub:   [][]string{{words, "--help"}, {"options"}},
		},
		{names: []string{"curl"}, root: [][]string{{"--help", "all"}}},
		{names: []string{"ps"}, root: [][]string{{"--help", "all"}}},
		{names: []string{"ffmpeg", "ffprobe", "ffplay"}, root: [][]string{{"-hide_banner", "-h", "full"}}},
		{names: []string{"openssl"}, root: [][]string{{"help"}}, sub: [][]string{{words, "-help"}}},
		{names: []string{"gcc", "g++", "cc", "c++", "cpp"}, root: [][]string{{"--help"}}, man: true},
		{names: []string{"python3", "python"}, root: [][]string{{"--help"}}},
		{names: []string{"ip", "tc", "bridge"}, root: [][]string{{"-help"}}, sub: [][]string{{words, "help"}}},
		{names: []string{"java"}, root: [][]string{{"--help"}, {"-X"}}},
		{names: []string{"perl"}, root: [][]string{{"-h"}}, man: true},
		{names: []string{"mvn"}, root: [][]string{{"--help"}}},
		{names: []string{"ssh", "scp", "sftp", "ssh-keygen", "ssh-add", "find", "awk", "mawk", "gawk", "sh", "dash", "bash", "lsof"}, root: [][]string{{"--help"}}, man: true},
	}
}

// programFor returns how the program at path is asked. Versions in the name do not matter: python3.11.
func programFor(path string) program {
	base := filepath.Base(path)
	plain := strings.TrimRight(strings.TrimRight(base, "0123456789."), "-")
	for _, p := range programs() {
		if slices.Contains(p.names, base) || slices.Contains(p.names, plain) {
			if p.sub == nil {
				p.sub = [][]string{{words, "--help"}}
			}
			return p
		}
	}
	return program{root: [][]string{{"--help"}}, sub: [][]string{{words, "--help"}}}
}

// fill puts the words of the subcommand into arguments.
func fill(args, sub []string) (out []string) {
	for _, arg := range args {
		if arg == words {
			out = append(out, sub...)
		} else {
			out = append(out, arg)
		}
	}
	return out
}

// hasManual reports whether a manual page of that name is about this very file: programs of a system directory, not what
// somebody put elsewhere under a known name.
func hasManual(path string) bool {
	return slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}, filepath.Dir(path))
}

// stops reports whether -h means something else to the program than help, with consequences.
func stops(path string) bool {
	return slices.Contains([]string{"shutdown", "halt", "poweroff", "reboot", "telinit", "init"}, filepath.Base(path))
}
