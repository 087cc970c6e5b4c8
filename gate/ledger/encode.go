package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// encode appends the line of e, with its newline, and sets e.Hash. It is not encoding/json, which a decision cannot
// afford.
func (e *Entry) encode(b []byte) []byte {
	begin := len(b)
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, e.Seq, 10)
	b = member(b, "prev", e.Prev)
	b = append(b, `,"time":"`...)
	b = e.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	b = member(b, "kind", string(e.Kind))
	b = member(b, "id", e.ID)
	b = member(b, "session", e.Session)
	b = member(b, "client", e.Client)
	b = member(b, "cwd", e.Cwd)
	b = member(b, "line", e.Line)
	if len(e.Argv) > 0 {
		b = list(key(b, "argv"), e.Argv)
	}
	if e.Tool != nil {
		b = append(key(b, "tool"), `{"name":`...)
		b = text(b, e.Tool.Name)
		b = value(key(b, "args"), e.Tool.Args)
		b = append(b, '}')
	}
	b = member(b, "verdict", string(e.Verdict))
	b = member(b, "would", string(e.Would))
	b = member(b, "granted", e.Granted)
	if len(e.Reasons) > 0 {
		b = append(key(b, "reasons"), '[')
		for i := range e.Reasons {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.Reasons[i].encode(b)
		}
		b = append(b, ']')
	}
	if len(e.Calls) > 0 {
		b = list(key(b, "calls"), e.Calls)
	}
	if us := e.Took.Microseconds(); us > 0 {
		b = strconv.AppendInt(key(b, "took_us"), us, 10)
	}
	b = member(b, "gate", e.Gate)
	b = member(b, "policy_tree", e.PolicyTree)
	b = member(b, "policy_mode", e.PolicyMode)
	b = member(b, "policy_from", e.PolicyFrom)
	b = member(b, "subject", e.Subject)
	b = member(b, "nonce", e.Nonce)
	if e.Status != nil {
		b = strconv.AppendInt(key(b, "status"), int64(*e.Status), 10)
	}
	b = member(b, "text", e.Text)
	if t := e.Torn; t != nil {
		b = strconv.AppendInt(append(key(b, "torn"), `{"bytes":`...), t.Bytes, 10)
		b = append(member(b, "sha256", t.SHA256), '}')
	}
	if d := e.Dropped; d != nil {
		b = strconv.AppendUint(append(key(b, "dropped"), `{"seq":`...), d.Seq, 10)
		b = append(member(b, "hash", d.Hash), '}')
	}
	if e.Redacted {
		b = append(key(b, "redacted"), "true"...)
	}
	if e.Cut {
		b = append(key(b, "cut"), "true"...)
	}
	sum := sha256.Sum256(b[begin:])
	e.Hash = hex.EncodeToString(sum[:])
	b = append(b, hashKey...)
	b = append(b, e.Hash...)
	return append(b, "\"}\n"...)
}

func (r *Reason) encode(b []byte) []byte {
	b = append(b, `{"action":`...)
	b = text(b, string(r.Action))
	b = member(b, "stage", r.Stage)
	b = strconv.AppendInt(key(b, "call"), int64(r.Call), 10)
	b = member(b, "source", r.Source)
	b = member(b, "rule", r.Rule)
	b = member(b, "at", r.At)
	b = member(b, "text", r.Text)
	b = member(b, "why", r.Why)
	b = member(b, "fix", r.Fix)
	b = member(b, "hint", r.Hint)
	return append(b, '}')
}

func key(b []byte, name string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// member appends a text under a name, nothing where it is empty.
func member(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return text(key(b, name), s)
}

func list(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, s := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(b, s)
	}
	return append(b, ']')
}

// text appends a JSON string. What is no UTF-8 was replaced before.
func text(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	plain := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			continue
		}
		b = append(b, s[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}

// value appends what encoding/json decodes into an any, members in the order of their names.
func value(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return text(b, v)
	case json.Number:
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = value(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(text(b, name), ':')
			b = value(b, v[name])
		}
		return append(b, '}')
	default:
		return append(b, "null"...) // clean leaves nothing else
	}
}

// identity is the id of a decision: c- and the first 12 hex digits of the SHA-256 of what was judged, where, by which
// policy, and a nonce; each text preceded by its length in bytes as a big-endian uint32.
func (e *Entry) identity() string {
	b := field(make([]byte, 0, 512), "gatehouse/decision/v1")
	switch {
	case e.Tool != nil:
		b = field(field(field(b, "tool"), e.Tool.Name), string(value(nil, e.Tool.Args)))
	case len(e.Argv) > 0:
		b = field(b, "argv")
		for _, word := range e.Argv {
			b = field(b, word)
		}
	default:
		b = field(field(b, "line"), e.Line)
	}
	b = field(field(field(b, e.Cwd), e.PolicyTree), e.Nonce)
	sum := sha256.Sum256(b)
	return "c-" + hex.EncodeToString(sum[:6])
}

func field(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// MarshalJSON gives the line as it stands in the log.
func (e *Entry) MarshalJSON() ([]byte, error) {
	copied := *e
	line := copied.encode(nil)
	return line[:len(line)-1], nil
}

// Parse reads one line of a log, without its newline, and checks that it is what Append writes: its form, its hash, and
// of a decision its id. Of a log that somebody else could write it proves nothing more than that.
func Parse(line []byte) (*Entry, error) {
	if len(line) > maxLine {
		return nil, fmt.Errorf("an entry is no longer than %d bytes", maxLine)
	}
	if _, _, _, ok := verified(line); !ok {
		return nil, errors.New("its hash is not that of its bytes")
	}
	type plain Entry // without its methods
	var stored struct {
		plain
		TookUS int64 `json:"took_us"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(&stored); err != nil {
		return nil, err
	}
	e := (*Entry)(&stored.plain)
	e.Took = time.Duration(stored.TookUS) * time.Microsecond
	if err := e.check(line); err != nil {
		return nil, err
	}
	return e, nil
}

// check compares e with the line that it was read from.
func (e *Entry) check(line []byte) error {
	again := *e
	if encoded := again.encode(nil); !bytes.Equal(encoded[:len(encoded)-1], line) {
		return errors.New("it is not written as the log writes it")
	}
	if !utf8.Valid(line) {
		return errors.New("it is not UTF-8")
	}
	switch {
	case e.Kind != Decision && e.Kind != Ran && e.Kind != Note:
		return fmt.Errorf("%.20q is no kind of entry", e.Kind)
	case e.Kind == Decision && e.Verdict != Allow && e.Verdict != Ask && e.Verdict != Deny:
		return fmt.Errorf("%.20q is no verdict", e.Verdict)
	case e.Kind == Decision && e.ID != e.identity():
		return fmt.Errorf("its id is not %s", e.identity())
	}
	return nil
}
