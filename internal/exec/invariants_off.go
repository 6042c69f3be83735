//go:build !invariants

package exec

// invariants reports whether registers and scratch are poisoned and instructions guarded.
const invariants = false
