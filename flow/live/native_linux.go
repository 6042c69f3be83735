//go:build (amd64 || arm64) && !static && !race

package live

import (
	"runtime"
	"unsafe"

	_ "atenia/internal/machine/library" // links the C library and its threads, which runtime.cgocall requires
)

// supported reports whether run detaches from Go's scheduler.
const supported = true

// cgocall calls a function of the C ABI on the system stack with the P given
// away. It is what a cgo call comes down to, and what purego calls.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn, arg unsafe.Pointer) int32

// entry is the address of a C function that calls [enter] with its argument.
func entry() unsafe.Pointer

type call struct{ f func() }

var _ = enter // called by assembly

// enter is called by the C function, on the system stack.
func enter(c *call) { c.f() }

// run calls f without a P and returns when f does. See the package's rules for
// what f may do. If the thread has a priority, the caller must have locked its
// goroutine to the thread.
func run(f func()) {
	c := &call{f}
	cgocall(entry(), unsafe.Pointer(c))
	runtime.KeepAlive(c)
}
