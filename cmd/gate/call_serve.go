package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"

	"gatehouse/gate/catalog/caller"
)

// caller is who takes the calls of this process's user.
func (g *globals) caller(cwd string) caller.Options {
	return caller.Options{
		Index: g.index, UID: uint32(os.Getuid()), Home: g.streams.Getenv("HOME"), Cwd: cwd, Client: caller.GateCall, Getenv: g.lookupEnv,
		Reexec: callReexec(),
	}
}

// runCallService takes calls on the socket that systemd listens on. It is what gatehouse-call.service runs.
func runCallService(ctx context.Context, g *globals) error {
	listener, err := inheritedListener(g.streams.Getenv)
	if err != nil {
		return err
	}
	defer listener.Close()
	state := g.streams.Getenv("STATE_DIRECTORY")
	if state == "" {
		return errors.New("--serve is for gatehouse-call.service: $STATE_DIRECTORY says where jobs are kept")
	}
	s := caller.Service{Index: g.index, State: state, Launch: caller.Remote(caller.ToolSocket), ToolHome: caller.ToolHome,
		Old: replaced, Log: slog.New(slog.NewTextHandler(g.streams.Err, &slog.HandlerOptions{ReplaceAttr: withoutTime}))}
	return s.Serve(ctx, listener)
}

// replaced reports that another program lies where this one was started from.
func replaced() bool {
	path, err := os.Executable()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	us, err := os.Stat("/proc/self/exe")
	return err == nil && !os.SameFile(there, us)
}

// withoutTime leaves the time to the journal.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// firstInherited is the first descriptor that systemd hands to a service with a socket.
const firstInherited = 3

func inheritedListener(getenv func(string) string) (*net.UnixListener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || getenv("LISTEN_FDS") != "1" {
		return nil, errors.New("--serve is for gatehouse-call.service: systemd hands it one socket to listen on")
	}
	syscall.CloseOnExec(firstInherited)
	f := os.NewFile(firstInherited, "socket of systemd")
	defer f.Close()
	listener, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take the socket from systemd: %w", err)
	}
	unixListener, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, errors.New("the socket from systemd is no Unix socket")
	}
	unixListener.SetUnlinkOnClose(false) // it stays, for the next start
	return unixListener, nil
}

// runCallTool runs the tool of one call, for the service at the other end of standard input. It is what
// gatehouse-tool@.service runs.
func runCallTool(in io.Reader) error {
	f, ok := in.(*os.File)
	if !ok {
		return errors.New("--tool is for gatehouse-tool@.service")
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return fmt.Errorf("--tool is for gatehouse-tool@.service: %w", err)
	}
	defer conn.Close()
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("--tool is for gatehouse-tool@.service: standard input is no Unix socket")
	}
	return caller.ServeTool(unixConn, callReexec())
}
