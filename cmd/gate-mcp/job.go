package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// jobHeader names the job of a call that comes over HTTP. Whoever configures the client sets it.
const jobHeader = "Gatehouse-Job"

func newJob() string { return "mcp-" + rand.Text()[:16] }

// jobOf says which job a call is a step of: the one on the command line; over HTTP, the one that the client's configuration
// names; that of the session; and, since HTTP has no sessions from protocol 2026-07-28 on, that of this run of the server.
func (s *server) jobOf(r *mcp.CallToolRequest) string {
	if s.job != "" {
		return s.job
	}
	if r.Extra != nil {
		if named := r.Extra.Header.Get(jobHeader); named != "" {
			return named
		}
	}
	if id := r.Session.ID(); id != "" {
		sum := sha256.Sum256([]byte(id)) // the id itself is a secret of the client
		return "mcp-" + hex.EncodeToString(sum[:8])
	}
	return s.run
}

// turns lets the calls of a job run one after another, in no promised order. Clients make several at once, and a job that
// is busy refuses.
type turns struct {
	mu   sync.Mutex
	jobs map[string]*turn
}

type turn struct {
	free  chan struct{} // holds one value while nobody has the turn
	users int
}

// enter waits until it is the call's turn. leave has to be called after it.
func (t *turns) enter(ctx context.Context, job string) (leave func(), err error) {
	t.mu.Lock()
	if t.jobs == nil {
		t.jobs = make(map[string]*turn)
	}
	own := t.jobs[job]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.jobs[job] = own
	}
	own.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.jobs, job)
		}
	}
	select {
	case <-own.free:
		if ctx.Err() == nil {
			return func() { own.free <- struct{}{}; gone() }, nil
		}
		own.free <- struct{}{}
	case <-ctx.Done():
	}
	gone()
	return nil, ctx.Err()
}

// calls knows what is under way, so that it can be cancelled and waited for.
type calls struct {
	mu       sync.Mutex
	sessions map[string]map[*context.CancelFunc]struct{}
	running  sync.WaitGroup
	over     bool // no more are to come
}

// begin returns a context for a call of a session, which ends with the session and the server as well.
func (c *calls) begin(ctx context.Context, session string) (own context.Context, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is ending"}
	}
	if c.sessions == nil {
		c.sessions = make(map[string]map[*context.CancelFunc]struct{})
	}
	if c.sessions[session] == nil {
		c.sessions[session] = make(map[*context.CancelFunc]struct{})
	}
	own, cancel := context.WithCancel(ctx)
	c.sessions[session][&cancel] = struct{}{}
	c.running.Add(1)
	return own, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.sessions[session], &cancel); len(c.sessions[session]) == 0 {
			delete(c.sessions, session)
		}
		c.running.Done()
	}, nil
}

// cancel cancels the calls of a session.
func (c *calls) cancel(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.sessions[session] {
		(*cancel)()
	}
}

// end cancels all calls and lets no more begin.
func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, session := range c.sessions {
		for cancel := range session {
			(*cancel)()
		}
	}
}

// wait waits for all calls, but not for longer than a time.
func (c *calls) wait(limit time.Duration) {
	none := make(chan struct{})
	go func() { c.running.Wait(); close(none) }()
	select {
	case <-none:
	case <-time.After(limit):
	}
}
