package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"gatehouse/gate/flags"
	"gatehouse/gate/policy"
	"gatehouse/internal/cli"
)

type harvestJSON struct {
	Known    int      `json:"known"`
	Without  []string `json:"without_help"`
	Problems []string `json:"problems"`
}

// seenThrough are wrappers that need no entry of their own, and whose flags are looked at all the same.
func seenThrough() []string {
	return []string{"env", "timeout", "nice", "nohup", "stdbuf", "time", "xargs", "ionice", "setsid"}
}

// harvestWords lists the programs of the allow entries, each with the words behind it that may be subcommands.
func harvestWords(p *policy.Policy) (programs []string, words map[string][][]string) {
	words = map[string][][]string{}
	add := func(program string, sub []string) {
		if _, ok := words[program]; !ok {
			programs = append(programs, program)
			words[program] = [][]string{}
		}
		if len(sub) > 0 && !slices.ContainsFunc(words[program], func(have []string) bool { return slices.Equal(have, sub) }) {
			words[program] = append(words[program], sub)
		}
	}
	for _, entry := range p.Allow {
		all := strings.Fields(entry.Text)
		if len(all) == 0 {
			continue
		}
		sub := all[1:]
		for i, word := range sub {
			if strings.HasPrefix(word, "-") {
				sub = sub[:i]
				break
			}
		}
		add(all[0], sub)
	}
	for _, program := range seenThrough() {
		add(program, nil)
	}
	return programs, words
}

// harvest asks the programs of the allow entries for their flags, some at a time, and shows how far it is on a terminal.
func (g *globals) harvest(ctx context.Context, p *policy.Policy, dir string) *harvestJSON {
	result := &harvestJSON{Without: []string{}, Problems: []string{}}
	machine, err := flags.Machine()
	if err != nil {
		result.Problems = append(result.Problems, err.Error())
		return result
	}
	programs, words := harvestWords(p)
	var mu sync.Mutex
	progress := newProgress(g.streams, "flags", len(programs))
	if progress.out == nil {
		fmt.Fprintf(g.streams.Err, "asking %s for their flags; that can take a minute\n", count(len(programs), "program"))
	}
	defer progress.done()
	quiet := *g // the entries that cannot be kept are said once, below
	quiet.streams.Err = io.Discard
	work := make(chan string)
	var wg sync.WaitGroup
	for range min(4, max(1, runtime.NumCPU())) {
		wg.Go(func() {
			for name := range work {
				known, without, err := quiet.harvestOne(ctx, machine, dir, name, words[name])
				mu.Lock()
				result.Known += known
				result.Without = append(result.Without, without...)
				if err != nil && ctx.Err() == nil {
					result.Problems = append(result.Problems, fmt.Sprintf("flags of %s: %v", name, err))
				}
				progress.step(name)
				mu.Unlock()
			}
		})
	}
	for _, name := range programs {
		if ctx.Err() != nil {
			break
		}
		work <- name
	}
	close(work)
	wg.Wait()
	slices.Sort(result.Without)
	slices.Sort(result.Problems)
	return result
}

// harvestOne asks one program, and for each list of words as deep as they are its subcommands.
func (g *globals) harvestOne(ctx context.Context, machine, dir, name string, subs [][]string) (known int, without []string, err error) {
	path, err := program(name)
	if err != nil {
		return 0, nil, nil // not on this machine, or a part of the shell
	}
	h := &flags.Harvester{
		Reexec:  []string{os.Args[0], "flags", "--confined", "--"},
		Allowed: func(asked string) bool { return asked == path },
		Getenv:  g.streams.Getenv,
		Machine: machine,
	}
	stores := g.flagStores(dir)
	top, err := g.learn(ctx, h, stores, false, path, nil, nil)
	if err != nil {
		return 0, nil, err
	}
	if len(top.Flags) == 0 && len(top.Subcommands) == 0 {
		return 0, []string{name}, nil
	}
	known = 1
	done := map[string]*flags.Entry{"": top}
	for _, sub := range subs {
		for n := 1; n <= len(sub); n++ {
			key := strings.Join(sub[:n], " ")
			if done[key] != nil {
				continue
			}
			entry, err := g.learn(ctx, h, stores, false, path, sub[:n], done[strings.Join(sub[:n-1], " ")])
			if errors.Is(err, flags.ErrNoSubcommand) || errors.Is(err, fs.ErrNotExist) {
				break // an operand, such as the name of a script
			}
			if err != nil {
				return known, without, err
			}
			done[key] = entry
			known++
		}
	}
	return known, without, nil
}

// A progress is one line on a terminal that says how far something is; elsewhere it says nothing.
type progress struct {
	out       io.Writer
	what      string
	at, total int
}

func newProgress(streams cli.Streams, what string, total int) *progress {
	p := &progress{what: what, total: total}
	if streams.Interactive() {
		p.out = streams.Err
	}
	return p
}

func (p *progress) step(name string) {
	p.at++
	if p.out != nil {
		fmt.Fprintf(p.out, "\r\x1b[K  %s %d/%d  %s", p.what, p.at, p.total, cli.Line(name))
	}
}

func (p *progress) done() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
