package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"gatehouse/gate/flags"
	"gatehouse/internal/durable"
)

// problemsFile is where the harvest says which programs gave no answer, and why.
const problemsFile = "problems.json"

// harvestFlags asks the wanted programs. It is what gatehouse-flags.service runs as a user of its own: what a program
// answers, and what it does to this process, is worth no more than the program. Root checks all of it (storeFlags).
func harvestFlags(ctx context.Context, g *globals, dir string) error {
	if os.Geteuid() == 0 {
		return errors.New("flags --harvest-to runs what gates name, so not as root; gatehouse-flags.service has a user for it")
	}
	s, err := g.openForPass()
	if err != nil {
		return err
	}
	list, err := s.readWanted()
	if errors.Is(err, fs.ErrNotExist) {
		list, err = new(wanted), nil
	}
	if err != nil {
		return err
	}
	machine, err := flags.Machine()
	if err != nil {
		return err
	}
	h := harvest{
		Harvester: flags.Harvester{
			Reexec:  []string{os.Args[0], "flags", "--confined", "--"},
			Allowed: func(string) bool { return true }, // root wrote the list
			Machine: machine,
		},
		into:     flags.Store{Dir: dir},
		problems: make(map[string]string),
	}
	// One program after the other, since a subcommand needs the answer of what is before it; two programs at a time.
	groups := make(chan []wantedCommand)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for group := range groups {
				h.program(ctx, group)
			}
		})
	}
	for len(list.Commands) > 0 {
		n := 1
		for n < len(list.Commands) && list.Commands[n].Path == list.Commands[0].Path {
			n++
		}
		groups <- list.Commands[:n]
		list.Commands = list.Commands[n:]
	}
	close(groups)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := json.Marshal(h.problems)
	if err != nil {
		return err
	}
	fmt.Fprintf(g.streams.Out, "%d answers, %d without\n", h.answers, len(h.problems))
	return durable.Disk{}.WriteFile(filepath.Join(dir, problemsFile), data, 0o644)
}

type harvest struct {
	flags.Harvester
	into flags.Store

	mu       sync.Mutex
	problems map[string]string
	answers  int
}

// program asks a program, and then for its subcommands.
func (h *harvest) program(ctx context.Context, commands []wantedCommand) {
	entries := make(map[string]*flags.Entry)
	for _, c := range commands {
		var parent *flags.Entry
		err := ctx.Err()
		if n := len(c.Sub); n > 0 && err == nil {
			before := wantedCommand{Path: c.Path, Sub: c.Sub[:n-1]}
			if parent = entries[before.key()]; parent == nil {
				err = errors.New("the program did not say which subcommands it has")
			}
		}
		var entry *flags.Entry
		if err == nil {
			entry, err = h.Harvest(ctx, c.Path, c.Sub, parent)
		}
		if err == nil {
			err = h.into.Save(durable.Disk{}, entry)
		}
		h.mu.Lock()
		if err != nil {
			h.problems[c.key()] = err.Error()
		} else {
			entries[c.key()] = entry
			h.answers++
		}
		h.mu.Unlock()
	}
}
