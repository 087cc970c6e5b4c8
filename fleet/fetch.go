package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/reconcile"
)

// A Hub fetches the gates of other hosts.
type Hub struct {
	Exchange exchange.Exchange
	Open     Open
	Objects  string // directory of root's; reconcile.RemoteObjects
	Dir      string // of root's: what was fetched last
	Disk     durable.Disk
}

// A Wish is what the judgement of a gate will want to have.
type Wish struct {
	Gate   string
	Hosts  []string
	Limits manifest.Limits
	// Known is a list of entries that need not be fetched: that of what is accepted.
	Known string
	// Wants returns the files of a list whose contents have to be at hand.
	Wants func(list *manifest.Generation) []manifest.Entry
}

// Statements is what all hosts say about all gates, from one sweep.
type Statements struct {
	entries map[exchange.Key]exchange.Entry
	err     error // why it may not be all
}

// Sweep reads the statements of all hosts about these gates. What else hosts leave in the exchange is not read: one that
// leaves a million statements keeps no hub busy with them.
func (h *Hub) Sweep(ctx context.Context, gates ...string) *Statements {
	st := &Statements{entries: make(map[exchange.Key]exchange.Entry)}
	for _, gate := range gates {
		st.err = errors.Join(st.err, h.sweep(ctx, gate, st.entries))
	}
	if st.err == nil && ctx.Err() != nil {
		st.err = fmt.Errorf("%w: %w", exchange.ErrUnavailable, ctx.Err())
	}
	return st
}

func (h *Hub) sweep(ctx context.Context, gate string, into map[exchange.Key]exchange.Entry) error {
	for entry, err := range h.Exchange.List(ctx, exchange.Key{Kind: exchange.Exports, Rest: gate}) {
		if err != nil && entry.Key == (exchange.Key{}) {
			return err
		}
		if err != nil && entry.Err == nil {
			entry.Err = err
		}
		into[entry.Key] = entry
	}
	return nil
}

// Fetched is what was learned of one gate, and when.
type Fetched struct {
	Schema  string             `json:"schema"`
	Gate    string             `json:"gate"`
	At      time.Time          `json:"at"`
	Remotes []reconcile.Remote `json:"remotes"`
}

const fetchedSchema = "gatehouse/fetched/v1"

// Fetch makes of the statements what a judgement of the gate needs: for every host of the wish its claim, or why there
// is none. What is to be had of the objects is in Objects then. It is also written down, for Load.
func (h *Hub) Fetch(ctx context.Context, st *Statements, w Wish, now time.Time) (*Fetched, error) {
	if err := errors.Join(h.Disk.MkdirAll(h.Objects, 0o700), h.Disk.MkdirAll(h.Dir, 0o700)); err != nil {
		return nil, err
	}
	f := &Fetched{Schema: fetchedSchema, Gate: w.Gate, At: now.UTC()}
	hosts := slices.Compact(slices.Sorted(slices.Values(w.Hosts)))
	f.Remotes = make([]reconcile.Remote, len(hosts))
	inParallel(len(hosts), verifiers, func(i int) { f.Remotes[i] = h.claim(st, w.Gate, hosts[i]) })
	h.fetchObjects(ctx, w, f.Remotes)
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return f, h.Disk.WriteSealed(h.path(w.Gate), data, 0o600)
}

// Load returns what was fetched last; nothing where nothing was.
func (h *Hub) Load(gate string) (*Fetched, error) {
	data, err := durable.ReadSealed(h.path(gate))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, durable.ErrCorrupt): // it is fetched again
		return &Fetched{Schema: fetchedSchema, Gate: gate}, nil
	case err != nil:
		return nil, err
	}
	f := new(Fetched)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("read %s: %w", h.path(gate), err)
	}
	if f.Schema != fetchedSchema || f.Gate != gate {
		return &Fetched{Schema: fetchedSchema, Gate: gate}, nil
	}
	return f, nil
}

func (h *Hub) path(gate string) string { return filepath.Join(h.Dir, gate+".json") }

// claim opens the statement of one host.
func (h *Hub) claim(st *Statements, gate, host string) reconcile.Remote {
	entry, ok := st.entries[exchange.Key{Kind: exchange.Exports, Host: host, Rest: gate}]
	r := reconcile.Remote{Host: host}
	switch {
	case !ok && st.err != nil:
		r.Problem, r.Reason = reconcile.Unfetched, "the export could not be fetched: "+short(st.err)
		return r
	case !ok, errors.Is(entry.Err, exchange.ErrNotFound):
		r.Problem, r.Reason = reconcile.Missing, "the host has put no export of this gate into the exchange"
		return r
	case errors.Is(entry.Err, exchange.ErrUnavailable):
		r.Problem, r.Reason = reconcile.Unfetched, "the export could not be fetched: "+short(entry.Err)
		return r
	case entry.Err != nil:
		r.Problem, r.Reason = reconcile.Forged, "what stands for the host's export cannot be read: "+short(entry.Err)
		return r
	}
	s, err := openStatement(h.Open, host, gate, entry.Value)
	if err != nil {
		r.Problem, r.Reason = reconcile.Forged, short(err)
		return r
	}
	r.Claim, r.Content, r.More = s.claim(), s.Content, s.More
	return r
}

const (
	verifiers = 4  // hosts whose signatures are looked at together
	fetchers  = 16 // lists of entries that are fetched together
	askers    = 3  // hosts that are asked in vain for the same list
)

// inParallel calls do for 0 to n-1, a number of them together.
func inParallel(n, together int, do func(i int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(n, together) {
		wait.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// fetchObjects fetches the lists of entries that are new, and the contents that are wanted of each. Hosts with the same
// list are asked in turn; one that has other bytes than it says gets that noted.
func (h *Hub) fetchObjects(ctx context.Context, w Wish, remotes []reconcile.Remote) {
	holders := make(map[string][]*reconcile.Remote)
	var contents []string
	for i := range remotes {
		r := &remotes[i]
		if r.Claim == nil || r.More > 0 || r.Content == w.Known {
			continue
		}
		if holders[r.Content] == nil {
			contents = append(contents, r.Content)
		}
		holders[r.Content] = append(holders[r.Content], r)
	}
	inParallel(len(contents), fetchers, func(i int) {
		if ctx.Err() == nil {
			h.fetchContent(ctx, w, contents[i], holders[contents[i]])
		}
	})
}

// fetchContent sees to it that one list of entries, and what is wanted of it, is here. Hosts that say that they have it
// and do not cost a moment each; those that cannot be asked, a long one, so few of them are.
func (h *Hub) fetchContent(ctx context.Context, w Wish, content string, hosts []*reconcile.Remote) {
	store := objects{h.Objects, h.Disk}
	left := askers
	for _, host := range hosts {
		bad := h.fetchFrom(ctx, &store, w, content, host.Host)
		if bad == nil {
			return
		}
		if host.Bad = bad; len(bad) == 0 {
			left--
		}
		if left == 0 || ctx.Err() != nil {
			return
		}
	}
}

// fetchFrom fetches from one host what is not here yet. It returns what the host should have and has not, nil where all
// is here; a host that cannot be asked has nothing held against it.
func (h *Hub) fetchFrom(ctx context.Context, store *objects, w Wish, content, host string) []reconcile.Item {
	data, err := store.read(content)
	if err != nil {
		if data, err = get(ctx, h.Exchange, host, content, documentLimit(w.Limits)); err == nil {
			err = store.keep(content, data)
		}
	}
	if err != nil {
		return badItem("the list of entries", err)
	}
	list, err := manifest.ParseGeneration(data, w.Limits)
	if err != nil {
		return badItem("the list of entries", err)
	}
	bad := []reconcile.Item{}
	whole := true
	for _, entry := range w.Wants(list) {
		if store.has(entry.SHA256, entry.Size) {
			continue
		}
		data, err := get(ctx, h.Exchange, host, entry.SHA256, entry.Size)
		if err == nil && int64(len(data)) != entry.Size {
			err = fmt.Errorf("object %.12s…: %w", entry.SHA256, exchange.ErrCorrupt)
		}
		if err == nil {
			err = store.keep(entry.SHA256, data)
		}
		if err != nil {
			whole = false
			bad = append(bad, badItem(fmt.Sprintf("%q", entry.Path), err)...)
		}
		if len(bad) == maxBad || ctx.Err() != nil || errors.Is(err, exchange.ErrUnavailable) {
			break
		}
	}
	if whole {
		return nil
	}
	return bad
}

// maxBad bounds what is said of one host.
const maxBad = 20

// badItem says what is wrong with an object; nothing where that is not the host's doing.
func badItem(what string, err error) []reconcile.Item {
	for _, theirs := range []error{exchange.ErrNotFound, exchange.ErrCorrupt, exchange.ErrTooLarge, manifest.ErrInvalid, manifest.ErrMismatch} {
		if errors.Is(err, theirs) {
			return []reconcile.Item{{ID: "object/" + what, Text: what + ": " + short(err)}}
		}
	}
	return []reconcile.Item{}
}

// Err is why the statements may not be all there are, nil if they are.
func (st *Statements) Err() error {
	if st.err == nil {
		return nil
	}
	return fmt.Errorf("read what hosts published: %w", st.err)
}
