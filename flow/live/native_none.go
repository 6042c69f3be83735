//go:build !linux || !(amd64 || arm64) || static || race

package live

// supported reports whether run detaches from Go's scheduler.
const supported = false

// run calls f.
func run(f func()) { f() }
