package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// bufferBytes is the size of one write to the disk; larger ones of the caller
// go through as they are.
const bufferBytes = 128 << 10

// WriteFile calls write and makes what it wrote the content of path. When
// anything fails, the old file stays as it was; its permissions are kept when
// it is replaced. A path that is a symbolic link stays one: the file that it
// points to is replaced.
//
// Only when the last step fails, the sync of the folder, is the new content
// in place although an error is returned: it may be lost in a power cut.
func WriteFile(path string, write func(io.Writer) error) error {
	return WriteFileIn(nil, path, write)
}

// WriteFileIn is [WriteFile] in a file system; nil is the operating system's.
func WriteFileIn(fsys FS, path string, write func(io.Writer) error) error {
	return WriteFileAt(fsys, path, buffered(write))
}

// WriteFileAt is [WriteFileIn] for formats whose header is known last: write
// gets the file itself, which it neither syncs nor closes.
func WriteFileAt(fsys FS, path string, write func(File) error) (err error) {
	fsys = Default(fsys)
	path, mode, replaced, err := target(fsys, path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	temp, err := writeTemp(fsys, path, mode, replaced, write)
	if err != nil {
		return err
	}
	if err := fsys.Rename(temp, path); err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// WriteTemp writes and syncs a new file beside path and returns its name,
// ".NAME.tmp-" and random digits, which the caller renames or removes.
func WriteTemp(fsys FS, path string, write func(io.Writer) error) (string, error) {
	temp, err := writeTemp(Default(fsys), path, 0o666, false, buffered(write))
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return temp, nil
}

func writeTemp(fsys FS, path string, mode fs.FileMode, replaces bool, write func(File) error) (string, error) {
	f, err := temporary(fsys, path, mode)
	if err != nil {
		return "", err
	}
	if err := fill(f, mode, replaces, write); err != nil {
		return "", errors.Join(err, fsys.Remove(f.Name()))
	}
	return f.Name(), nil
}

// target returns the file that path finally means, and its permissions.
func target(fsys FS, path string) (file string, mode fs.FileMode, exists bool, err error) {
	st, err := fsys.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, 0o666, false, nil // less the umask
	case err != nil:
		return "", 0, false, err
	case !st.Mode().IsRegular():
		return "", 0, false, fmt.Errorf("write %s: want a regular file to replace, got %v", path, st.Mode().Type())
	}
	file, err = filepath.EvalSymlinks(path)
	return file, st.Mode().Perm(), true, err
}

// temporary creates a new file beside path.
func temporary(fsys FS, path string, mode fs.FileMode) (File, error) {
	const tries = 100
	dir, base := filepath.Split(path)
	var err error
	for range tries {
		var f File
		name := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%08x", base, rand.Uint32()))
		f, err = fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, err
}

// fill writes, syncs and closes the temporary file.
func fill(f File, mode fs.FileMode, replaces bool, write func(File) error) error {
	err := func() error {
		if replaces { // the umask may have taken what the old file had
			if err := f.Chmod(mode); err != nil {
				return err
			}
		}
		if err := write(f); err != nil {
			return err
		}
		return f.Sync()
	}()
	return errors.Join(err, f.Close())
}

// buffered makes a writer of a file of one that writes from the start on.
func buffered(write func(io.Writer) error) func(File) error {
	return func(f File) error {
		w := bufio.NewWriterSize(f, bufferBytes)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
}
