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
	"runtime"
)

// bufferBytes is the size of one write to the disk.
const bufferBytes = 1 << 20

// WriteFile calls write and makes what it wrote the content of path. When
// anything fails, the old file stays as it was; its permissions are kept when
// it is replaced. A path that is a symbolic link stays one: the file that it
// points to is replaced.
//
// Only when the last step fails, the sync of the folder, is the new content
// in place although an error is returned: it may be lost in a power cut.
func WriteFile(path string, write func(io.Writer) error) error {
	return steps.run(path, write)
}

// A sequence is the steps of WriteFile, so that a test can make each fail.
type sequence struct {
	create  func(path string, mode fs.FileMode) (*os.File, error)
	sync    func(*os.File) error
	close   func(*os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
}

var steps = sequence{
	create: func(path string, mode fs.FileMode) (*os.File, error) {
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	},
	sync:    (*os.File).Sync,
	close:   (*os.File).Close,
	rename:  os.Rename,
	syncDir: syncDir,
}

func (s sequence) run(path string, write func(io.Writer) error) (err error) {
	path, mode, replaced, err := target(path)
	if err != nil {
		return err
	}
	f, err := s.temporary(path, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	temp := f.Name()
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if err := s.fill(f, mode, replaced, write); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := s.rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return s.syncDir(filepath.Dir(path))
}

// target returns the file that path finally means, and its permissions.
func target(path string) (file string, mode fs.FileMode, exists bool, err error) {
	st, err := os.Stat(path)
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
func (s sequence) temporary(path string, mode fs.FileMode) (*os.File, error) {
	const tries = 100
	dir, base := filepath.Split(path)
	var err error
	for range tries {
		var f *os.File
		f, err = s.create(filepath.Join(dir, fmt.Sprintf(".%s.tmp-%08x", base, rand.Uint32())), mode)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, err
}

// fill writes, syncs and closes the temporary file.
func (s sequence) fill(f *os.File, mode fs.FileMode, replaced bool, write func(io.Writer) error) error {
	err := func() error {
		if replaced { // the umask may have taken what the old file had
			if err := f.Chmod(mode); err != nil {
				return err
			}
		}
		w := bufio.NewWriterSize(f, bufferBytes)
		if err := write(w); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return s.sync(f)
	}()
	return errors.Join(err, s.close(f))
}

// syncDir makes a rename in dir last. Windows has no such call, and NTFS
// journals the names itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
