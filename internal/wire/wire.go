// Package wire is the binary form of what the gate reads before every command: a compiled policy, the memory of rules.
//
// A Writer appends numbers as varints and texts with their length before them. A Reader takes them back in the same
// order. It keeps its first error and returns zero values from then on, so that a caller checks once, at the end, and
// no length that stands in the data makes it allocate more than the data is long. A text that is read is a part of the
// data and costs nothing. There is no description of the data in it: the two sides agree by a magic line with a version.
//
// It knows no other package of the module.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A Writer appends values. The zero Writer is empty.
type Writer struct{ b []byte }

// Bytes returns what was written.
func (w *Writer) Bytes() []byte { return w.b }

// Raw appends text as it is: a magic line.
func (w *Writer) Raw(text string) { w.b = append(w.b, text...) }

// Uint appends a number.
func (w *Writer) Uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// Int appends a number that may be negative.
func (w *Writer) Int(n int64) { w.b = binary.AppendVarint(w.b, n) }

// Bool appends a truth.
func (w *Writer) Bool(t bool) {
	if t {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// Text appends a text.
func (w *Writer) Text(s string) {
	w.Uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

// Texts appends a list of texts.
func (w *Writer) Texts(list []string) {
	w.Uint(uint64(len(list)))
	for _, s := range list {
		w.Text(s)
	}
}

// A Reader takes values from data in the order in which they were written.
type Reader struct {
	data string
	err  error
}

// NewReader returns a reader of data.
func NewReader(data string) *Reader { return &Reader{data: data} }

var errShort = errors.New("the data is cut short")

// Err returns what went wrong first, nil if nothing did.
func (r *Reader) Err() error { return r.err }

// Fail records what the caller found wrong, unless something was wrong before.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err, r.data = err, ""
	}
}

// Done returns Err, or an error if something is left that was not read.
func (r *Reader) Done() error {
	if r.err == nil && r.data != "" {
		r.Fail(fmt.Errorf("%d bytes follow the end of the data", len(r.data)))
	}
	return r.err
}

// Raw takes text, which must stand there as it is.
func (r *Reader) Raw(text string) {
	if len(r.data) < len(text) || r.data[:len(text)] != text {
		r.Fail(fmt.Errorf("the data does not begin with %q", text))
		return
	}
	r.data = r.data[len(text):]
}

// Uint takes a number.
func (r *Reader) Uint() uint64 {
	var n uint64
	for i := 0; i < len(r.data) && i < binary.MaxVarintLen64; i++ {
		b := r.data[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break // more than 64 bits
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.data = r.data[i+1:]
			return n
		}
	}
	r.Fail(errShort)
	return 0
}

// Int takes a number that may be negative.
func (r *Reader) Int() int64 {
	n := r.Uint()
	return int64(n>>1) ^ -int64(n&1)
}

// Bool takes a truth.
func (r *Reader) Bool() bool {
	n := r.Uint()
	if n > 1 {
		r.Fail(fmt.Errorf("%d is no truth", n))
	}
	return n == 1
}

// Len takes the number of things that follow, each of which is at least one byte long.
func (r *Reader) Len() int {
	n := r.Uint()
	if n > uint64(len(r.data)) {
		r.Fail(errShort)
		return 0
	}
	return int(n)
}

// Text takes a text. It is a part of the data.
func (r *Reader) Text() string {
	n := r.Len()
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

// Texts takes a list of texts, nil for an empty one.
func (r *Reader) Texts() []string {
	n := r.Len()
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, r.Text())
	}
	return list
}
