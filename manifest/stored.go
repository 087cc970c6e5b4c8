package manifest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"gatehouse/internal/durable"
)

// filesName is the directory of the contents in a generation.
const filesName = "files"

// GenerationPerms say who may read a stored generation.
type GenerationPerms struct {
	Dir, File fs.FileMode
	GID       int // group of all that is written; below 0: as it comes
}

// WriteGeneration stores g with its contents in the directory dir, which must not exist. Each content is hashed while it
// is written, and ErrMismatch ends it all. The manifest comes last, after one flush of the file system, so a directory
// that OpenGeneration opens is complete; one that a crash left is without, and for the caller to remove.
func WriteGeneration(ctx context.Context, disk durable.Disk, dir string, g *Generation,
	content func(Entry) (io.ReadCloser, error), perms GenerationPerms) error {
	w := generationWriter{disk, dir, perms}
	if err := w.write(ctx, g, content); err != nil {
		return fmt.Errorf("write generation %s: %w", dir, err)
	}
	return nil
}

type generationWriter struct {
	disk  durable.Disk
	dir   string
	perms GenerationPerms
}

func (w *generationWriter) write(ctx context.Context, g *Generation, content func(Entry) (io.ReadCloser, error)) error {
	data, err := g.Marshal()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(w.dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	files := filepath.Join(w.dir, filesName)
	if err := errors.Join(w.mkdir(w.dir), w.mkdir(files)); err != nil {
		return err
	}
	made := map[string]bool{".": true}
	for i := range g.Entries {
		e := &g.Entries[i]
		if e.Type != File {
			continue
		}
		stored := EscapePath(e.Path)
		if err := w.mkdirs(files, path.Dir(stored), made); err != nil {
			return err
		}
		if err := w.file(ctx, filepath.Join(files, stored), e, content); err != nil {
			return fmt.Errorf("%q: %w", e.Path, err)
		}
	}
	unnamed := filepath.Join(w.dir, manifestName+".new")
	if err := w.put(unnamed, func(to io.Writer) error { _, err := to.Write(data); return err }); err != nil {
		return err
	}
	if err := w.disk.SyncFS(w.dir); err != nil {
		return err
	}
	return w.disk.Rename(unnamed, filepath.Join(w.dir, manifestName))
}

func (w *generationWriter) file(ctx context.Context, name string, e *Entry, content func(Entry) (io.ReadCloser, error)) error {
	from, err := content(*e)
	if err != nil {
		return err
	}
	defer from.Close()
	return w.put(name, func(to io.Writer) error { return copyVerified(ctx, to, from, e) })
}

// mkdirs makes the directory rel below files, with its parents, unless they are among those made.
func (w *generationWriter) mkdirs(files, rel string, made map[string]bool) error {
	if made[rel] {
		return nil
	}
	made[rel] = true
	if err := w.mkdirs(files, path.Dir(rel), made); err != nil {
		return err
	}
	return w.mkdir(filepath.Join(files, rel))
}

func (w *generationWriter) mkdir(dir string) error {
	if err := makeDir(w.disk, dir, w.perms.Dir); err != nil {
		return err
	}
	return w.chown(dir)
}

func (w *generationWriter) put(name string, fill func(io.Writer) error) error {
	if err := w.disk.PutFrom(name, w.perms.File, fill); err != nil {
		return err
	}
	return w.chown(name)
}

func (w *generationWriter) chown(name string) error {
	if w.perms.GID < 0 {
		return nil
	}
	return w.disk.Do("chown", name, func() error { return os.Chown(name, -1, w.perms.GID) })
}

// A StoredGeneration is a generation in a directory of ours. The directory is opened once; if another takes its place,
// this one goes on being read.
type StoredGeneration struct {
	Generation *Generation
	root       *os.Root
}

// OpenGeneration opens the generation stored in dir. Where there is none, or an unfinished one, the error is
// fs.ErrNotExist. The contents are not looked at.
func OpenGeneration(dir string, limits Limits) (*StoredGeneration, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open generation: %w", err)
	}
	g, err := readGeneration(root, limits)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("open generation %s: %w", dir, err)
	}
	return &StoredGeneration{g, root}, nil
}

func readGeneration(root *os.Root, limits Limits) (*Generation, error) {
	f, err := root.Open(manifestName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limits.document()+1))
	if err != nil {
		return nil, err
	}
	return ParseGeneration(data, limits)
}

// Open returns the bytes of the file with this path, as they are stored: whoever uses them compares their digest.
func (s *StoredGeneration) Open(path string) (io.ReadCloser, error) {
	if e := s.Generation.Find(path); e == nil || e.Type != File {
		return nil, fmt.Errorf("open %q of generation %s: %w", path, s.root.Name(), fs.ErrNotExist)
	}
	return s.root.Open(filesName + "/" + EscapePath(path))
}

// Verify hashes all contents. The error lists what is missing or is not what the manifest says.
func (s *StoredGeneration) Verify(ctx context.Context) error {
	var errs []error
	for i := range s.Generation.Entries {
		if e := &s.Generation.Entries[i]; e.Type == File {
			if err := s.copy(ctx, io.Discard, e); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Close closes the generation.
func (s *StoredGeneration) Close() error { return s.root.Close() }

// copy writes the content of e to w, which may only count if there is no error.
func (s *StoredGeneration) copy(ctx context.Context, w io.Writer, e *Entry) error {
	from, err := s.Open(e.Path)
	if err == nil {
		defer from.Close()
		err = copyVerified(ctx, w, from, e)
	}
	if err != nil {
		return fmt.Errorf("generation %s: %q: %w", s.root.Name(), e.Path, err)
	}
	return nil
}

// copyVerified copies the bytes of e and fails with ErrMismatch unless they have its size and digest.
func copyVerified(ctx context.Context, w io.Writer, from io.Reader, e *Entry) error {
	h := sha256.New()
	n, err := io.Copy(&cancellable{ctx, io.MultiWriter(h, w)}, io.LimitReader(from, e.Size+1))
	if err == nil && (n != e.Size || hexSum(h) != e.SHA256) {
		err = ErrMismatch
	}
	return err
}
