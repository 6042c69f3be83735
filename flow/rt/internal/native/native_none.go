//go:build !linux || !(amd64 || arm64) || static || race

package native

// Supported reports whether [Run] detaches from Go's scheduler.
const Supported = false

// Run calls f.
func Run(f func()) { f() }
