package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/internal/durable"
)

// The directory holds a file for each record, named by its id with + for /, and one for each sink with something on its
// way. All are sealed with a checksum.
const (
	suffix         = ".json"
	outgoingPrefix = ".outgoing-"
	corruptPrefix  = ".corrupt-"
)

func (o *Outbox) recordFile(id string) string {
	return filepath.Join(o.Dir, strings.ReplaceAll(id, "/", "+")+suffix)
}

func (o *Outbox) outgoingFile(sink string) string {
	return filepath.Join(o.Dir, outgoingPrefix+sink+suffix)
}

func (o *Outbox) save(r *Record) error { return o.write(o.recordFile(r.ID()), r) }

func (o *Outbox) write(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return o.Disk.WriteSealed(file, append(data, '\n'), 0o600)
}

// open reads one record. The error wraps durable.ErrCorrupt where the file does not hold what was written.
func (o *Outbox) open(file string) (*Record, error) {
	data, err := durable.ReadSealed(file)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	err = json.Unmarshal(data, r)
	if err != nil || o.recordFile(r.ID()) != file || len(r.Introduced) != len(r.Changes) || r.Sinks == nil {
		return nil, fmt.Errorf("read %s: %w", file, durable.ErrCorrupt)
	}
	return r, nil
}

// last returns the newest record of a subject, or nil. What comes back for a corrupt one is a record that is over and of
// which nothing is known but the number.
func (o *Outbox) last(kind, gate, subject string) (*Record, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	lost := &Record{Event: Event{Kind: kind, Gate: gate, Subject: subject}, ClearedAt: time.Unix(0, 0)}
	prefix := strings.TrimSuffix(filepath.Base(o.recordFile(lost.ID())), "0"+suffix)
	newest := ""
	for _, name := range names {
		number, ours := strings.CutPrefix(strings.TrimPrefix(name, corruptPrefix), prefix)
		episode, err := strconv.Atoi(strings.TrimSuffix(number, suffix))
		if ours && err == nil && episode > lost.Episode {
			newest, lost.Episode = name, episode
		}
	}
	if newest == "" {
		return nil, nil
	}
	r, err := o.open(filepath.Join(o.Dir, newest))
	if errors.Is(err, durable.ErrCorrupt) {
		return lost, nil
	}
	return r, err
}

// read returns every record and the names of the corrupt ones.
func (o *Outbox) read() (records []*Record, corrupt []string, err error) {
	names, err := o.names()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) {
			continue
		}
		r, err := o.open(filepath.Join(o.Dir, name))
		switch {
		case err == nil:
			records = append(records, r)
		case errors.Is(err, durable.ErrCorrupt):
			corrupt = append(corrupt, name)
		case !errors.Is(err, fs.ErrNotExist): // removed since it was listed
			return nil, nil, err
		}
	}
	return records, corrupt, nil
}

// readable is read for those who only look.
func (o *Outbox) readable() ([]*Record, error) {
	records, corrupt, err := o.read()
	for _, name := range corrupt {
		err = errors.Join(err, fmt.Errorf("notice record %s: %w; the next delivery sets it aside",
			filepath.Join(o.Dir, name), durable.ErrCorrupt))
	}
	return records, err
}

// load is read for a delivery: it sets the corrupt records aside, removes what writes that were cut short left behind,
// and warns of each record that was ever set aside and still lies there.
func (o *Outbox) load() (records []*Record, warnings []string, err error) {
	records, corrupt, err := o.read()
	for _, name := range corrupt {
		err = errors.Join(err, o.setAside(name))
	}
	names, unlisted := o.names()
	err = errors.Join(err, unlisted)
	for _, name := range names {
		switch {
		case durable.IsTemp(name):
			err = errors.Join(err, o.Disk.Remove(filepath.Join(o.Dir, name)))
		case strings.HasPrefix(name, corruptPrefix):
			warnings = append(warnings, filepath.Join(o.Dir, name)+": a notice record was corrupt and is set aside; what it held "+
				"may be announced again, and its end may not be announced; look at the file, then delete it")
		}
	}
	return records, warnings, err
}

func (o *Outbox) setAside(name string) error {
	return o.Disk.Rename(filepath.Join(o.Dir, name), filepath.Join(o.Dir, corruptPrefix+name))
}

// prune removes records that nobody needs, and returns the others.
func (o *Outbox) prune(records []*Record) (kept []*Record, err error) {
	newest := newestOf(records)
	for _, r := range records {
		pending := slices.ContainsFunc(o.sinkNames(), func(name string) bool { _, pending := r.pending(name); return pending })
		if newest[r.subject()] == r || !r.cleared() || pending && !r.step() {
			kept = append(kept, r)
		} else if err := o.Disk.Remove(o.recordFile(r.ID())); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// newestOf finds the newest record of each subject.
func newestOf(records []*Record) map[string]*Record {
	found := make(map[string]*Record)
	for _, r := range records {
		if last := found[r.subject()]; last == nil || r.Episode > last.Episode {
			found[r.subject()] = r
		}
	}
	return found
}

// An outgoing is what is known of a sink beyond what the records say.
type outgoing struct {
	Doubt     *Message  `json:"doubt,omitempty"` // an attempt was begun, and nobody knows whether it arrived
	Attempts  int       `json:"attempts"`        // that failed, since the last success
	Error     string    `json:"error"`           // of the last attempt
	NotBefore time.Time `json:"not_before"`      // the receiver asked to be left alone until then
}

// outgoing reads what is known of a sink. If the file is missing that is nothing; if it is corrupt, likewise, and what
// was on its way is sent again.
func (o *Outbox) outgoing(sink string) (state outgoing, err error) {
	data, err := durable.ReadSealed(o.outgoingFile(sink))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, durable.ErrCorrupt):
		return outgoing{}, nil
	case err != nil:
		return outgoing{}, err
	}
	if json.Unmarshal(data, &state) != nil {
		return outgoing{}, nil
	}
	return state, nil
}

func (o *Outbox) saveOutgoing(sink string, state outgoing) error {
	if state == (outgoing{}) {
		return o.Disk.Remove(o.outgoingFile(sink))
	}
	return o.write(o.outgoingFile(sink), state)
}

// names lists the directory; one that does not exist yet is empty.
func (o *Outbox) names() ([]string, error) {
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
