package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"gatehouse/internal/durable"
)

// Restore makes the live files what the generation from says, and returns the changes that it made or, on a dry run,
// would make. It runs as the gate's user. The steps are:
//
//   - scan the live files and compare them with the generation;
//   - hash what is to be written, and see whether it can be written, before anything is touched;
//   - write new and changed files, each at once and with its mode, each in its own directory;
//   - remove what the generation does not have, files first;
//   - set the modes of directories, and scan again.
//
// Excluded paths are not touched. What the scan refuses is replaced where the generation has a file or a link of this
// path, as if it had changed; else it is left alone with all below it, and reported in a *LeftError when the rest is
// done. So is a live root of which the generation has nothing: that is how a root looks that was configured after the
// last acceptance, and to empty it would help nobody. A run cut short is finished by the next one, which also removes a
// half-written file.
func Restore(ctx context.Context, disk durable.Disk, from *StoredGeneration, src Source, dryRun bool) ([]Change, error) {
	plan, err := planRestore(ctx, from, src)
	if err != nil {
		return nil, fmt.Errorf("restore gate %q: nothing was changed: %w", from.Generation.Gate, err)
	}
	if dryRun {
		return plan.changes, plan.left()
	}
	done, err := plan.apply(ctx, disk)
	if err == nil {
		err = plan.check(ctx)
	}
	if err != nil {
		return done, fmt.Errorf("restore gate %q: %w", from.Generation.Gate, err)
	}
	return done, plan.left()
}

// A LeftError says what Restore did not touch. All else was restored.
type LeftError struct{ Left []Refusal }

func (e *LeftError) Error() string {
	const shown = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%d cannot be judged and are left alone; remove or exclude them:", len(e.Left))
	for i, r := range e.Left {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more", len(e.Left)-shown)
			break
		}
		if i > 0 {
			b.WriteByte(';')
		}
		fmt.Fprintf(&b, " %q (%s)", r.Path, r.Reason)
	}
	return b.String()
}

// A restorePlan is what is to be done, and what is not.
type restorePlan struct {
	from    *StoredGeneration
	src     Source
	want    []Entry // of the generation, without what is excluded
	changes []Change
	kept    []Refusal // left alone
	isKept  map[string]bool
}

func planRestore(ctx context.Context, from *StoredGeneration, src Source) (*restorePlan, error) {
	p := &restorePlan{from: from, src: src, isKept: make(map[string]bool)}
	if err := p.selectEntries(); err != nil {
		return nil, err
	}
	found, err := scan(ctx, src, nil)
	if err != nil {
		return nil, err
	}
	if found.partial {
		return nil, fmt.Errorf("a limit hides some of the live files: %v", found.Refused)
	}
	live := newLiveTree(durable.Disk{}, src)
	for _, r := range found.Refused {
		if !p.replaces(live, r.Path) {
			p.keep(r)
		}
	}
	p.changes = slices.DeleteFunc(Diff(found.Entries, p.want), func(c Change) bool { return p.keeps(c.Path) })
	for i := range p.changes {
		c := &p.changes[i]
		if err := live.writable(c.Path); err != nil {
			return nil, err
		}
		if c.New != nil && c.New.Type == File {
			if err := from.copy(ctx, io.Discard, from.Generation.Find(c.Path)); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// selectEntries takes from the generation what is not excluded, and keeps the live roots that it does not know.
func (p *restorePlan) selectEntries() error {
	matchers, err := p.src.excludes()
	if err != nil {
		return err
	}
	excludes, known := make(map[string]matcher), make(map[string]bool)
	for i, live := range p.src.Live {
		excludes[live.Name] = matchers[i]
	}
	for _, e := range p.from.Generation.Entries {
		name, rel, below := strings.Cut(e.Path, "/")
		m, ok := excludes[name]
		if !ok {
			return fmt.Errorf("the generation has files of %q, and no live root has this name", name)
		}
		known[name] = true
		if !below || !m.covers(rel) {
			p.want = append(p.want, e)
		}
	}
	for _, live := range p.src.Live {
		if _, err := os.Lstat(live.Root); err == nil && !known[live.Name] {
			p.keep(Refusal{live.Name, "unknown: nothing of this live root was accepted, so it is not emptied; accept it, or remove it"})
		}
	}
	return nil
}

// replaces reports whether something that the scan refused at path is to be replaced: the generation has a file or a
// link there, and a rename can put it in its place.
func (p *restorePlan) replaces(live *liveTree, path string) bool {
	e := p.from.Generation.Find(path)
	if e == nil || e.Type == Dir || !strings.Contains(path, "/") {
		return false
	}
	isDir, err := live.isDir(path)
	return err == nil && !isDir
}

// keep leaves what is at path alone, and all below it.
func (p *restorePlan) keep(r Refusal) {
	p.kept = append(p.kept, r)
	p.isKept[r.Path] = true
}

// keeps reports whether path, or a directory above it, is left alone.
func (p *restorePlan) keeps(path string) bool {
	for i := range len(path) {
		if path[i] == '/' && p.isKept[path[:i]] {
			return true
		}
	}
	return p.isKept[path]
}

func (p *restorePlan) left() error {
	if len(p.kept) == 0 {
		return nil
	}
	return &LeftError{p.kept}
}

// apply makes the changes and returns those that it made.
func (p *restorePlan) apply(ctx context.Context, disk durable.Disk) (done []Change, err error) {
	live := newLiveTree(disk, p.src)
	defer func() { err = errors.Join(err, live.close()) }()
	for _, s := range restoreSteps(p.changes) {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if p.keeps(s.change.Path) {
			continue
		}
		err := p.do(ctx, live, s)
		if s.op == removeOp && errors.Is(err, unix.ENOTEMPTY) {
			p.keep(Refusal{s.change.Path, "directory: it holds what is excluded or was left alone"})
			continue
		}
		if err != nil {
			return done, fmt.Errorf("%s %q: %w", s.op, s.change.Path, err)
		}
		if s.last {
			done = append(done, *s.change)
		}
	}
	slices.SortFunc(done, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return done, nil
}

func (p *restorePlan) do(ctx context.Context, live *liveTree, s restoreStep) error {
	path := s.change.Path
	switch s.op {
	case removeOp:
		return live.remove(path)
	case mkdirOp:
		return live.mkdir(path)
	case chmodOp:
		return live.chmod(path, s.change.New.Mode)
	case linkOp:
		return live.symlink(path, s.change.New.Target)
	case writeOp:
		e := p.from.Generation.Find(path)
		return live.write(path, e.Mode, func(to io.Writer) error { return p.from.copy(ctx, to, e) })
	default:
		return fmt.Errorf("unknown step %q", s.op)
	}
}

// check scans once more.
func (p *restorePlan) check(ctx context.Context) error {
	found, err := scan(ctx, p.src, nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range Diff(found.Entries, p.want) {
		if !p.keeps(c.Path) {
			errs = append(errs, fmt.Errorf("%q is not as restored (%s): somebody else is at work on it", c.Path, c.Kind))
		}
	}
	return errors.Join(errs...)
}
