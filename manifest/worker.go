package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync/atomic"

	"gatehouse/internal/safefs"
)

// A keeper keeps contents by their digest.
type keeper interface {
	// has reports whether the content is kept already.
	has(digest string, size int64) (bool, error)
	keep(digest string, data []byte) error
	// keepFrom keeps what fill writes, and nothing if fill fails.
	keepFrom(digest string, fill func(io.Writer) error) error
}

// smallFile is how many bytes are read into memory as a whole. What has more is streamed.
const smallFile = 1 << 20

// A batch is some files of one directory. To hand over files one by one would cost more than to read small ones.
type batch struct {
	dir   *handle
	files []job
	size  int64
}

// A job is a file to be read.
type job struct {
	name string // in the directory of its batch
	path string
	seen int64 // its size as the walker saw it, which is part of the total
}

// A worker reads files.
type worker struct {
	findings
	limits Limits
	total  *atomic.Int64
	keep   keeper
	buf    []byte
}

// do reads the files of a batch, or as many as ctx lets it.
func (w *worker) do(ctx context.Context, b *batch) error {
	defer b.dir.release()
	for i := range b.files {
		if ctx.Err() != nil {
			return nil
		}
		if err := w.file(ctx, b.dir, &b.files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) file(ctx context.Context, dir *handle, j *job) error {
	c, err := persist(func() (content, error) { return w.read(ctx, dir, j) })
	if err == nil && !reserve(w.total, c.info.Size-j.seen, w.limits.Total) {
		err = &safefs.RefusedError{Name: j.name, Reason: safefs.Size, Hint: tooMuch(w.limits)}
	}
	if err != nil {
		w.total.Add(-j.seen)
		return w.refuse(j.path, err)
	}
	e := w.add(j.path, File, &c.info)
	e.Size, e.SHA256 = c.info.Size, c.digest
	return nil
}

// A content is what one complete read of a file found.
type content struct {
	info   safefs.Info
	digest string
}

func (w *worker) read(ctx context.Context, dir *handle, j *job) (content, error) {
	if j.seen > smallFile {
		return w.stream(ctx, dir, j)
	}
	if w.buf == nil {
		w.buf = make([]byte, 0, 256<<10)
	}
	data, info, err := dir.ReadFile(j.name, w.buf)
	if err != nil {
		return content{}, grown(err)
	}
	w.buf = data
	sum := sha256.Sum256(data)
	c := content{info, hex.EncodeToString(sum[:])}
	if w.keep == nil {
		return c, nil
	}
	if has, err := w.keep.has(c.digest, info.Size); has || err != nil {
		return c, err
	}
	return c, w.keep.keep(c.digest, data)
}

// stream reads a large file, and a second time if its content is to be kept.
func (w *worker) stream(ctx context.Context, dir *handle, j *job) (content, error) {
	h := sha256.New()
	info, err := dir.CopyFile(&cancellable{ctx, h}, j.name)
	if err != nil {
		return content{}, err
	}
	c := content{info, hexSum(h)}
	if w.keep == nil {
		return c, nil
	}
	if has, err := w.keep.has(c.digest, info.Size); has || err != nil {
		return c, err
	}
	return c, w.keep.keepFrom(c.digest, func(to io.Writer) error {
		h.Reset()
		again, err := dir.CopyFile(&cancellable{ctx, io.MultiWriter(h, to)}, j.name)
		if err == nil && (again != info || hexSum(h) != c.digest) {
			err = inFlux(j.name)
		}
		return err
	})
}

// grown says what it means that a small file is refused for its size: that it is not small any more.
func grown(err error) error {
	if isRefused(err, safefs.Size) {
		return inFlux("")
	}
	return err
}

func inFlux(name string) error {
	return &safefs.RefusedError{Name: name, Reason: safefs.InFlux, Hint: "it changed while it was read"}
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// A cancellable writer fails when its context is done.
type cancellable struct {
	ctx context.Context
	w   io.Writer
}

func (c *cancellable) Write(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
