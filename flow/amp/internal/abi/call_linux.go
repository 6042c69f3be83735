//go:build (amd64 || arm64) && !static

package abi

import (
	"unsafe"
)

// cgocall switches to the system stack, gives the P to others while C runs, and
// calls fn(arg). The runtime keeps it for packages that load libraries; it
// needs one of them in the program, which package library is.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn, arg unsafe.Pointer) int32

// entryListPC, entrySystemPC, entryDirectPC and hostLogPC … return the
// addresses of functions for C. An address, taken in Go, would be that of a
// wrapper.
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
// cgocall must not be used and need not be.
//
//go:noescape
func OnSystemStack() bool

// Run makes the calls of the list in order. The list, its records and what
// they point to lie outside Go's heap; tensors may lie on it and must be kept
// alive. It does not allocate.
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

// Check tries what the calls rely on in the runtime: that both stacks are told
// apart, here and in a call.
func Check() error {
	if OnSystemStack() || call(entrySystemPC(), nil) != 1 {
		return ErrRuntime
	}
	return nil
}
