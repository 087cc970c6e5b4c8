package notify

import (
	"cmp"
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

const (
	suffix        = ".json"
	corruptPrefix = ".corrupt-"
)

// base is the name of the file of a record: its id, with + for /, which no name may hold.
func base(id string) string { return strings.ReplaceAll(id, "/", "+") + suffix }

func (o *Outbox) save(r *Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("notice record %s: %w", r.ID(), err)
	}
	return o.Disk.WriteSealed(filepath.Join(o.Dir, base(r.ID())), append(data, '\n'), 0o600)
}

// open reads one record. The error wraps durable.ErrCorrupt where the file does not hold what was written.
func (o *Outbox) open(name string) (*Record, error) {
	path := filepath.Join(o.Dir, name)
	data, err := durable.ReadSealed(path)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", path, durable.ErrCorrupt, err)
	}
	if base(r.ID()) != name || len(r.Introduced) != len(r.Changes) || r.Sinks == nil {
		return nil, fmt.Errorf("read %s: %w", path, durable.ErrCorrupt)
	}
	return r, nil
}

// last returns the newest record of a subject, or nil. A corrupt one is set aside, and what comes back for it is a
// record that is over and of which nothing is known but the number.
func (o *Outbox) last(kind, gate, subject string) (*Record, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	lost := Record{Event: Event{Kind: kind, Gate: gate, Subject: subject}, ClearedAt: time.Unix(0, 0)}
	prefix := strings.TrimSuffix(base(lost.ID()), "0"+suffix)
	newest := ""
	for _, name := range names {
		number, ok := strings.CutPrefix(strings.TrimPrefix(name, corruptPrefix), prefix)
		episode, err := strconv.Atoi(strings.TrimSuffix(number, suffix))
		if ok && err == nil && episode > lost.Episode {
			newest, lost.Episode = name, episode
		}
	}
	switch {
	case newest == "":
		return nil, nil
	case strings.HasPrefix(newest, corruptPrefix):
		return &lost, nil
	}
	r, err := o.open(newest)
	if errors.Is(err, durable.ErrCorrupt) {
		return &lost, o.setAside(newest)
	}
	return r, err
}

// read returns every record, worst first. What cannot be read is left out and named in the error.
func (o *Outbox) read() ([]*Record, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	var records []*Record
	var errs []error
	for _, name := range names {
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) {
			continue
		}
		r, err := o.open(name)
		switch {
		case err == nil:
			records = append(records, r)
		case !errors.Is(err, fs.ErrNotExist): // removed since it was listed
			errs = append(errs, err)
		}
	}
	slices.SortFunc(records, func(a, b *Record) int {
		return cmp.Or(boolCompare(a.cleared(), b.cleared()), cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Gate, b.Gate),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Episode, b.Episode))
	})
	return records, errors.Join(errs...)
}

// mend sets corrupt records aside and removes what writes that were cut short left behind. It returns a warning for
// each corrupt record there is. The caller holds the lock.
func (o *Outbox) mend() (warnings []string, err error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch {
		case durable.IsTemp(name):
			err = o.Disk.Remove(filepath.Join(o.Dir, name))
		case strings.HasPrefix(name, corruptPrefix):
			warnings = append(warnings, corruptWarning(filepath.Join(o.Dir, name)))
		case strings.HasSuffix(name, suffix):
			if _, bad := o.open(name); errors.Is(bad, durable.ErrCorrupt) {
				warnings = append(warnings, corruptWarning(filepath.Join(o.Dir, corruptPrefix+name)))
				err = o.setAside(name)
			}
		}
		if err != nil {
			return warnings, err
		}
	}
	return warnings, nil
}

func corruptWarning(path string) string {
	return fmt.Sprintf("%s: a notice record is corrupt and was set aside; what it held may be announced again, and its "+
		"end may not be announced; look at the file, then delete it", path)
}

func (o *Outbox) setAside(name string) error {
	return o.Disk.Rename(filepath.Join(o.Dir, name), filepath.Join(o.Dir, corruptPrefix+name))
}

// retention is how long a record is kept after it is over and everybody was told.
const retention = 30 * 24 * time.Hour

// prune removes records that nobody needs.
func (o *Outbox) prune(records []*Record, newest map[string]*Record, now time.Time) error {
	for _, r := range records {
		owed := slices.ContainsFunc(o.sinkNames(), func(name string) bool {
			s, ok := r.sink(name)
			return ok && len(r.owed(s)) > 0
		})
		if !r.cleared() || now.Sub(r.ClearedAt) < retention || owed || newest[r.key()] == r {
			continue
		}
		if err := o.Disk.Remove(filepath.Join(o.Dir, base(r.ID()))); err != nil {
			return err
		}
	}
	return nil
}

// key names the subject of a record.
func (r *Record) key() string { return r.Kind + "/" + r.Gate + "/" + r.Subject }

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

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
