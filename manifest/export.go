package manifest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"gatehouse/internal/safefs"
)

// ErrMismatch means that bytes do not have the digest or the size that was claimed for them. Which ones they have is
// not said: it is nobody's business what a file holds that was not meant to be read.
var ErrMismatch = errors.New("the bytes are not those that the manifest names")

// An Export is what a publisher wrote, in the hands of root, who believes none of it.
type Export struct {
	dir    *safefs.Dir
	limits Limits
}

// OpenExport opens the export in dir, which belongs to the user owner or to root.
func OpenExport(dir string, owner uint32, limits Limits) (*Export, error) {
	opt := safefs.Options{Owners: []uint32{owner}, MaxFile: max(limits.document(), limits.File)}
	d, err := safefs.OpenDir(dir, opt)
	if err != nil {
		return nil, fmt.Errorf("open export: %w", err)
	}
	return &Export{d, limits}, nil
}

// Manifest reads the manifest as it is now. Where there is none, the error is fs.ErrNotExist.
func (e *Export) Manifest(ctx context.Context) (*Manifest, error) {
	data, err := e.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the export's %s: %w", manifestName, err)
	}
	return parse(data, e.limits)
}

// read reads the manifest, again if it was replaced meanwhile: the file that was open then has changed, or has no name
// any more.
func (e *Export) read(ctx context.Context) (string, error) {
	for i := 1; ; i++ {
		text, err := e.readOnce(ctx)
		if i == attempts || !isRefused(err, safefs.InFlux) && !isRefused(err, safefs.Links) {
			return text, err
		}
	}
}

func (e *Export) readOnce(ctx context.Context) (string, error) {
	limit := e.limits.document()
	info, err := e.dir.Lstat(manifestName)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.Grow(int(min(info.Size, limit)))
	_, err = e.dir.CopyFile(&capped{cancellable{ctx, &text}, limit}, manifestName)
	if errors.Is(err, errLonger) {
		err = fmt.Errorf("%w: it has more than %d bytes", ErrInvalid, limit)
	}
	return text.String(), err
}

// ReadObject writes to w the content with the given digest and size. Only when it returns nil, what w got is that
// content; ErrMismatch means that the export has other bytes under this name, fs.ErrNotExist that it has none.
func (e *Export) ReadObject(ctx context.Context, digest string, size int64, w io.Writer) error {
	if err := validDigest(digest); err != nil {
		return fmt.Errorf("read object %q: %w", digest, err)
	}
	if size < 0 || size > e.limits.File {
		return fmt.Errorf("read object %s: %d bytes are more than the limit of %d", digest, size, e.limits.File)
	}
	h := sha256.New()
	to := &capped{cancellable{ctx, io.MultiWriter(h, w)}, size}
	info, err := e.dir.CopyFile(to, objectsName+"/"+objectName(digest))
	if errors.Is(err, errLonger) || err == nil && (info.Size != size || hexSum(h) != digest) {
		err = ErrMismatch
	}
	if err != nil {
		return fmt.Errorf("read object %s: %w", digest, err)
	}
	return nil
}

// Same returns nil if the path given to OpenExport still names the directory that was opened.
func (e *Export) Same() error {
	if err := e.dir.Same(); err != nil {
		return fmt.Errorf("compare export: %w", err)
	}
	return nil
}

// Close closes the export.
func (e *Export) Close() error { return e.dir.Close() }

// errLonger is what a capped writer returns beyond its limit.
var errLonger = errors.New("more bytes than expected")

// A capped writer takes a number of bytes and no more.
type capped struct {
	cancellable
	left int64
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errLonger
	}
	return c.cancellable.Write(p)
}
