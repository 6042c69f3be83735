package offload

import (
	"errors"
	"testing"

	"atenia/internal/fault"
)

// TestReadingPanic: a panic while groups are read ahead is the error of each of them,
// whenever it is asked for, and ends no process.
func TestReadingPanic(t *testing.T) {
	r := &reading{groups: []int{4, 5}, errs: make([]error, 2)}
	r.done = start(func() error {
		r.errs[0] = nil
		panic("planted")
	})
	for range 2 {
		r.wait()
		for i, err := range r.errs {
			if p, ok := errors.AsType[*fault.Panic](err); !ok || p.Value != "planted" {
				t.Errorf("group %d: %v", r.groups[i], err)
			}
		}
	}
}
