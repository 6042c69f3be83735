package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// The one rule for what is temporary: whoever uses a file or a folder holds its lock, which
// the system releases when the process ends, and whoever makes one removes those of the
// same kind beside it whose lock can be had.

// tempTries bounds how often a name is drawn again.
const tempTries = 100

// lockName is the file in a temporary folder whose lock the user of the folder holds.
const lockName = ".lock"

var errLost = errors.New("the temporary file was removed while it was made")

// TempFile makes a file in a folder, "" being the system's, whose name is kind and random
// digits. The file is locked until it is closed; remove closes and removes it. Files of
// that kind which ended processes left are removed first.
func TempFile(dir, kind string) (f *os.File, remove func() error, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	removeEnded(dir, func(name string) bool { return strings.HasPrefix(name, kind) })
	f, err = draw(dir, kind, func(path string) (*os.File, error) { return locked(path, 0o600) })
	if err != nil {
		return nil, nil, err
	}
	return f, func() error { return errors.Join(f.Close(), os.Remove(f.Name())) }, nil
}

// TempDir makes a folder in another, "" being the system's, whose name is kind and random
// digits, and holds it until remove, which removes it with what it has. Folders of that
// kind which ended processes left are removed first.
func TempDir(dir, kind string) (path string, remove func() error, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if _, err := os.Stat(dir); err != nil { // told by its own name
		return "", nil, err
	}
	removeEnded(dir, func(name string) bool { return strings.HasPrefix(name, kind) })
	f, err := draw(dir, kind, func(path string) (*os.File, error) {
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, err
		}
		f, err := locked(filepath.Join(path, lockName), 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			err = errLost
		}
		return f, err
	})
	if err != nil {
		return "", nil, err
	}
	path = filepath.Dir(f.Name())
	return path, func() error { return errors.Join(f.Close(), os.RemoveAll(path)) }, nil
}

// draw calls create with names until one is free.
func draw(dir, kind string, create func(path string) (*os.File, error)) (f *os.File, err error) {
	for range tempTries {
		f, err = create(filepath.Join(dir, fmt.Sprintf("%s%08x", kind, rand.Uint32())))
		if err == nil || !errors.Is(err, fs.ErrExist) && !errors.Is(err, errLost) {
			return f, err
		}
	}
	return nil, err
}

// locked creates a file and takes its lock, or fails with errLost if another process had
// it in between, which removes it.
func locked(path string, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if err := hold(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// hold takes the lock of a new file that still has its name.
func hold(f *os.File) error {
	if errors.Is(lock(f, 0), ErrLocked) { // without locks nothing is ever removed
		return errLost
	}
	named, err := os.Lstat(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return errLost
	} else if err != nil {
		return err
	}
	own, err := f.Stat()
	if err == nil && !os.SameFile(own, named) {
		err = errLost
	}
	return err
}

// holdName takes the lock of a new file beside its writer's handle.
func holdName(path string) (release func(), err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errLost
	}
	if err == nil {
		if err = hold(f); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return func() { f.Close() }, err
}

// RemoveEnded removes what processes that ended left of the files of a folder that they
// were writing, see [IsTemp]. A program calls it for a folder of its own when it starts.
func RemoveEnded(dir string) { removeEnded(dir, IsTemp) }

// removeEnded removes files and folders of a kind that no process uses. What cannot be
// removed stays: it may be another user's.
func removeEnded(dir string, kind func(name string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !kind(e.Name()) {
			continue
		}
		switch path := filepath.Join(dir, e.Name()); {
		case e.IsDir():
			if ended(filepath.Join(path, lockName), func() { _ = os.RemoveAll(path) }) != nil {
				_ = os.Remove(path) // its maker ended, or is told, before it had a lock; others are not empty
			}
		case e.Type().IsRegular():
			_ = ended(path, func() { _ = os.Remove(path) })
		}
	}
}

// ended calls remove with the lock of a file if no process has it; an error says that
// there is no such file.
func ended(path string, remove func()) error {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() { // a link may lead anywhere
		return fs.ErrNotExist
	}
	f, err := openNow(path)
	if err != nil {
		return nil
	}
	if lock(f, 0) == nil {
		if removesOpen {
			remove()
			return f.Close()
		}
		f.Close()
		remove()
		return nil
	}
	return f.Close()
}
