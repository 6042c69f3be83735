//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
)

// lock is not supported on this system.
func lock(*os.File, mode) error { return errors.ErrUnsupported }
