package caller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatehouse/gate/catalog"
)

// filesOf is what a tool's unit is sent, in one message with its descriptors. It is the version of what it says.
const filesOf = 1

// Remote starts the supervisor of a tool in a unit of its own: the service hands four descriptors to what systemd starts
// for the connection.
func Remote(socket string) catalog.Launcher {
	return func(_ context.Context, files [4]*os.File) (func() error, error) {
		conn, err := dialRoots(socket)
		if err != nil {
			return nil, err
		}
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
			if err := unix.SetNonblock(fds[i], false); err != nil { // they are no longer this program's
				conn.Close()
				return nil, err
			}
		}
		if _, _, err := conn.WriteMsgUnix([]byte{filesOf}, unix.UnixRights(fds...), nil); err != nil {
			conn.Close()
			return nil, err
		}
		return func() error {
			defer conn.Close()
			conn.SetReadDeadline(time.Now().Add(endTime))
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				return fmt.Errorf("wait for the unit of the tool: %w", err)
			}
			return nil
		}, nil
	}
}

// ServeTool is the other side of Remote: it runs the supervisor with the descriptors that the service sends over conn.
// What it leaves running, systemd ends.
func ServeTool(conn *net.UnixConn, reexec []string) error {
	if err := fromService(conn); err != nil {
		return err
	}
	files, err := receive(conn)
	if err != nil {
		return fmt.Errorf("take the descriptors of a tool: %w", err)
	}
	cmd := catalog.Supervisor(reexec, files)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	for _, f := range files {
		f.Close()
	}
	return cmd.Wait()
}

// fromService reports an error unless the service, or root, is at the other end.
func fromService(conn *net.UnixConn) error {
	uid, err := peerUID(conn)
	if err != nil {
		return err
	}
	service, err := user.Lookup(User)
	if err != nil {
		return err
	}
	if id := strconv.FormatUint(uint64(uid), 10); id != service.Uid && uid != 0 {
		return fmt.Errorf("uid %s asks for a tool to be run, and not the user %s", id, User)
	}
	return nil
}

func receive(conn *net.UnixConn) (files [4]*os.File, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(requestTime)); err != nil {
		return files, err
	}
	data, rights := make([]byte, 16), make([]byte, unix.CmsgSpace(4*len(files)))
	n, m, flags, _, err := conn.ReadMsgUnix(data, rights)
	if err != nil {
		return files, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return files, err
	}
	var fds []int
	for i := range messages {
		some, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		fds = append(fds, some...)
	}
	if n != 1 || data[0] != filesOf || len(fds) != len(files) || flags&unix.MSG_CTRUNC != 0 {
		return files, fmt.Errorf("%d bytes came with %d descriptors, which is not what this version takes", n, len(fds))
	}
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), "descriptor of a tool")
	}
	return files, nil
}
