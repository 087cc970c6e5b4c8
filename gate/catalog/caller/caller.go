// Package caller finds who takes the calls of a catalogue, and is the service that takes them.
//
// On a host on which warden install put the service, it takes the calls of every user whose gates root's index lists, for
// gate call and gate mcp alike. There are three processes then, of three users:
//
//   - the client, of the agent's user, which has nothing but a socket (client.go). It believes only a socket that root
//     listens on, and does not run anything itself: a service that is dead is an error, never a reason to do without;
//   - the service, of the user gatehouse (serve.go, peer.go). The kernel says whose call it is; the policy and the
//     catalogue are those that root's index has for that user, and a user whom it does not list is refused. It counts the
//     steps and writes the log, where nobody else can write, and starts nothing itself;
//   - the tool, of the user gatehouse-tools, in a unit and a control group of its own for each call (tool.go). Another user
//     than the service's, since what a tool runs may be what the agent wrote.
//
// Anywhere else this process takes the calls (host.go), and the counter guards against accidents only. That is so as well
// where root's index says decide: live, since there the agent's user decides what is in force, and where root masked the
// socket unit. A user who runs the in-process host by hand gains nothing by it: its tools have no other rights than that
// user, and its counter is not the one of the service.
//
// One call is one connection (wire.go): a request in one line of JSON, answers in one line each. Requests are bounded in
// size and time and in number for each user. Who hangs up cancels.
package caller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"gatehouse/config"
	"gatehouse/gate/catalog"
)

// Where warden install puts things.
const (
	// Unit is there where the service is installed; a link to /dev/null is root's word that it is not wanted.
	Unit       = "/etc/systemd/system/gatehouse-call.socket"
	CallSocket = "/run/gatehouse-call.sock"
	ToolSocket = "/run/gatehouse-tool.sock"
	// ToolHome is HOME of the tools that the service starts.
	ToolHome = "/var/lib/gatehouse-tools"
	// User is who the service runs as.
	User = "gatehouse"
)

// Options say who calls, and from where.
type Options struct {
	Index  string // root's index; "": config.DefaultIndex
	UID    uint32
	Home   string // as the environment says; counts for nothing where root's index lists the user
	Cwd    string // absolute
	Client string // for the log: GateCall or MCP
	Getenv func(name string) (string, bool)
	Reexec []string // as catalog.Host.Reexec

	Unit   string // "": Unit
	Socket string // "": CallSocket
}

// The programs that call.
const (
	GateCall = "gate-call"
	MCP      = "mcp"
)

// Open returns who takes the calls of a user.
func Open(o Options) (catalog.Runner, error) {
	if o.Index == "" {
		o.Index = config.DefaultIndex
	}
	if o.Unit == "" {
		o.Unit = Unit
	}
	if o.Socket == "" {
		o.Socket = CallSocket
	}
	served, err := o.served()
	if err != nil {
		return refusing{&catalog.Error{Code: catalog.NoService, Err: fmt.Errorf("whether a service takes the calls here is not known: %w", err)}}, nil
	}
	if served {
		return &client{o}, nil
	}
	return o.host()
}

// served reports whether the service takes the calls of this user.
func (o Options) served() (bool, error) {
	index, err := config.ReadIndex(o.Index)
	if err != nil {
		return false, nil // no warden; or an index that cannot be read, on which everything is denied
	}
	decides := func(g config.IndexGate) bool { return g.Decide != config.DecideLive }
	if !slices.ContainsFunc(index.ForUID(o.UID), decides) {
		return false, nil
	}
	info, err := os.Lstat(o.Unit)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return true, nil
	}
	target, err := os.Readlink(o.Unit)
	return target != os.DevNull, err
}

// refusing takes no calls.
type refusing struct{ err error }

func (r refusing) List(context.Context) (*catalog.Catalogue, error) { return nil, r.err }

func (r refusing) Call(_ context.Context, request catalog.Request) catalog.Result {
	return refusal(request.Job, r.err)
}

// refusal is the result of a call that came to nobody.
func refusal(job string, err error) catalog.Result {
	return catalog.Result{Schema: catalog.ResultSchema, Code: catalog.CodeOf(err), Error: err.Error(), Job: job, Counter: "boundary"}
}
