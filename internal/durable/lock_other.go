//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
)

// lock has no system call to make here.
func lock(*os.File) error { return errors.ErrUnsupported }
