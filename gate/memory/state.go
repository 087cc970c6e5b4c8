package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"gatehouse/internal/wire"
)

// stateMagic begins what is sealed in a state file; the number is the version of the form.
const stateMagic = "gatehouse memory 1\n"

func newState() *State {
	return &State{Rules: map[string][]byte{}, Extra: map[string][]byte{}}
}

// encode gives the same bytes for the same state.
func (st *State) encode(id ID) []byte {
	var w wire.Writer
	w.Raw(stateMagic)
	w.Text(id.kind)
	w.Text(id.name)
	w.Uint(st.version)
	w.Uint(0) // an earlier version counted calls here
	encodeMap(&w, st.Rules)
	w.Text(st.Stopped)
	w.Int(int64(st.Finish))
	encodeMap(&w, st.Extra)
	w.Uint(0) // and kept them here: how many files there are of them, how many calls follow, and these
	w.Uint(0)
	w.Text("")
	return w.Bytes()
}

func encodeMap(w *wire.Writer, m map[string][]byte) {
	w.Uint(uint64(len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.Text(key)
		w.Text(string(m[key]))
	}
}

// decodeState reads what encode wrote for id.
func decodeState(id ID, data string) (*State, error) {
	r := wire.NewReader(data)
	r.Raw(stateMagic)
	kind, name := r.Text(), r.Text()
	st := new(State)
	st.version = r.Uint()
	r.Uint()
	st.Rules = decodeMap(r)
	st.Stopped = r.Text()
	st.Finish = int(r.Int())
	st.Extra = decodeMap(r)
	for range r.Len() {
		if r.Err() != nil {
			break
		}
		r.Uint()
		r.Uint()
		r.Uint()
	}
	r.Uint()
	r.Text()
	if err := r.Done(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	if kind != id.kind || name != id.name {
		return nil, fmt.Errorf("%w: it is that of %s %q", ErrCorrupt, kind, name)
	}
	return st, nil
}

func decodeMap(r *wire.Reader) map[string][]byte {
	n := r.Len()
	m := make(map[string][]byte, min(n, 1024))
	var values []byte
	for range n {
		if r.Err() != nil {
			break
		}
		key, value := r.Text(), r.Text()
		values = append(values, value...)
		m[key] = values[len(values)-len(value) : len(values) : len(values)]
	}
	return m
}

const sealPrefix = "sha256:"

// seal puts the checksum of data before it.
func seal(data string) []byte {
	sum := sha256.Sum256([]byte(data))
	return append(append([]byte(sealPrefix), hex.EncodeToString(sum[:])+"\n"...), data...)
}

// readSealed returns what seal was given.
func readSealed(name string) (string, error) {
	sealed, err := readRegular(name)
	if err != nil {
		return "", err
	}
	head, data, found := bytes.Cut(sealed, []byte("\n"))
	sum := sha256.Sum256(data)
	if !found || string(head) != sealPrefix+hex.EncodeToString(sum[:]) {
		return "", fmt.Errorf("%w: its checksum does not match", ErrCorrupt)
	}
	return string(data), nil
}
