// Package library loads C libraries while the program runs: the drivers of
// devices, which come with the devices and cannot be linked, and libraries of
// flow nodes, which their users compile.
//
//	            Linux, amd64 and arm64    Windows              elsewhere, -tags static
//	Open        dlopen, local, now        the system's folder  [ErrAbsent]
//	Symbol      dlsym                     GetProcAddress       [ErrAbsent]
//	Call        integers and pointers     the same             never reached
//
// There is no cgo: dlopen lives in the system's libc, which the binary links
// when it starts (docs/decisions/0006-device-libraries.md). This is the one
// package that does so.
package library

import "errors"

// ErrAbsent says that none of the libraries is installed, or that this build
// loads none.
var ErrAbsent = errors.New("the library is not installed")

// A Handle is a library that is loaded. It stays loaded until the process
// ends: nobody can know whether a thread still runs in it.
type Handle uintptr
