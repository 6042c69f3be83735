//go:build (amd64 || arm64) && !static

package cuda

import (
	"strings"

	"github.com/ebitengine/purego"
)

// openLibrary loads the first of the libraries that is there, and returns
// errAbsent if none is.
func openLibrary(names ...string) (library uintptr, err error) {
	for _, name := range names {
		if library, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			return library, nil
		}
		// glibc and musl say it in these words, with the library's own name:
		// with another one, a library that it needs is missing.
		if text := err.Error(); !strings.Contains(text, name) || !strings.Contains(text, "No such file") {
			return 0, err
		}
	}
	return 0, errAbsent
}

func symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }

// call calls a C function with integers and pointers.
//
//go:uintptrescapes
func call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

var (
	driverLibraries = []string{"libcuda.so.1"}
	nvmlLibraries   = []string{"libnvidia-ml.so.1"}
)
