package library

import (
	"errors"
	"runtime"
	"testing"
)

// TestAbsent: a library that is not there is the one error that callers ask
// for, in every build.
func TestAbsent(t *testing.T) {
	t.Parallel()
	if h, err := Open("libatenia-is-not-there.so.7", "libatenia-nor-this.so"); h != 0 || !errors.Is(err, ErrAbsent) {
		t.Errorf("%v, %v", h, err)
	}
}

// TestCall loads the system's own library and calls a function that changes
// nothing.
func TestCall(t *testing.T) {
	t.Parallel()
	h, err := Open("libc.so.6")
	if errors.Is(err, ErrAbsent) {
		t.Skipf("this build on %s loads no libc", runtime.GOOS)
	}
	if err != nil {
		t.Fatal(err)
	}
	abs, err := h.Symbol("abs")
	if err != nil {
		t.Fatal(err)
	}
	if r := Call(abs, ^uintptr(6)); int32(r) != 7 {
		t.Errorf("abs(-7) is %d", int32(r))
	}
	if f, err := h.Symbol("atenia_is_not_there"); err == nil {
		t.Errorf("found %#x", f)
	}
}
