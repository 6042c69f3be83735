package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll syncs the file system of a file. Since Linux 5.8 the call reports
// failed writes.
func syncAll(name string) (done bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return true, err
	}
	return true, errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
