//go:build (amd64 || arm64) && !static

package cuda

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// openLibrary loads the first of the libraries that is there, from the
// system's folder alone, and returns errAbsent if none is.
func openLibrary(names ...string) (library uintptr, err error) {
	for _, name := range names {
		h, err := windows.LoadLibraryEx(name, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
		if err == nil {
			return uintptr(h), nil
		}
		if !errors.Is(err, windows.ERROR_MOD_NOT_FOUND) {
			return 0, err
		}
	}
	return 0, errAbsent
}

func symbol(library uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(library), name)
}

// call calls a C function with integers and pointers.
//
//go:uintptrescapes
func call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := syscall.SyscallN(f, args...)
	return r
}

var (
	driverLibraries = []string{"nvcuda.dll"}
	nvmlLibraries   = []string{"nvml.dll"}
)
