package grad

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong; an [OpError] wraps one of these.
var (
	ErrShape     = errors.New("shapes do not fit")
	ErrRange     = errors.New("value out of range")
	ErrRef       = errors.New("no such buffer on this tape")
	ErrKey       = errors.New("no backward function is registered under this key")
	ErrTwice     = errors.New("backward has run; Reset the tape first")
	ErrImmutable = errors.New("a buffer was changed after it was recorded")
	ErrPanic     = errors.New("panicked")
)

// An OpError says which operation met which shapes, and why they do not go
// together. Op is the operation's name in the text form, Key the registered
// function's if it is an opaque one, and Index its place on the tape.
type OpError struct {
	Op     string
	Key    Key
	Index  int
	Shapes [][]int // of the inputs
	Detail string
	Err    error
}

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

func (e *OpError) Unwrap() error { return e.Err }

// A PanicError is what Backward returns when a registered function panicked,
// wrapped in the [OpError] that names it.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string        { return fmt.Sprintf("panicked: %v", e.Value) }
func (e *PanicError) Is(target error) bool { return target == ErrPanic }
