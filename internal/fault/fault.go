package fault

import (
	"fmt"
	"runtime/debug"
)

// A Panic is a panic as an error.
type Panic struct {
	Value any    // passed to panic
	Stack []byte // of the goroutine that panicked
}

func (p *Panic) Error() string { return fmt.Sprintf("internal fault: %v", p.Value) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Catch is deferred: it recovers from a panic of the function and stores it in err as
// a [*Panic]. A Panic that is passed on by panicking with it again stays what it was.
func Catch(err *error) {
	switch v := recover().(type) {
	case nil:
	case *Panic:
		*err = v
	default:
		*err = &Panic{v, debug.Stack()}
	}
}

// Call returns the error of f, or its panic.
func Call(f func() error) (err error) {
	defer Catch(&err)
	return f()
}
