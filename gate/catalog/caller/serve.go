package caller

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse/config"
	"gatehouse/gate"
	"gatehouse/gate/catalog"
)

// perUser is how many connections one user may have, and so how many calls may be under way.
const perUser = 8

// maxJobs is how many jobs of one user are kept, so that an agent cannot fill the disk with names.
const maxJobs = 20000

// A Service takes the calls of all users that root's index lists.
type Service struct {
	Index string // root's index; "": config.DefaultIndex
	State string // its own directory: below it, in one directory for each uid, jobs, memory and log
	// Launch starts the supervisor of a tool: Remote of ToolSocket.
	Launch   catalog.Launcher
	ToolHome string
	// Old, if set, reports that this program was replaced. Then the service ends when the calls under way are over, and
	// systemd starts the new one with the next call.
	Old func() bool
	Log *slog.Logger

	patience time.Duration // for a request to arrive; 0: requestTime
}

// Serve takes calls until ctx is done. Then those that are under way are cancelled, and it returns when they are over.
func (s *Service) Serve(ctx context.Context, listener *net.UnixListener) error {
	var under users
	var old atomic.Bool
	defer under.calls.Wait()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case err != nil && (ctx.Err() != nil || old.Load()):
			return nil
		case err != nil:
			return fmt.Errorf("take a connection: %w", err)
		}
		uid, err := peerUID(conn)
		if err != nil {
			conn.Close()
			continue
		}
		if !under.enter(uid) {
			// The line that the client sends is not waited for, and its answer fits into what the socket holds.
			sendError(conn, &catalog.Error{Code: catalog.Busy, Err: fmt.Errorf("%d calls of uid %d are under way, and no more are taken", perUser, uid)})
			conn.Close()
			continue
		}
		go func() {
			defer under.leave(uid)
			defer conn.Close()
			s.take(ctx, conn, uid)
			if s.Old != nil && s.Old() {
				old.Store(true)
				listener.Close()
			}
		}()
	}
}

// users counts the connections of each.
type users struct {
	mu    sync.Mutex
	count map[uint32]int
	calls sync.WaitGroup
}

func (u *users) enter(uid uint32) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == nil {
		u.count = make(map[uint32]int)
	}
	if u.count[uid] >= perUser {
		return false
	}
	u.count[uid]++
	u.calls.Add(1)
	return true
}

func (u *users) leave(uid uint32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count[uid]--; u.count[uid] == 0 {
		delete(u.count, uid)
	}
	u.calls.Done()
}

// take answers the one request of a connection.
func (s *Service) take(ctx context.Context, conn *net.UnixConn, uid uint32) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("internal error", "uid", uid, "panic", p)
			sendError(conn, fmt.Errorf("internal error of the service: %v", p))
		}
	}()
	if err := s.listed(uid); err != nil { // before anything that it sends is looked at
		s.refuse(conn, uid, err)
		return
	}
	in := bufio.NewReader(conn)
	r, err := readRequest(conn, in, cmp.Or(s.patience, requestTime))
	if err != nil {
		s.refuse(conn, uid, err)
		return
	}
	host, err := s.host(uid, r)
	if err != nil {
		s.refuse(conn, uid, err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // whatever comes now, its end included, is the client's word that it no longer wants the call
		in.ReadByte()
		cancel()
	}()
	if r.Op == "list" {
		c, err := host.List(ctx)
		if err != nil {
			s.refuse(conn, uid, err)
			return
		}
		send(conn, answer{Catalogue: c})
		return
	}
	result := host.Call(ctx, catalog.Request{Job: r.Job, Call: r.Call, Progress: func(p catalog.Progress) {
		if send(conn, answer{Progress: &p}) != nil {
			cancel()
		}
	}})
	s.Log.Info("call", "uid", uid, "job", brief(r.Job), "tool", brief(result.Tool), "step", result.Step, "code", result.Code, "decision", result.Decision,
		"took_ms", result.Took)
	send(conn, answer{Result: &result})
}

func (s *Service) refuse(conn *net.UnixConn, uid uint32, err error) {
	s.Log.Info("refused", "uid", uid, "code", catalog.CodeOf(err), "why", brief(err.Error()))
	sendError(conn, err)
}

// maxLogged is how much of a text of the caller's the journal gets: the log of decisions has more.
const maxLogged = 400

func brief(text string) string {
	if len(text) > maxLogged {
		return text[:maxLogged] + "…"
	}
	return text
}

// listed reports an error unless root's index lists a gate of the user.
func (s *Service) listed(uid uint32) error {
	path := s.Index
	if path == "" {
		path = config.DefaultIndex
	}
	index, err := config.ReadIndex(path)
	if err != nil {
		return &catalog.Error{Code: catalog.NotListed, Err: fmt.Errorf("whose calls are taken is not known: %w", err)}
	}
	if len(index.ForUID(uid)) == 0 {
		return &catalog.Error{Code: catalog.NotListed, Err: fmt.Errorf("root's index lists no gate of uid %d, so its calls are not taken", uid)}
	}
	return nil
}

// host is who takes one call of a user. All that is the user's own word in it is where the call comes from, the values of
// variables that the catalogue takes over, and by which program.
func (s *Service) host(uid uint32, r request) (*catalog.Host, error) {
	// As the home of a person would have it: root can look with HOME=DIRECTORY gate log, and gate why.
	state := filepath.Join(s.State, strconv.FormatUint(uint64(uid), 10), ".local/state/gatehouse")
	judge, err := gate.Open(gate.Options{Index: s.Index, UID: uid, Strict: true, State: state})
	if err != nil {
		return nil, err
	}
	if from := judge.Provenance(); judge.Problem() == nil && from.Mode != gate.ModeAccepted {
		return nil, &catalog.Error{Code: catalog.NotAccepted, Err: errors.New("root's index says decide: live, so no catalogue of this user was accepted")}
	}
	return &catalog.Host{
		Place:    catalog.Place{Policy: judge.Provenance(), Problem: judge.Problem(), UID: uid},
		Judge:    judge,
		Log:      decisionLog{judge, r.Client},
		Jobs:     filepath.Join(state, "catalogue"),
		Cwd:      r.Cwd,
		Home:     judge.Home(),
		Client:   r.Client,
		Getenv:   func(name string) (string, bool) { value, ok := r.Env[name]; return value, ok },
		Boundary: true,
		MaxJobs:  maxJobs,
		Launch:   s.Launch,
		ToolHome: s.ToolHome,
	}, nil
}
