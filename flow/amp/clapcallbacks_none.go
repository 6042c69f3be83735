//go:build !linux || !(amd64 || arm64) || static

package amp

var callbacks [16]uintptr

// callingThread is unknown in this build.
func callingThread() uint64 { return 0 }
