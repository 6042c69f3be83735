package pool

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// A panicError is the value with which [Pool.Do] and [Pool.Range] panic if a
// share panicked.
type panicError struct {
	Worker int    // the share
	Value  any    // the value passed to panic
	Stack  []byte // of the goroutine that ran it
}

func (e *panicError) Error() string {
	return fmt.Sprintf("pool: worker %d: panic: %v\n\n%s", e.Worker, e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (e *panicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errGoexit is the value of a share that called runtime.Goexit.
var errGoexit = errors.New("task called runtime.Goexit")

// recovered returns the panicError of a share that did not return. recover
// returns nil only after a Goexit.
func recovered(worker int, value any) *panicError {
	if value == nil {
		value = errGoexit
	}
	return &panicError{Worker: worker, Value: value, Stack: debug.Stack()}
}

// A misuseError is the value with which [Pool.Do] and [Pool.Range] panic if the
// pool is already running: two goroutines share it, or a task called it.
type misuseError struct{}

func (*misuseError) Error() string {
	return "pool: already running a task; a pool belongs to one goroutine at a time and not to its tasks"
}
