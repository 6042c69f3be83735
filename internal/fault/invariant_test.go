package fault

import "testing"

func TestInvariant(t *testing.T) {
	panicked := func(ok bool) (yes bool) {
		defer func() { _, yes = recover().(*Violation) }()
		Invariant(ok, "test")
		return false
	}
	if panicked(true) {
		t.Error("a condition that holds panics")
	}
	if panicked(false) != Invariants {
		t.Errorf("a violation panics: %v, checks on: %v", !Invariants, Invariants)
	}
}
