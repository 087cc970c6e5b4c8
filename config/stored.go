package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gatehouse/manifest"
)

// The index as it stands in the file. What a file might leave out, and what would then look like a value (uid 0), is a
// pointer.
type (
	storedIndex struct {
		Schema    string       `json:"schema"`
		Host      string       `json:"host"`
		WrittenAt time.Time    `json:"written_at"`
		Gates     []storedGate `json:"gates"`
	}
	storedGate struct {
		Gate        string         `json:"gate"`
		UID         *uint32        `json:"uid"`
		User        string         `json:"user"`
		Decide      Decide         `json:"decide"`
		Accepted    string         `json:"accepted"`
		Tree        string         `json:"tree"`
		Export      string         `json:"export"`
		Live        []storedLive   `json:"live"`
		Limits      storedLimits   `json:"limits"`
		Interval    int64          `json:"interval_seconds"`
		Result      string         `json:"result"`
		Fingerprint string         `json:"fingerprint"`
		Restore     *storedRestore `json:"restore,omitempty"`
	}
	storedLive struct {
		Name    string   `json:"name"`
		Root    string   `json:"root"`
		Exclude []string `json:"exclude,omitempty"`
	}
	storedLimits struct {
		Entries int   `json:"entries"`
		File    int64 `json:"file"`
		Total   int64 `json:"total"`
	}
	storedRestore struct {
		From string    `json:"from"`
		To   string    `json:"to"`
		At   time.Time `json:"at"`
	}
)

func store(i *Index) storedIndex {
	stored := storedIndex{i.Schema, i.Host, i.WrittenAt.UTC(), make([]storedGate, len(i.Gates))}
	for n, g := range i.Gates {
		s := storedGate{
			Gate: g.Gate, UID: &g.UID, User: g.User, Decide: g.Decide,
			Accepted: g.Accepted, Tree: g.Tree, Export: g.Export,
			Limits: storedLimits(g.Limits), Interval: int64(g.Interval / time.Second),
			Result: g.Result, Fingerprint: g.Fingerprint,
		}
		for _, l := range g.Live {
			s.Live = append(s.Live, storedLive(l))
		}
		if r := g.Restore; r != nil {
			s.Restore = &storedRestore{r.From, r.To, r.At.UTC()}
		}
		stored.Gates[n] = s
	}
	return stored
}

func (stored *storedIndex) index() (*Index, error) {
	i := &Index{stored.Schema, stored.Host, stored.WrittenAt, make([]IndexGate, len(stored.Gates))}
	for n, s := range stored.Gates {
		if s.UID == nil {
			return nil, fmt.Errorf("gates[%d].uid: is missing", n)
		}
		if s.Interval > math.MaxInt64/int64(time.Second) {
			return nil, fmt.Errorf("gates[%d].interval_seconds: is too large", n)
		}
		g := IndexGate{
			Gate: s.Gate, UID: *s.UID, User: s.User, Decide: s.Decide,
			Accepted: s.Accepted, Tree: s.Tree, Export: s.Export,
			Limits: manifest.Limits(s.Limits), Interval: time.Duration(s.Interval) * time.Second,
			Result: s.Result, Fingerprint: s.Fingerprint,
		}
		for _, l := range s.Live {
			g.Live = append(g.Live, manifest.Live(l))
		}
		if r := s.Restore; r != nil {
			g.Restore = &RestoreRequest{r.From, r.To, r.At}
		}
		i.Gates[n] = g
	}
	return i, nil
}

// decodeStrict decodes one JSON document and refuses what encoding/json lets pass: keys that are unknown, given twice
// or in another case, bytes that are not UTF-8, null, and anything after the document.
func decodeStrict(data []byte, to any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	if err := checkKeys(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(to); {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the end of the document")
	}
	return nil
}

// maxDepth is more than an index has.
const maxDepth = 8

// checkKeys looks for keys that are given twice or in another case, and for null. Whether data is JSON at all is for the
// decoder to say. It is read before every command, and so by hand: json.Decoder.Token makes three errors for each value.
func checkKeys(data []byte) error {
	type container struct {
		object bool
		keys   []string
	}
	var open [maxDepth]container
	depth, key := 0, false // key: the next text is one
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case 'n':
			return fmt.Errorf("there is a null at byte %d", i)
		case '{', '[':
			if depth == maxDepth {
				return fmt.Errorf("it is nested more than %d deep", maxDepth)
			}
			key = data[i] == '{'
			open[depth].object, open[depth].keys = key, open[depth].keys[:0]
			depth++
		case '}', ']':
			depth, key = max(depth-1, 0), false
		case ',':
			key = depth > 0 && open[depth-1].object
		case '"':
			start := i
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if !key || i >= len(data) {
				continue
			}
			key = false
			name := string(data[start+1 : i])
			if strings.Contains(name, `\`) && json.Unmarshal(data[start:i+1], &name) != nil {
				continue
			}
			keys := &open[depth-1].keys
			if slices.Contains(*keys, name) || strings.ToLower(name) != name {
				return fmt.Errorf("the key %q is there twice or in another case", name)
			}
			*keys = append(*keys, name)
		}
	}
	return nil
}
