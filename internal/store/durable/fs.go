package durable

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// An FS is the file system interface of programs that keep files durably. Names
// are those of package os. Implementations must be safe for concurrent use.
type FS interface {
	// OpenFile opens with the flags of package os.
	OpenFile(name string, flag int, mode fs.FileMode) (File, error)
	ReadFile(name string) ([]byte, error)
	// ReadDir returns the entries sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// Rename atomically replaces the new name.
	Rename(from, to string) error
	// Link adds a hard link; the name to must not exist.
	Link(from, to string) error
	Remove(name string) error
	MkdirAll(name string, mode fs.FileMode) error
	// Touch sets the modification time of a file.
	Touch(name string, t time.Time) error
	// SyncDir makes renames, links and removals in a directory durable.
	SyncDir(name string) error
	// SyncFiles returns when the content of closed files, all in one file system,
	// is on disk. Many cost one call where the system has one for all.
	SyncFiles(names []string) error
}

// A File is an open file of an [FS].
type File interface {
	io.Reader
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Chmod(fs.FileMode) error
	Truncate(size int64) error
	// Sync returns when all writes are on disk.
	Sync() error
}

// Default returns fsys, or the operating system's file system if it is nil.
func Default(fsys FS) FS {
	if fsys == nil {
		return system{}
	}
	return fsys
}

// Until returns fsys, whose files are written no further once ctx has ended: writes
// return its cause. A nil fsys is the operating system's file system.
func Until(ctx context.Context, fsys FS) FS { return until{Default(fsys), ctx} }

type until struct {
	FS
	ctx context.Context
}

func (u until) OpenFile(name string, flag int, mode fs.FileMode) (File, error) {
	f, err := u.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return untilFile{f, u.ctx}, nil
}

type untilFile struct {
	File
	ctx context.Context
}

func (f untilFile) Write(b []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return f.File.Write(b)
}

// system is the operating system's file system.
type system struct{}

func (system) OpenFile(name string, flag int, mode fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

func (system) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (system) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (system) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (system) Rename(from, to string) error               { return os.Rename(from, to) }
func (system) Link(from, to string) error                 { return os.Link(from, to) }
func (system) Remove(name string) error                   { return os.Remove(name) }
func (system) MkdirAll(name string, m fs.FileMode) error  { return os.MkdirAll(name, m) }
func (system) Touch(name string, t time.Time) error       { return os.Chtimes(name, time.Time{}, t) }

// SyncDir does nothing on Windows, which has no such call: NTFS journals the
// names itself.
func (system) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// many is the number of files from which one sync of their whole file system is
// cheaper than one of each.
const many = 8

func (s system) SyncFiles(names []string) error {
	if len(names) >= many {
		if done, err := syncAll(names[0]); done {
			return err
		}
	}
	var errs []error
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
