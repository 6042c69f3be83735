//go:build (amd64 || arm64) && !static

package library

import (
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// Open loads the first of the libraries that exists, and returns [ErrAbsent] if
// none does. A name without a slash is searched in the system's library path.
func Open(names ...string) (Handle, error) {
	runtime.LockOSThread() // dlerror has the message of its thread
	defer runtime.UnlockOSThread()
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return Handle(h), nil
		}
		// This is the message of glibc and musl. With the name of another library it
		// means that a dependency is missing.
		if text := err.Error(); !strings.Contains(text, name) || !strings.Contains(text, "No such file") {
			return 0, err
		}
	}
	return 0, ErrAbsent
}

// Symbol returns the address of a function or variable of the library or of
// the libraries that it needs.
func (h Handle) Symbol(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(uintptr(h), name)
}

// Call calls a C function with integer and pointer arguments. It allocates, so
// use it for infrequent calls.
//
//go:uintptrescapes
func Call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}
