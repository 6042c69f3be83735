//go:build static || !(linux || windows) || !(amd64 || arm64)

package cuda

// openLibrary finds nothing: this build loads no libraries.
func openLibrary(...string) (library uintptr, err error) { return 0, errAbsent }

func symbol(uintptr, string) (uintptr, error) { return 0, errAbsent }

// call is never reached without a library; any result but 0 is an error.
func call(uintptr, ...uintptr) uintptr { return 1 }

var driverLibraries, nvmlLibraries []string
