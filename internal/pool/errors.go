package pool

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// A PanicError is what [Pool.Do] and [Pool.Range] panic with when a share did.
type PanicError struct {
	Worker int    // the share
	Value  any    // what it panicked with
	Stack  []byte // of the goroutine that ran it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("pool: worker %d: panic: %v\n\n%s", e.Worker, e.Value, e.Stack)
}

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errGoexit stands for the value of a share that called runtime.Goexit.
var errGoexit = errors.New("task called runtime.Goexit")

// recovered makes the PanicError of a share that did not return; nil is what
// recover returns after a Goexit, and only then.
func recovered(worker int, value any) *PanicError {
	if value == nil {
		value = errGoexit
	}
	return &PanicError{Worker: worker, Value: value, Stack: debug.Stack()}
}

// A MisuseError is what [Pool.Do] and [Pool.Range] panic with when the pool is
// already at work: two goroutines share it, or a task called it.
type MisuseError struct{}

func (*MisuseError) Error() string {
	return "pool: already running a task; a pool belongs to one goroutine at a time and not to its tasks"
}
