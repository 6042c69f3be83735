package library

import (
	"atenia/internal/golden/await"
	"errors"
	"runtime"
	"testing"
	"unsafe"
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

// TestFrame: a prepared call passes all its arguments, returns 64 bits, and allocates nothing.
func TestFrame(t *testing.T) {
	h, err := Open("libc.so.6")
	if errors.Is(err, ErrAbsent) {
		t.Skipf("this build on %s loads no libc", runtime.GOOS)
	}
	if err != nil {
		t.Fatal(err)
	}
	labs, err := h.Symbol("labs")
	if err != nil {
		t.Fatal(err)
	}
	f := Frame{Fn: labs, Args: [6]uintptr{^uintptr(1<<40 - 1)}}
	if n := await.Allocs(10, func() { f.Do() }); n != 0 || f.Result != 1<<40 {
		t.Errorf("labs(-2^40) is %d, with %v allocations", f.Result, n)
	}
	print, err := h.Symbol("snprintf")
	if err != nil {
		t.Fatal(err)
	}
	text, format := make([]byte, 32), []byte("%d %d %d\x00")
	f = Frame{Fn: print, Args: [6]uintptr{uintptr(unsafe.Pointer(&text[0])), 32, uintptr(unsafe.Pointer(&format[0])), 4, 5, 6}}
	if n := f.Do(); n != 5 || string(text[:5]) != "4 5 6" {
		t.Errorf("%d characters, %q", n, text)
	}
	runtime.KeepAlive(format)
}
