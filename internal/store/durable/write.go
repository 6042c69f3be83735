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
	"strings"
)

// bufferBytes is the size of one write to the disk; larger writes of the caller
// are passed through.
const bufferBytes = 128 << 10

// WriteFile calls write and replaces the content of path with what it wrote. If
// anything fails, the old file is unchanged; a replaced file keeps its
// permissions. If path is a symbolic link, the file that it points to is
// replaced.
//
// If only the last step fails, the sync of the directory, an error is returned
// although the new content is in place: it may be lost in a power failure.
func WriteFile(path string, write func(io.Writer) error) error {
	return WriteFileIn(nil, path, write)
}

// WriteFileIn is [WriteFile] in the given file system; nil is the operating
// system's.
func WriteFileIn(fsys FS, path string, write func(io.Writer) error) error {
	return WriteFileAt(fsys, path, buffered(write))
}

// WriteFileAt is [WriteFileIn] for formats whose header is written last: write
// gets the file itself, which it must neither sync nor close.
func WriteFileAt(fsys FS, path string, write func(File) error) error {
	return writeFile(fsys, path, write, nil, target)
}

// Replace is [WriteFile] for what the user did not name, such as a cache beside a model,
// or what a client of a server did: a link of that name is replaced and not followed,
// since it may have come with the folder. The file is new, with the usual permissions.
func Replace(path string, write func(io.Writer) error) error {
	return ReplaceAt(nil, path, buffered(write))
}

// ReplaceIn is [Replace] in a file system.
func ReplaceIn(fsys FS, path string, write func(io.Writer) error) error {
	return ReplaceAt(fsys, path, buffered(write))
}

// ReplaceAt is [Replace] in a file system, for formats whose header is written last.
func ReplaceAt(fsys FS, path string, write func(File) error) error {
	return writeFile(fsys, path, write, nil, itself)
}

// itself is [target] for a name that no link leads away from.
func itself(_ FS, path string) (string, fs.FileMode, bool, error) { return path, 0o666, false, nil }

// WriteChecked is [WriteFile], and before the file gets its name check reads it under
// a temporary one: what check refuses is not kept.
func WriteChecked(path string, write func(io.Writer) error, check func(temporary string) error) error {
	return writeFile(nil, path, buffered(write), check, target)
}

func writeFile(fsys FS, path string, write func(File) error, check func(string) error,
	where func(FS, string) (string, fs.FileMode, bool, error),
) (err error) {
	fsys = Default(fsys)
	path, mode, replaced, err := where(fsys, path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	dir, base := filepath.Split(path)
	if fsys == Default(nil) {
		removeEnded(dir, func(name string) bool { return strings.HasPrefix(name, "."+base+tempMark) })
	}
	temp, release, err := writeTemp(fsys, path, mode, replaced, write)
	if err != nil {
		return err
	}
	defer release()
	if check != nil {
		if err := check(temp); err != nil {
			return errors.Join(err, fsys.Remove(temp))
		}
	}
	if !removesOpen {
		release()
	}
	if err := fsys.Rename(temp, path); err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// WriteTemp writes and syncs a new file beside path and returns its name,
// ".NAME.tmp-" and random digits, which the caller must rename or remove.
func WriteTemp(fsys FS, path string, write func(io.Writer) error) (string, error) {
	temp, release, err := writeTemp(Default(fsys), path, 0o666, false, buffered(write))
	if err == nil {
		release()
	} else {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return temp, nil
}

// WriteUnsynced is [WriteTemp] without the sync, for several files that
// [FS.SyncFiles] then syncs at once, before the first of them is renamed.
func WriteUnsynced(fsys FS, path string, write func(io.Writer) error) (string, error) {
	f, err := temporary(Default(fsys), path, 0o666)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(buffered(write)(f), f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", path, errors.Join(err, Default(fsys).Remove(f.Name())))
	}
	return f.Name(), nil
}

// WriteUnsyncedAt is [WriteUnsynced] for files with a mode of their own, such as one that
// keeps them from other users: write gets the file itself, which it must neither sync nor
// close.
func WriteUnsyncedAt(fsys FS, path string, mode fs.FileMode, write func(File) error) (string, error) {
	fsys = Default(fsys)
	f, err := temporary(fsys, path, mode)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", path, errors.Join(err, fsys.Remove(f.Name())))
	}
	return f.Name(), nil
}

// IsTemp reports whether a file name is one that this package gives to files
// while they are written.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

// tempMark is between the name of a file and the digits of a temporary one for it.
const tempMark = ".tmp-"

// writeTemp writes a temporary file and keeps its lock until release is called.
func writeTemp(fsys FS, path string, mode fs.FileMode, replaces bool, write func(File) error) (name string, release func(), err error) {
	var f File
	release, err = func() {}, errLost
	for range tempTries {
		if !errors.Is(err, errLost) {
			break
		}
		if f, err = temporary(fsys, path, mode); err == nil && fsys == Default(nil) {
			if release, err = holdName(f.Name()); err != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}
	if err != nil {
		return "", nil, err
	}
	if err := fill(f, mode, replaces, write); err != nil {
		release()
		return "", nil, errors.Join(err, fsys.Remove(f.Name()))
	}
	return f.Name(), release, nil
}

// target resolves path to the file that it refers to, and returns its
// permissions.
func target(fsys FS, path string) (file string, mode fs.FileMode, exists bool, err error) {
	st, err := fsys.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, 0o666, false, nil // before umask
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
		name := filepath.Join(dir, fmt.Sprintf(".%s%s%08x", base, tempMark, rand.Uint32()))
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
		if replaces { // the umask may have removed permissions of the old file
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

// buffered converts a sequential writer function to one that writes to a file
// through a buffer.
func buffered(write func(io.Writer) error) func(File) error {
	return func(f File) error {
		w := bufio.NewWriterSize(f, bufferBytes)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
}
