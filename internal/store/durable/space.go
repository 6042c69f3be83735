package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrSpace is matched by errors about disks that cannot hold what would be written.
var ErrSpace = errors.New("no room on the disk")

// A spaceError says how much would be written to a folder, and how much its disk has.
// It matches [ErrSpace].
type spaceError struct {
	Dir        string
	Need, Free int64 // bytes
}

func (e *spaceError) Error() string {
	return fmt.Sprintf("%s: %s will be written, and its disk has %s: make room, or name another folder", e.Dir, size(e.Need), size(e.Free))
}

func size(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20))
}

// Is reports whether target is [ErrSpace].
func (e *spaceError) Is(target error) bool { return target == ErrSpace }

// spare is the share of a disk's free bytes that is left to others.
const spare = 64

// Fits returns a [*spaceError] if the disk of a folder, which need not exist, has no room
// for so many bytes and a little more. Where the system does not tell, and in a file
// system that is not its own, all fits; nil is the operating system's.
func Fits(fsys FS, dir string, bytes int64) error {
	if Default(fsys) != Default(nil) {
		return nil
	}
	if free, ok := FreeBytes(dir); ok && bytes > free-free/spare {
		return &spaceError{dir, bytes, free}
	}
	return nil
}

// FreeBytes returns what users may still write to the disk of a folder, or of the nearest
// one above it that exists; false where the system does not tell.
func FreeBytes(dir string) (int64, bool) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		if _, err := os.Stat(at); err == nil {
			return freeBytes(at)
		}
		up := filepath.Dir(at)
		if up == at {
			return 0, false
		}
		at = up
	}
}
