// Package library loads C libraries at run time: device drivers, which are
// installed with the devices and cannot be linked, and libraries of flow nodes,
// which users compile.
//
//	            Linux, amd64 and arm64    Windows              elsewhere, -tags static
//	Open        dlopen, local, now        the system directory [ErrAbsent]
//	Symbol      dlsym                     GetProcAddress       [ErrAbsent]
//	Call        integers and pointers     the same             never reached
//
// It uses no cgo: dlopen is in the system's libc, to which the binary is
// dynamically linked (docs/decisions/0006-device-libraries.md). No other package
// loads libraries.
package library

import "errors"

// ErrAbsent says that none of the libraries is installed, or that this build
// cannot load any.
var ErrAbsent = errors.New("the library is not installed")

// A Handle is a loaded library. It stays loaded until the process ends, because
// a thread may still be running in it.
type Handle uintptr
