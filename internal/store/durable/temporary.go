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

// LockFile is the file in a folder whose lock the user of the folder holds.
const LockFile = ".lock"

// ownName is the folder beside it in a temporary one, which is the user's alone.
const ownName = "files"

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

// TempDir makes an empty folder that is held until remove, which removes it with what it
// has. It is in a folder of another one, "" being the system's, whose name is kind and
// random digits, beside the lock: the caller may rename it, or list all that it has.
// Folders of that kind which ended processes left are removed first.
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
		f, err := locked(filepath.Join(path, LockFile), 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			err = errLost
		}
		return f, err
	})
	if err != nil {
		return "", nil, err
	}
	whole := filepath.Dir(f.Name())
	path, remove = filepath.Join(whole, ownName), func() error { return errors.Join(f.Close(), os.RemoveAll(whole)) }
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return path, remove, nil
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

// RemoveEnded removes what processes that ended left of the files of a folder whose names
// end with suffix, see [IsTemp]. A program calls it when it starts, with "" for a folder of
// its own. A file system that is not the operating system's has no other processes.
func RemoveEnded(fsys FS, dir, suffix string) {
	if Default(fsys) == Default(nil) {
		removeEnded(dir, func(name string) bool {
			at := strings.LastIndex(name, tempMark)
			return IsTemp(name) && strings.HasSuffix(name[:at], suffix)
		})
	}
}

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
			if ended(filepath.Join(path, LockFile), func() { _ = os.RemoveAll(path) }) != nil {
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

// Keep makes a new folder for temporary files, where write writes what has no room in its
// own place, and returns it; it stays unless that fails.
func Keep(pattern string, write func(dir string) error) (dir string, err error) {
	if dir, err = os.MkdirTemp("", pattern); err != nil {
		return "", err
	}
	if err := write(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// Undo looks at a folder before a program makes it or something in it, and returns a
// function that removes it again, with those above it that were not there: first what is
// named of its files and empty folders, unless it was there, then what is empty. The lock
// of a folder may be among the names, if the caller has it.
func Undo(dir string, names ...string) (undo func()) {
	var made []string // what is in others first
	for _, name := range names {
		if path := filepath.Join(dir, name); !exists(path) {
			made = append(made, path)
		}
	}
	for at := filepath.Clean(dir); !exists(at); at = filepath.Dir(at) {
		made = append(made, at)
	}
	return func() {
		for _, path := range made {
			_ = os.Remove(path) // folders that have something stay
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
