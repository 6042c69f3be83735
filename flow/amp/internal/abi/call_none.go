//go:build !linux || !(amd64 || arm64) || static

package abi

func hostAllocPC() uintptr { return 0 }
func hostFreePC() uintptr  { return 0 }
func hostLogPC() uintptr   { return 0 }

// Run is never reached: nothing can be loaded.
func Run(*List) {}

// OnSystemStack is unknown in this build.
func OnSystemStack() bool { return false }

// Check says that nothing can be loaded.
func Check() error { return ErrUnsupported }
