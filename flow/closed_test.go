package flow_test

import (
	"errors"
	"runtime/debug"
	"testing"

	"atenia/flow"
	"atenia/internal/fault"
)

// TestUseAfterClose: carving a closed arena is an error; touching its memory
// faults if checks of invariants are on.
func TestUseAfterClose(t *testing.T) {
	a := open(t, flow.ArenaOptions{ReserveBytes: 1 << 20})
	b, err := a.Carve("kept too long", 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	panicked := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	v := panicked(func() { _, err = a.Carve("late", 1) })
	if _, caught := v.(*fault.Violation); caught != fault.Invariants || !caught && !errors.Is(err, flow.ErrArenaClosed) {
		t.Errorf("a carve after Close: %v, %v", v, err)
	}
	if !fault.Invariants {
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if panicked(func() { b[3]++ }) == nil {
		t.Error("memory of a closed arena can be written")
	}
}
