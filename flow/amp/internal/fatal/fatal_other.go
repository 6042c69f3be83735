//go:build !linux

package fatal

// Default does nothing: Go's handler ends the process.
func Default() {}
