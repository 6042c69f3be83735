//go:build static || !(linux || windows) || !(amd64 || arm64)

package library

// Open finds nothing: this build loads no libraries.
func Open(...string) (Handle, error) { return 0, ErrAbsent }

// Symbol finds nothing.
func (Handle) Symbol(string) (uintptr, error) { return 0, ErrAbsent }

// Call is never reached without a library; any result but 0 is an error.
func Call(uintptr, ...uintptr) uintptr { return 1 }
