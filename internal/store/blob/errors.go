package blob

import (
	"errors"
	"fmt"
)

// ErrInvalid is matched by every error about bytes that contradict their
// description. Retrying does not help.
var ErrInvalid = errors.New("invalid data")

// A dataError says what is wrong with bytes that were read. It matches
// [ErrInvalid].
type dataError struct{ Why string }

func (e *dataError) Error() string { return e.Why }

// Is makes the error match [ErrInvalid].
func (e *dataError) Is(target error) bool { return target == ErrInvalid }

func invalid(format string, args ...any) error { return &dataError{fmt.Sprintf(format, args...)} }

// The kinds of a [CacheError], for [errors.Is].
var (
	ErrIO       = errors.New("input or output failed")
	ErrNotFound = errors.New("not found")
	ErrCorrupt  = errors.New("corrupt")
	ErrExists   = errors.New("already exists")
)

// A CacheError says why an entry of a cache could not be written or read.
type CacheError struct {
	Reason error // [ErrIO], [ErrNotFound], [ErrCorrupt] or [ErrExists]
	Kind   Kind
	Key    string
	Err    error // the cause; nil if there is none
}

func (e *CacheError) Error() string {
	s := fmt.Sprintf("cache entry %s %q: %v", e.Kind.Folder(), e.Key, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the reason and the cause.
func (e *CacheError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Err}
}
