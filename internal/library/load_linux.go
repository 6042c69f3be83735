//go:build (amd64 || arm64) && !static

package library

import (
	"strings"

	"github.com/ebitengine/purego"
)

// Open loads the first of the libraries that is there, and returns
// [ErrAbsent] if none is. A name without a slash is looked for where the
// system keeps its libraries.
func Open(names ...string) (Handle, error) {
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return Handle(h), nil
		}
		// glibc and musl say it in these words, with the library's own name:
		// with another one, a library that it needs is missing.
		if text := err.Error(); !strings.Contains(text, name) || !strings.Contains(text, "No such file") {
			return 0, err
		}
	}
	return 0, ErrAbsent
}

// Symbol returns the address of a function or variable of the library or of
// the libraries that it needs.
func (h Handle) Symbol(name string) (uintptr, error) { return purego.Dlsym(uintptr(h), name) }

// Call calls a C function with integers and pointers. It is for calls that
// are rare: it allocates.
//
//go:uintptrescapes
func Call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}
