package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/gate/catalog"
	"gatehouse/internal/cli"
)

// instructions are what a client may tell its model about this server.
const instructions = `These tools are a frozen catalogue: a person chose them, their arguments and their limits. No shell reads what you send.
Each call is one step of a job, and this session is one job. The first failure ends the job, a refused argument too: read a
tool's schema before you call it. After that every call is refused, trying again does not help, and a person has to begin a new
session. A refusal is a boundary; do not look for another way to the same.`

// A server answers the requests of clients for tools, over whatever transport they come.
type server struct {
	open func() (catalog.Runner, error)
	job  string // that every call belongs to; "": see jobOf
	run  string // names the job of calls that belong to no session
	err  io.Writer
	log  *slog.Logger

	turns turns
	calls calls
}

func newServer(open func() (catalog.Runner, error), job string, errOut io.Writer) *server {
	return &server{
		open: open, job: job, run: newJob(), err: errOut,
		log: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

// say writes to the log of whoever started this program. Standard output belongs to the protocol.
func (s *server) say(format string, args ...any) {
	fmt.Fprintf(s.err, "gate-mcp: %s\n", cli.Line(fmt.Sprintf(format, args...)))
}

// announce says at the start where there are no tools, and why. The server serves all the same: once a person has put it
// right, the tools are there.
func (s *server) announce(ctx context.Context) {
	if _, err := s.catalogue(ctx); err != nil {
		s.say("no tool can be called: %s: %v", catalog.CodeOf(err), err)
	}
}

func (s *server) catalogue(ctx context.Context) (*catalog.Catalogue, error) {
	runner, err := s.open()
	if err != nil {
		return nil, err
	}
	return runner.List(ctx)
}

// anyTool is the one tool that is registered with the SDK. The list of tools can change with each request, so that it is
// answered before the SDK looks, and each call is passed to this one, whatever tool it names. No client can see that name.
const anyTool = "any"

// toolName is the key of the name that a call had when it came.
type toolName struct{}

// protocol is what speaks to clients.
func (s *server) protocol() *mcp.Server {
	p := mcp.NewServer(
		&mcp.Implementation{Name: "gatehouse", Title: "Gatehouse catalogue", Version: cli.Version()},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       s.log,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	p.AddTool(&mcp.Tool{Name: anyTool, InputSchema: json.RawMessage(`{"type": "object"}`)}, s.call)
	p.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			switch r := r.(type) {
			case *mcp.ListToolsRequest:
				listed, err := s.list(ctx, r)
				if err != nil {
					return nil, err // and not a nil pointer, which would be a result
				}
				return listed, nil
			case *mcp.CallToolRequest:
				params := *r.Params
				ctx = context.WithValue(ctx, toolName{}, params.Name)
				params.Name = anyTool
				return next(ctx, method, &mcp.CallToolRequest{Session: r.Session, Params: &params, Extra: r.Extra})
			default:
				return next(ctx, method, r)
			}
		}
	})
	return p
}

func (s *server) list(ctx context.Context, r *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	if r.Params != nil && r.Params.Cursor != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the list has one page; there is no cursor"}
	}
	c, err := s.catalogue(ctx)
	if err != nil {
		code := catalog.CodeOf(err)
		data, _ := json.Marshal(map[string]catalog.Code{"code": code})
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%s: %v", code, err), Data: data}
	}
	// What is in force can change with the next request, and it is in force for this user.
	result := &mcp.ListToolsResult{Tools: []*mcp.Tool{}, Cacheable: mcp.Cacheable{CacheScope: "private"}}
	for i := range c.Tools {
		t := &c.Tools[i]
		result.Tools = append(result.Tools, &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Args})
	}
	return result, nil
}

func (s *server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, _ := ctx.Value(toolName{}).(string)
	if name == "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the call names no tool"}
	}
	data, err := callOf(name, r.Params.Arguments)
	if err != nil {
		return nil, err
	}
	ctx, done, err := s.calls.begin(ctx, r.Session.ID())
	if err != nil {
		return nil, err
	}
	defer done()
	job := s.jobOf(r)
	leave, err := s.turns.enter(ctx, job)
	if err != nil {
		return nil, err // cancelled before its turn: nothing ran, and no step was taken
	}
	defer leave()
	runner, err := s.open()
	if err != nil {
		return resultOf(catalog.Result{Schema: catalog.ResultSchema, Code: catalog.CodeOf(err), Error: err.Error(), Tool: name, Job: job}), nil
	}
	report, quiet := reporter(ctx, r)
	result := runner.Call(ctx, catalog.Request{Job: job, Call: data, Progress: report})
	quiet()
	return resultOf(result), nil
}

// callOf is a call as gate call takes it. The arguments are passed on byte by byte, so that a key that is there twice is
// seen by whoever holds them against the schema. Clients leave them out where a tool has none.
func callOf(name string, args json.RawMessage) ([]byte, error) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	data, err := json.Marshal(struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}{name, args})
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the arguments are no JSON: " + err.Error()}
	}
	return data, nil
}
