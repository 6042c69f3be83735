package durable

import (
	"errors"
	"fmt"
	"os"
)

// Lock waits for the exclusive lock of a file, among goroutines and processes.
// It creates the file if needed and does not remove it. The system releases the
// locks of a process that ends.
//
// On a file system without locks it does not exclude anyone.
func Lock(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := lock(f); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f.Close, nil
}
