package durable

import (
	"errors"
	"fmt"
	"os"
)

// Lock waits until nobody else, in this process or another, holds the lock of
// a file, which it makes if it is not there, and which stays. A process that
// ends gives its locks back, however it ends.
//
// On a file system without locks they are held by everybody.
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
