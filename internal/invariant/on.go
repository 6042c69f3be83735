//go:build invariants

package invariant

// Enabled reports whether checks run.
const Enabled = true
