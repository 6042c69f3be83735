//go:build (amd64 || arm64) && !static

package library

import "unsafe"

// cgocall switches to the system stack, releases the P while C runs, and calls fn(arg).
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn, arg unsafe.Pointer) int32

// entryFramePC returns the address of the assembly function for C.
func entryFramePC() uintptr

// directFrame calls it from the system stack.
//
//go:noescape
func directFrame(f *Frame)

// onSystemStack reports whether this thread runs on its system stack, where cgocall must not be used and is not
// needed.
//
//go:noescape
func onSystemStack() bool

// Do makes the call. Unlike [Call] it does not allocate, and it may be made by the functions that package flow/live
// runs outside Go's scheduler.
func (f *Frame) Do() uintptr {
	if onSystemStack() {
		directFrame(f)
	} else {
		pc := entryFramePC()
		cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&pc)), unsafe.Pointer(f))
	}
	return f.Result
}
