//go:build !invariants

package exec

// invariants reports whether registers and scratch are poisoned.
const invariants = false
