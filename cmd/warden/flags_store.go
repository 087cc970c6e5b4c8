package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gatehouse/gate/flags"
	"gatehouse/internal/cli"
	"gatehouse/internal/safefs"
)

// Of what a harvest leaves.
const (
	maxAnswer   = 1 << 20
	maxNamed    = 5000 // flags, and subcommands, of one program
	maxProblem  = 300  // bytes
	incomingDir = ".incoming"
)

// storeFlags takes the answers of a harvest into root's store. They lie in a directory of whoever made them, so they are
// read as what an enemy owns, copied to where nobody else can change them, and looked at there: an answer counts if
//
//   - it was asked for,
//   - it is about the very file that root sees at that path, by its stat and by its content, on this machine,
//   - and it names flags and subcommands that could be such.
//
// What such an answer can do to the gate is then no more than what that program could say of itself in its help.
func storeFlags(ctx context.Context, g *globals, dir string) error {
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	list, err := s.readWanted()
	if err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	machine, err := flags.Machine()
	if err != nil {
		return err
	}
	incoming := filepath.Join(s.flagsDir(), incomingDir)
	disk := s.warden.Disk
	if err := errors.Join(disk.RemoveAll(incoming), disk.MkdirAll(incoming, 0o700)); err != nil {
		return err
	}
	problems, err := takeAnswers(ctx, s, dir, incoming)
	if err != nil {
		return errors.Join(fmt.Errorf("flags: take the answers in %s: %w", dir, err), disk.RemoveAll(incoming))
	}
	t := tried{triedSchema, list.digest(), make(map[string]string)}
	stored := 0
	for _, c := range list.Commands {
		entry, err := flags.Lookup([]flags.Store{{Dir: incoming}}, machine, c.Path, c.Sub)
		if err == nil {
			err = plausible(entry)
		}
		if err == nil {
			err = s.flagStore().Save(disk, entry)
		}
		switch why := problems[c.key()]; {
		case err == nil:
			stored++
		case errors.Is(err, flags.ErrMiss) && why != "":
			t.Problems[c.key()] = short(why)
		default:
			t.Problems[c.key()] = short(err.Error())
		}
	}
	if err := disk.RemoveAll(incoming); err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	fmt.Fprintf(g.streams.Out, "stored %d of %d\n", stored, len(list.Commands))
	return disk.WriteFile(filepath.Join(s.flagsDir(), triedFile), append(data, '\n'), 0o644)
}

// takeAnswers copies what is in dir, and returns the problems that the harvest had.
func takeAnswers(ctx context.Context, s *site, dir, incoming string) (map[string]string, error) {
	// For a user that was made for the run, systemd leaves a link of its own there.
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	from, err := safefs.OpenDir(dir, safefs.Options{Owners: []uint32{info.Sys().(*syscall.Stat_t).Uid}, MaxFile: maxAnswer})
	if err != nil {
		return nil, err
	}
	defer from.Close()
	names, err := from.List(2 * maxWanted)
	if err != nil {
		return nil, err
	}
	problems := make(map[string]string)
	var buffer []byte
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, _, err := from.ReadFile(name, buffer)
		if err != nil {
			continue // no answer then
		}
		buffer = data
		if name == problemsFile {
			if json.Unmarshal(data, &problems) != nil {
				problems = nil
			}
			continue
		}
		if err := s.warden.Disk.Put(filepath.Join(incoming, filepath.Base(name)), data, 0o600); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// plausible reports what an answer holds that no program has, and that it was made from another file.
func plausible(e *flags.Entry) error {
	sum, err := sumFile(e.File.Path)
	switch {
	case err != nil:
		return err
	case sum != e.File.SHA256:
		return errors.New("the answer is about another file")
	case len(e.Flags) > maxNamed || len(e.Subcommands) > maxNamed || len(e.Sources) > maxNamed:
		return errors.New("the answer is too long")
	}
	for _, f := range e.Flags {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, func(name string) bool { return !strings.HasPrefix(name, "-") || !oneWord(name) }) {
			return fmt.Errorf("the answer has a flag %q", f.Names)
		}
	}
	if i := slices.IndexFunc(e.Subcommands, func(name string) bool { return strings.HasPrefix(name, "-") || !oneWord(name) }); i >= 0 {
		return fmt.Errorf("the answer has a subcommand %q", e.Subcommands[i])
	}
	return nil
}

// oneWord reports whether text is one word of plain characters.
func oneWord(text string) bool {
	return text != "" && len(text) <= 200 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func sumFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func short(text string) string {
	text = cli.Line(strings.ReplaceAll(text, "\n", "; "))
	return text[:min(len(text), maxProblem)]
}
