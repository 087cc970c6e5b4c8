package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gatehouse/gate/flags"
	"gatehouse/gate/policy"
	"gatehouse/internal/cli"
)

// programFindings say which programs of allow entries are not here, and which are not those that an entry means.
func (g *globals) programFindings(p *policy.Policy) []finding {
	missing := missingProgram()
	var absent, others []string
	for _, entry := range p.Allow {
		name, _, _ := strings.Cut(entry.Text, " ")
		if missing(name) {
			if !slices.Contains(absent, name) {
				absent = append(absent, name)
			}
			continue
		}
		if why := entryProblem(entry, name); why != "" {
			others = append(others, fmt.Sprintf("%s: %s", entry.At, why))
		}
	}
	var findings []finding
	if len(absent) > 0 {
		findings = append(findings, finding{What: "programs", State: none,
			Text: "allowed, and not on PATH: " + strings.Join(absent, ", "), Way: "nothing is wrong with that; lines that use them are refused"})
	} else {
		findings = append(findings, finding{What: "programs", State: ok, Text: "all that the policy allows are on this machine"})
	}
	if len(others) > 0 {
		findings = append(findings, finding{What: "trust", State: wrong, Text: "entries whose program is not the one that they mean", More: others,
			Way: "look at the program; where it is right, change trust or sha256 of the entry"})
	}
	return findings
}

// entryProblem says why the program is not what trust or sha256 of its entry want.
func entryProblem(e policy.Entry, name string) string {
	if !e.Trust && e.SHA256 == "" {
		return ""
	}
	path, err := program(name)
	if err != nil {
		return err.Error()
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err.Error()
	}
	if e.Trust {
		for p := path; ; p = filepath.Dir(p) {
			info, err := os.Stat(p)
			if err != nil {
				return err.Error()
			}
			st, ok := info.Sys().(*syscall.Stat_t)
			sticky := info.IsDir() && info.Mode()&os.ModeSticky != 0
			if !ok || st.Uid != 0 || info.Mode().Perm()&0o022 != 0 && !sticky {
				return fmt.Sprintf("%s can be written by others than root", cli.Printable(p))
			}
			if p == "/" {
				break
			}
		}
	}
	if e.SHA256 != "" {
		sum, err := digestOf(path)
		if err != nil {
			return err.Error()
		}
		if sum != e.SHA256 {
			return fmt.Sprintf("%s has the digest %s, not %.12s…", cli.Printable(path), sum, e.SHA256)
		}
	}
	return ""
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// flagsFinding says for which allowed commands a check cannot know the flags, and so refuses them.
func (g *globals) flagsFinding(p *policy.Policy, dir string) finding {
	f := finding{What: "flags"}
	if p.CheckFlags != policy.Help {
		return finding{What: "flags", State: none, Text: "the policy does not compare flags with the help of programs"}
	}
	machine, err := flags.Machine()
	if err != nil {
		f.Text = err.Error()
		return f
	}
	stores := g.flagStores(g.flagsPolicy(dir))
	var unknown []string
	known := 0
	programs, words := harvestWords(p)
	for _, name := range programs {
		path, err := program(name)
		if err != nil {
			continue
		}
		top, err := flags.Lookup(stores, machine, path, nil)
		if err != nil {
			if !errors.Is(err, flags.ErrMiss) {
				f.Text = err.Error()
				return f
			}
			unknown = append(unknown, name)
			continue
		}
		known++
		for _, sub := range words[name] {
			entry := top
			for n := 1; n <= len(sub) && slices.Contains(entry.Subcommands, sub[n-1]); n++ {
				if entry, err = flags.Lookup(stores, machine, path, sub[:n]); err != nil {
					if full := name + " " + strings.Join(sub[:n], " "); !slices.Contains(unknown, full) {
						unknown = append(unknown, full)
					}
					break
				}
				known++
			}
		}
	}
	if len(unknown) == 0 {
		f.State, f.Text = ok, fmt.Sprintf("those of %d commands are known", known)
		return f
	}
	f.State, f.Text = wrong, fmt.Sprintf("not known of %d that are allowed, so a line that gives them flags is refused: %s", len(unknown), shorten(strings.Join(unknown, ", "), 200))
	f.Way = "gate doctor --learn asks them; gate flags NAME asks one"
	return f
}
