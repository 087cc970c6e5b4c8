package manifest

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Marshal writes the manifest as JSON, one entry a line. parse reads it.
func (m *Manifest) Marshal() ([]byte, error) {
	w := encoder{size: len(m.Entries)}
	w.open("schema", m.Schema)
	w.member("gate", m.Gate)
	w.member("host", m.Host)
	w.member("boot_id", m.BootID)
	w.raw(`,"sequence":`).uint(m.Sequence)
	w.raw(`,"published_at":`).time(m.PublishedAt)
	w.member("tree", m.Tree)
	w.entries(m.Entries, true)
	w.raw(`,"refused":[`)
	for i, r := range m.Refused {
		w.line(i).raw(`{"path":`).string(r.Path).raw(`,"reason":`).string(r.Reason).raw("}")
	}
	w.raw("\n]")
	if l := m.Log; l != nil {
		w.raw(`,"log":{"head":`).string(l.Head).raw(`,"count":`).uint(l.Count)
		w.raw(`,"last_at":`).time(l.LastAt).raw(`,"policy_tree":`).string(l.PolicyTree).raw("}")
	}
	return w.close()
}

// Marshal writes the generation as JSON with one entry a line, so that git shows a change as a line. Equal generations
// have equal bytes. ParseGeneration reads it.
func (g *Generation) Marshal() ([]byte, error) {
	w := encoder{size: len(g.Entries)}
	w.open("schema", g.Schema)
	w.member("gate", g.Gate)
	w.member("tree", g.Tree)
	w.entries(g.Entries, false)
	return w.close()
}

// An encoder writes the JSON of this package. It is not encoding/json, which takes more time for the entries than
// hashing the files does and replaces bytes that are not UTF-8 without a word.
type encoder struct {
	b    bytes.Buffer
	size int
	err  error
}

func (w *encoder) open(key, value string) {
	w.b.Grow(1024 + 320*w.size)
	w.raw(`{"`).raw(key).raw(`":`).string(value)
}

func (w *encoder) member(key, value string) { w.raw(`,"`).raw(key).raw(`":`).string(value) }

// line begins the i-th element of a list that has an element a line.
func (w *encoder) line(i int) *encoder {
	if i > 0 {
		w.b.WriteByte(',')
	}
	return w.raw("\n")
}

// entries writes the list of entries. Owners and times are for manifests only.
func (w *encoder) entries(entries []Entry, evidence bool) {
	w.raw(`,"entries":[`)
	for i := range entries {
		e := &entries[i]
		w.line(i).raw(`{"path":`).string(e.Path).raw(`,"type":`).string(string(e.Type))
		w.raw(`,"mode":"`).raw(e.Mode.String()).raw(`"`)
		if evidence {
			w.raw(`,"uid":`).uint(uint64(e.UID)).raw(`,"gid":`).uint(uint64(e.GID))
		}
		if evidence || e.Size != 0 {
			w.raw(`,"size":`).uint(uint64(e.Size))
		}
		if evidence {
			w.raw(`,"mtime":`).time(e.MTime)
		}
		if e.SHA256 != "" {
			w.member("sha256", e.SHA256)
		}
		if e.Target != "" {
			w.member("target", e.Target)
		}
		w.raw("}")
	}
	w.raw("\n]")
}

func (w *encoder) close() ([]byte, error) {
	w.raw("}\n")
	return w.b.Bytes(), w.err
}

func (w *encoder) raw(s string) *encoder {
	w.b.WriteString(s)
	return w
}

func (w *encoder) uint(n uint64) *encoder {
	w.b.Write(strconv.AppendUint(w.b.AvailableBuffer(), n, 10))
	return w
}

func (w *encoder) time(t time.Time) *encoder {
	w.b.WriteByte('"')
	w.b.Write(t.UTC().AppendFormat(w.b.AvailableBuffer(), time.RFC3339Nano))
	w.b.WriteByte('"')
	return w
}

func (w *encoder) string(s string) *encoder {
	w.b.WriteByte('"')
	plain := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			w.b.WriteString(s[plain:i])
			w.b.Write([]byte{'\\', c})
			plain = i + 1
		case c < ' ':
			w.b.WriteString(s[plain:i])
			fmt.Fprintf(&w.b, `\u%04x`, c)
			plain = i + 1
		case c >= utf8.RuneSelf && w.err == nil && !utf8.ValidString(s):
			w.err = fmt.Errorf("%q is not UTF-8", s)
		}
	}
	w.b.WriteString(s[plain:])
	w.b.WriteByte('"')
	return w
}
