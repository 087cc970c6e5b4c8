package systemd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// A unitState is what a manager says of a unit.
type unitState struct {
	load, active, sub, typ, result       string
	mainPID                              int
	controlGroup                         string
	invocation                           string // lower-case hex; empty where the unit never started
	inactiveExit, activeEnter, mainStart stamp
	runtimeDirs                          []string
	dynamicUser                          bool
	sockets                              bool // a socket starts it
	condition                            bool // the last start failed on a condition
	delegated                            bool // its user may move processes into its control group
	leavings                             bool // processes of an earlier run may have outlived it
	handsOver                            bool // its processes may say that another one is the main one
}

// A stamp is one moment on two clocks. The zero stamp is "never".
type stamp struct {
	real time.Time
	mono time.Duration
}

// running reports whether the manager says that there are processes, or that there may be.
func (u *unitState) running() bool {
	return u.active != "inactive" && u.active != "failed" && u.sub != "auto-restart" && u.sub != "auto-restart-queued"
}

// A socket is a place where a manager can be asked.
type socket struct {
	path  string
	owner uint32 // of the manager
	hello bool   // a message bus is between, which wants to be greeted
}

// systemSockets are asked in turn. The private one takes root alone and needs no message bus; it refuses a client from
// another PID namespace, which the system bus serves.
func (c *Checker) systemSockets() []socket {
	return []socket{
		{path: filepath.Join(c.runDir(), "systemd/private")},
		{path: filepath.Join(c.runDir(), "dbus/system_bus_socket"), hello: true},
	}
}

// userSockets is where a user's manager takes root's questions: its private socket. The user's message bus turns root away
// (dbus-daemon 1.14), and would be one more program of the user's to believe.
func (c *Checker) userSockets(uid uint32) []socket {
	return []socket{{path: filepath.Join(c.runDir(), "user", strconv.FormatUint(uint64(uid), 10), "systemd/private"), owner: uid}}
}

// ask asks a manager for units. Each question takes a new connection, so there is none that could have gone stale, and
// is asked up to three times: while it re-executes itself a manager does not answer.
func (c *Checker) ask(ctx context.Context, sockets []socket, units ...string) ([]unitState, error) {
	return c.askWithin(ctx, c.timeout(), sockets, units)
}

func (c *Checker) askWithin(ctx context.Context, limit time.Duration, sockets []socket, units []string) ([]unitState, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var errs []error
	for try := range 3 {
		if try > 0 && !pause(ctx, 100*time.Millisecond) {
			break
		}
		errs = nil
		for _, s := range sockets {
			states, err := c.askAt(ctx, s, units)
			if err == nil {
				return states, nil
			}
			errs = append(errs, fmt.Errorf("%s: %w", s.path, err))
		}
	}
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("no answer within %v", c.timeout()))
	}
	return nil, errors.Join(errs...)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (c *Checker) askAt(ctx context.Context, s socket, units []string) ([]unitState, error) {
	conn, err := c.connect(ctx, s)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	states := make([]unitState, len(units))
	for i, unit := range units {
		properties, err := unitProperties(ctx, conn, unit)
		if err != nil {
			return nil, err
		}
		if states[i], err = readState(properties); err != nil {
			return nil, fmt.Errorf("answer for %q: %w", unit, err)
		}
	}
	return states, nil
}

// unitProperties asks for all that there is to know of a unit. One that does not exist has properties, too.
func unitProperties(ctx context.Context, conn *dbus.Conn, unit string) (map[string]any, error) {
	path := dbus.ObjectPath("/org/freedesktop/systemd1/unit/" + sdbus.PathBusEscape(unit))
	object := conn.Object("org.freedesktop.systemd1", path)
	done := make(chan *dbus.Call, 1)
	object.GoWithContext(ctx, "org.freedesktop.DBus.Properties.GetAll", 0, done, "")
	var call *dbus.Call
	// On its private socket systemd does not see a question that arrives together with the end of the authentication, until
	// there is something more to read.
	for wait := 5 * time.Millisecond; call == nil; wait *= 2 {
		select {
		case call = <-done:
		case <-time.After(wait):
			object.GoWithContext(ctx, "org.freedesktop.DBus.Peer.Ping", dbus.FlagNoReplyExpected, nil)
		}
	}
	if said, ok := errors.AsType[dbus.Error](call.Err); ok { // text of a manager's choice
		return nil, fmt.Errorf("ask for %q: the answer is the error %.200q", unit, said.Error())
	}
	if call.Err != nil {
		return nil, fmt.Errorf("ask for %q: %w", unit, call.Err)
	}
	if len(call.Body) == 1 {
		if answer, ok := call.Body[0].(map[string]dbus.Variant); ok {
			properties := make(map[string]any, len(answer))
			for name, value := range answer {
				properties[name] = value.Value()
			}
			return properties, nil
		}
	}
	return nil, fmt.Errorf("ask for %q: the answer has no properties", unit)
}

// connect opens a connection that ends with ctx and never takes a descriptor. A wire guards it.
func (c *Checker) connect(ctx context.Context, s socket) (conn *dbus.Conn, err error) {
	dial := dialManager
	if c.dial != nil {
		dial = c.dial
	}
	raw, err := dial(ctx, s.path, s.owner)
	if err != nil {
		return nil, err
	}
	defer func() { // the authentication is what the library does before the wire begins to look
		if r := recover(); r != nil {
			conn, err = nil, fmt.Errorf("its greeting ends with %.100q", fmt.Sprint(r))
		}
		if err != nil {
			raw.Close()
		}
	}()
	if deadline, ok := ctx.Deadline(); ok {
		raw.SetDeadline(deadline)
	}
	conn, err = dbus.NewConn(newWire(raw), dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(unix.Getuid()))})
	if err == nil && s.hello {
		err = conn.Hello()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// dialManager connects to a socket whose name a user may have chosen: no link is followed, and the listener must be
// owner's process. What answers there is believed no more for that; it is only not somebody else's service.
func dialManager(ctx context.Context, path string, owner uint32) (net.Conn, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	if owner == 0 {
		how.Resolve = 0 // root's own /run may lie behind /var/run
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, how)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	conn, err := new(net.Dialer).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(fd))
	if err != nil {
		if cause, ok := errors.AsType[*net.OpError](err); ok {
			err = cause.Err // the address says nothing to anybody
		}
		return nil, err
	}
	peer, err := peerOf(conn.(*net.UnixConn))
	if err == nil && peer.Uid != owner {
		err = fmt.Errorf("it belongs to uid %d and not to %d", peer.Uid, owner)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func peerOf(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return peer, errors.Join(err, failed)
}

// readState takes what it needs from the properties of a service. A property that is missing or of another type than
// systemd gives it makes the whole answer worthless.
func readState(properties map[string]any) (unitState, error) {
	p := reader{properties: properties}
	u := unitState{
		load: p.word("LoadState"), active: p.word("ActiveState"), sub: p.word("SubState"),
		inactiveExit: p.stamp("InactiveExitTimestamp"), activeEnter: p.stamp("ActiveEnterTimestamp"),
		invocation: hex.EncodeToString(get[[]byte](&p, "InvocationID")),
	}
	for _, unit := range get[[]string](&p, "TriggeredBy") {
		u.sockets = u.sockets || filepath.Ext(unit) == ".socket"
	}
	if at := p.stamp("ConditionTimestamp"); !at.real.IsZero() {
		u.condition = !get[bool](&p, "ConditionResult")
	}
	if _, service := properties["MainPID"]; service { // a slice has none
		u.result = p.word("Result")
		if u.load == "loaded" {
			u.typ = p.word("Type")
		}
		u.mainPID = int(get[uint32](&p, "MainPID"))
		u.controlGroup = get[string](&p, "ControlGroup")
		u.mainStart = p.stamp("ExecMainStartTimestamp")
		u.runtimeDirs = get[[]string](&p, "RuntimeDirectory")
		u.dynamicUser = get[bool](&p, "DynamicUser")
		u.delegated = p.but("Delegate", false)
		u.leavings = p.but("KillMode", "control-group") && p.but("KillMode", "mixed") || p.but("SendSIGKILL", true)
		u.handsOver = p.but("NotifyAccess", "none") || u.typ == "forking"
	}
	if n := len(u.invocation); p.err == nil && n != 0 && n != 32 {
		p.err = fmt.Errorf("InvocationID has %d hex digits", n)
	}
	return u, p.err
}

type reader struct {
	properties map[string]any
	err        error
}

func get[T any](p *reader, name string) (value T) {
	raw, ok := p.properties[name]
	if !ok && p.err == nil {
		p.err = fmt.Errorf("%s is missing", name)
	}
	value, ok = raw.(T)
	if !ok && p.err == nil {
		p.err = fmt.Errorf("%s is a %T", name, raw)
	}
	return value
}

// but reports whether a property is something else than the usual, or not known.
func (p *reader) but(name string, usual any) bool { return p.properties[name] != usual }

// word reads one of the words in which systemd names states. It ends up in sentences, so nothing else may.
func (p *reader) word(name string) string {
	text := get[string](p, name)
	plain := func(r rune) bool { return r == '-' || r >= 'a' && r <= 'z' }
	if p.err == nil && (text == "" || len(text) > 40 || strings.ContainsFunc(text, func(r rune) bool { return !plain(r) })) {
		p.err = fmt.Errorf("%s is %.50q", name, text)
	}
	return text
}

// stamp reads microseconds since 1970, and their twin on the monotonic clock.
func (p *reader) stamp(name string) stamp {
	real, mono := get[uint64](p, name), get[uint64](p, name+"Monotonic")
	const most = math.MaxInt64 / 1000
	switch {
	case real == 0:
		return stamp{}
	case p.err == nil && (real > most || mono > most):
		p.err = fmt.Errorf("%s is out of range", name)
		return stamp{}
	}
	return stamp{time.UnixMicro(int64(real)).UTC(), time.Duration(mono) * time.Microsecond}
}
