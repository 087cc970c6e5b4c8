package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/gate/catalog"
)

// A client has the service take its calls.
type client struct{ o Options }

// endTime is how long a call that was cancelled may take to end.
const endTime = 40 * time.Second

func (c *client) List(ctx context.Context) (*catalog.Catalogue, error) {
	last, sent, err := c.ask(ctx, request{Op: "list"}, nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &catalog.Error{Code: catalog.Fault, Err: ctx.Err()}
	case err != nil && sent:
		return nil, noService("%w", err)
	case err != nil:
		return nil, err
	case last.Error != nil:
		return nil, last.Error.err()
	case last.Catalogue == nil:
		return nil, noService("its answer has no catalogue")
	}
	return last.Catalogue, nil
}

func (c *client) Call(ctx context.Context, r catalog.Request) catalog.Result {
	env, err := c.environment(ctx)
	if err != nil {
		return refusal(r.Job, err)
	}
	cwd := c.o.Cwd
	if real, err := filepath.EvalSymlinks(cwd); err == nil { // the service itself follows no link that a caller names
		cwd = real
	}
	last, sent, err := c.ask(ctx, request{Op: "call", Job: r.Job, Call: r.Call, Cwd: cwd, Env: env}, r.Progress)
	switch {
	case err == nil && last.Error != nil:
		return refusal(r.Job, last.Error.err())
	case err == nil && last.Result != nil:
		return *last.Result
	case err == nil:
		err = noService("its answer has no result")
	case sent:
		result := refusal(r.Job, &catalog.Error{Code: catalog.CallLost, Err: fmt.Errorf("the service ended before it said how the call did: %w; "+
			"whether the tool ran is not known, and a job whose step never ended is over", err)})
		result.Ended = true
		return result
	}
	return refusal(r.Job, err)
}

// environment is what tools of the catalogue take over from the caller, and nothing else of it: the service has no use for
// the caller's secrets. A tool is not to run without what it lists because the service was busy when it was asked for it.
func (c *client) environment(ctx context.Context) (map[string]string, error) {
	catalogue, err := c.List(ctx)
	if err != nil || c.o.Getenv == nil {
		return nil, err
	}
	env := make(map[string]string)
	for _, t := range catalogue.Tools {
		for _, name := range t.Env {
			if strings.Contains(name, "=") {
				continue
			}
			if value, ok := c.o.Getenv(name); ok {
				env[name] = value
			}
		}
	}
	return env, nil
}

func noService(format string, args ...any) error {
	return &catalog.Error{Code: catalog.NoService, Err: fmt.Errorf("the service that takes calls on this host does not do so, and nothing ran: "+format+
		"; root can look with: systemctl status gatehouse-call.socket gatehouse-call.service", args...)}
}

// ask sends a request and returns the last answer to it. sent reports that the service may have it, error or not.
func (c *client) ask(ctx context.Context, r request, progress func(catalog.Progress)) (last answer, sent bool, err error) {
	conn, err := dialRoots(c.o.Socket)
	if err != nil {
		return last, false, noService("%w", err)
	}
	defer conn.Close()
	r.Version, r.Client = wireVersion, c.o.Client
	data, err := json.Marshal(r)
	if err != nil {
		return last, false, err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
		return last, false, noService("%w", err)
	}
	// A service that refuses before it has read everything answers all the same, so that a failed write is no end yet.
	_, writeErr := conn.Write(append(data, '\n'))
	stop := context.AfterFunc(ctx, func() {
		conn.SetReadDeadline(time.Now().Add(endTime))
		conn.CloseWrite()
	})
	defer stop()
	dec := json.NewDecoder(io.LimitReader(conn, maxAnswers))
	for {
		last = answer{}
		err := dec.Decode(&last)
		switch {
		case err != nil && writeErr != nil:
			return last, false, noService("%w", errors.Join(writeErr, err))
		case errors.Is(err, io.EOF):
			return last, true, errors.New("it hung up")
		case err != nil:
			return last, true, err
		case last.Version != wireVersion:
			return last, true, fmt.Errorf("it speaks version %d of the protocol, and this program %d", last.Version, wireVersion)
		case last.Progress == nil:
			return last, true, nil
		case progress != nil:
			progress(*last.Progress)
		}
	}
}
