//go:build static || !(linux || windows) || !(amd64 || arm64)

package library

// Open returns ErrAbsent: this build cannot load libraries.
func Open(...string) (Handle, error) { return 0, ErrAbsent }

// Symbol returns ErrAbsent.
func (Handle) Symbol(string) (uintptr, error) { return 0, ErrAbsent }

// Call is never reached, because there is no library; any result but 0 is an
// error.
func Call(uintptr, ...uintptr) uintptr { return 1 }
