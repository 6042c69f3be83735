//go:build !linux || !(amd64 || arm64) || static

package host

var callbacks [16]uintptr

// Thread is unknown in this build.
func Thread() uint64 { return 0 }
