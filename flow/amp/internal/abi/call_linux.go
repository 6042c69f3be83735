//go:build (amd64 || arm64) && !static

package abi

import (
	"unsafe"
)

// cgocall switches to the system stack, releases the P while C runs, and calls
// fn(arg). The runtime keeps it for packages that load libraries; one of them
// must be linked, which package library is.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn, arg unsafe.Pointer) int32

// entryListPC and its siblings return the addresses of assembly functions for
// C. Taking their address in Go would yield that of a wrapper.
func entryListPC() uintptr
func entrySystemPC() uintptr
func entryDirectPC() uintptr
func hostAllocPC() uintptr
func hostFreePC() uintptr
func hostLogPC() uintptr

// direct calls entryList from the system stack.
//
//go:noescape
func direct(l *List)

// OnSystemStack reports whether this thread runs on its system stack, where
// cgocall must not be used and is not needed.
//
//go:noescape
func OnSystemStack() bool

// Run makes the calls of the list in order. The list, its records and what they
// point to are outside Go's heap; tensors may be on it and must be kept alive.
// Run does not allocate.
func Run(l *List) {
	if OnSystemStack() {
		direct(l)
		return
	}
	call(entryListPC(), unsafe.Pointer(l))
}

func call(pc uintptr, arg unsafe.Pointer) int32 {
	return cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&pc)), arg)
}

// Check tests the assumptions that calls make about the runtime: that the two
// stacks can be told apart, here and within a call.
func Check() error {
	if OnSystemStack() || call(entrySystemPC(), nil) != 1 {
		return errRuntime
	}
	return nil
}
