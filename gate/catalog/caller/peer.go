package caller

import (
	"fmt"
	"io/fs"
	"net"
	"os"
)

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
