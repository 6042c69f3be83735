package invariant

import "testing"

func TestCheck(t *testing.T) {
	panicked := func(ok bool) (yes bool) {
		defer func() { _, yes = recover().(*Violation) }()
		Check(ok, "test")
		return false
	}
	if panicked(true) {
		t.Error("a condition that holds panics")
	}
	if panicked(false) != Enabled {
		t.Errorf("a violation panics: %v, checks on: %v", !Enabled, Enabled)
	}
}
