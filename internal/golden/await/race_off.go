//go:build !race

package await

// Race reports whether the race detector is on, which allocates and takes time.
const Race = false
