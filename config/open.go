package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// readTrusted reads a file that nobody but root and the caller can have written: it opens once, without waiting, and
// judges what it opened.
func readTrusted(path string, flags int) ([]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 && int(uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s belongs to uid %d and is not believed; fix it with: chown root %[1]s", path, uid)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return nil, fmt.Errorf("%s can be written by others (mode %04o) and is not believed; "+
			"fix it with: chmod go-w %[1]s", path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, nil
}
