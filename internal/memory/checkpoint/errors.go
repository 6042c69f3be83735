package checkpoint

import (
	"errors"
	"fmt"
	"strings"

	"atenia/internal/store/blob"
)

// The kinds of an [Error], for [errors.Is].
var (
	ErrIO            = errors.New("input or output failed")
	ErrInvalidFormat = errors.New("invalid format")
	ErrMissingBlob   = errors.New("missing blob")
	ErrBusy          = errors.New("in use")        // another process has the folder
	ErrOther         = errors.New("another model") // the checkpoint is not of the model it is used with
)

// An Error says why a checkpoint could not be saved, read or restored.
type Error struct {
	Kind error  // [ErrIO], [ErrInvalidFormat], [ErrMissingBlob], [ErrBusy] or [ErrOther]
	Path string // of the manifest; empty if it is not at fault
	Line int    // of the manifest, from 1; 0 if no line is at fault
	ID   string // of the entry; empty if no entry is at fault
	Why  string
	Err  error // the cause; nil if there is none
}

func (e *Error) Error() string {
	var parts []string
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.ID != "" {
		parts = append(parts, fmt.Sprintf("entry %q", e.ID))
	}
	parts = append(parts, e.Why)
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// cacheError converts an error of the persistent cache to a checkpoint [Error].
func cacheError(id string, err error) error {
	kind, why := ErrIO, "its bytes could not be read"
	switch {
	case errors.Is(err, blob.ErrNotFound):
		kind, why = ErrMissingBlob, "its bytes are not in the cache"
	case errors.Is(err, blob.ErrCorrupt):
		kind, why = ErrInvalidFormat, "its bytes are damaged"
	}
	return &Error{Kind: kind, ID: id, Why: why, Err: err}
}
