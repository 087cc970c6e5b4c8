package caller

import (
	"fmt"
	"net"

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
