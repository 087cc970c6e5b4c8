package caller

import (
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peerUID is who is at the other end of a connection. Of a socket that systemd listens on that is root, whoever serves it.
func peerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, fmt.Errorf("ask the kernel who is at the other end: %w", err)
	}
	return cred.Uid, nil
}

// dialRoots connects to a socket that root listens on. Nobody else can make one, whatever lies at the path: the kernel
// noted who listens.
func dialRoots(path string) (*net.UnixConn, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is no socket", path)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	uid, err := peerUID(conn)
	if err == nil && uid != 0 {
		err = fmt.Errorf("uid %d listens on %s, and not root", uid, path)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
