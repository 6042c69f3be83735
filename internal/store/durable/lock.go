package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrLocked says that someone else has a lock.
var ErrLocked = errors.New("locked by another process")

// Lock waits for the exclusive lock of a file, among goroutines and processes.
// It creates the file if needed and does not remove it; its holder may. The system
// releases the locks of a process that ends.
//
// On a file system without locks it does not exclude anyone.
func Lock(path string) (release func() error, err error) { return take(path, waits) }

// LockUntil is [Lock] that calls busy, once, if someone else has the lock, and gives up
// when ctx ends.
func LockUntil(ctx context.Context, path string, busy func()) (release func() error, err error) {
	if release, err = TryLock(path); !errors.Is(err, ErrLocked) {
		return release, err
	}
	busy()
	type taken struct {
		release func() error
		err     error
	}
	got, left := make(chan taken), make(chan struct{})
	go func() { // systems wait for locks without an end
		release, err := Lock(path)
		select {
		case got <- taken{release, err}:
		case <-left:
			if err == nil {
				_ = release() // nobody wants it any more
			}
		}
	}()
	select {
	case t := <-got:
		return t.release, t.err
	case <-ctx.Done():
		close(left)
		return nil, fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
	}
}

// TryLock is [Lock] without waiting: [ErrLocked] if anyone has the lock.
func TryLock(path string) (release func() error, err error) { return take(path, 0) }

// LockShared waits for a lock of a file that excludes exclusive ones alone.
func LockShared(path string) (release func() error, err error) { return take(path, waits|shares) }

// Held reports whether anyone has the exclusive lock of a file that is there. known is
// false where that cannot be told: without the file, or without locks.
func Held(path string) (held, known bool) {
	f, err := OpenRegular(path)
	if err != nil {
		return false, false
	}
	defer f.Close() // and with it the lock, which others that ask share meanwhile
	err = lock(f, shares)
	return err != nil, err == nil || errors.Is(err, ErrLocked)
}

// A mode says how a lock is taken.
type mode uint8

const (
	waits  mode = 1 << iota // until it can be had
	shares                  // with others that share
)

func take(path string, m mode) (release func() error, err error) {
	for {
		f, err := openLock(path)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody made it, or it was a link
		}
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		if err := lock(f, m); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		own, err := f.Stat()
		named, e := os.Stat(path)
		if err = errors.Join(err, e); err == nil && os.SameFile(own, named) {
			return f.Close, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("lock: %w", err)
		} // whoever had it removed it
	}
}

// openLock opens a file of locks, or makes it. What a link without an end points to is not
// made: the link gives way.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		if st, e := os.Lstat(path); e == nil && st.Mode().Type() == fs.ModeSymlink {
			if e := os.Remove(path); e != nil {
				return nil, e
			}
		}
	}
	return f, err
}
