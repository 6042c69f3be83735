package grad

import (
	"errors"
	"fmt"
	"strings"
)

// Causes of errors; an [OpError] wraps one of them.
var (
	ErrShape     = errors.New("shapes do not fit")
	ErrRange     = errors.New("value out of range")
	ErrRef       = errors.New("no such buffer on this tape")
	ErrKey       = errors.New("no backward function is registered under this key")
	ErrTwice     = errors.New("backward has run; Reset the tape first")
	ErrImmutable = errors.New("a buffer was changed after it was recorded")
	ErrPanic     = errors.New("panicked")
)

// An OpError says which operation failed on which shapes, and why. Op is the
// operation's name in the text form, Key the registered function's name if it
// is opaque, and Index its position on the tape.
type OpError struct {
	Op     string
	Key    Key
	Index  int
	Shapes [][]int // of the inputs
	Detail string
	Err    error
}

// Error implements error.
func (e *OpError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "op %d %s", e.Index, e.Op)
	if e.Key != "" {
		fmt.Fprintf(&b, " %q", string(e.Key))
	}
	for i, s := range e.Shapes {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %v", s)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// A PanicError is the error of Backward when a registered function panicked,
// wrapped in the [OpError] that names it.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// Is reports whether target is [ErrPanic].
func (e *PanicError) Is(target error) bool { return target == ErrPanic }
