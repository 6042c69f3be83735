//go:build (amd64 || arm64) && !static

package library

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// Open loads the first of the libraries that exists, from the system directory
// only, and returns [ErrAbsent] if none does.
func Open(names ...string) (Handle, error) {
	for _, name := range names {
		h, err := windows.LoadLibraryEx(name, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
		if err == nil {
			return Handle(h), nil
		}
		if !errors.Is(err, windows.ERROR_MOD_NOT_FOUND) {
			return 0, err
		}
	}
	return 0, ErrAbsent
}

// Symbol returns the address of a function of the library.
func (h Handle) Symbol(name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(h), name)
}

// Call calls a C function with integer and pointer arguments.
//
//go:uintptrescapes
func Call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := syscall.SyscallN(f, args...)
	return r
}
