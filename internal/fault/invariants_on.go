//go:build invariants

package fault

// Invariants reports whether checks of [Invariant] run.
const Invariants = true
