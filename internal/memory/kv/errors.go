package kv

import (
	"errors"
	"fmt"
)

// errReleased is returned by operations on a sequence after its Release.
var errReleased = errors.New("kv: sequence was released")

// errClosed is returned by Extend after the cache's Close.
var errClosed = errors.New("kv: cache was closed")

// A MemoryError says that a sequence could not grow within the budget, or that
// the system is out of memory (Err is then its error). Evict sequences worth
// Need−Have bytes and try again.
type MemoryError struct {
	Need int64 // bytes of pages required
	Have int64 // bytes of pages available
	Err  error // the system's error, or nil if the budget is exceeded
}

func (e *MemoryError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("kv: out of memory: need %d bytes of pages, have %d: %v", e.Need, e.Have, e.Err)
	}
	return fmt.Sprintf("kv: page budget exceeded: need %d bytes, have %d", e.Need, e.Have)
}

func (e *MemoryError) Unwrap() error { return e.Err }

// A rangeError says that a position or count is out of range. Truncate to 0 is
// always allowed, even if Min is greater.
type rangeError struct {
	Op       string // "extend" or "truncate"
	Got      int
	Min, Max int // the valid range
}

func (e *rangeError) Error() string {
	return fmt.Sprintf("kv: %s: want %d to %d, got %d", e.Op, e.Min, e.Max, e.Got)
}

// A ConfigError says which field of a [Config] is invalid.
type ConfigError struct {
	Field string
	Got   int64
	Want  string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("kv: config: %s: want %s, got %d", e.Field, e.Want, e.Got)
}

// maxPageBytes bounds a page so that slab arithmetic cannot overflow.
const maxPageBytes = 1 << 30

// validate returns all faults of c.
func (c *Config) validate() error {
	var faults []error
	check := func(field string, got, lo, hi int64, want string) {
		if got < lo || got > hi {
			faults = append(faults, &ConfigError{Field: field, Got: got, Want: want})
		}
	}
	const most = 1<<63 - 1
	check("PageTokens", int64(c.PageTokens), 1, 1<<30, "1 to 2^30")
	check("PageBytes", int64(c.PageBytes), 1, maxPageBytes, "1 to 2^30")
	check("Window", int64(c.Window), 0, most, "0 or more")
	check("MaxPages", int64(c.MaxPages), 0, most, "0 or more")
	check("MaxBytes", c.MaxBytes, 0, most, "0 or more")
	return errors.Join(faults...)
}
