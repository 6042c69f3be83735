package ledger

import (
	"slices"
	"testing"
)

// TestParts: what is held of an account is told by use.
func TestParts(t *testing.T) {
	a := New(nil, 0)
	for u, n := range map[Use]int64{Weights: 400 << 20, Cache: 100 << 20, Scratch: 1} {
		if _, err := a.Reserve(u, n); err != nil {
			t.Fatal(err)
		}
	}
	parts := a.Parts("ram")
	if want := []Part{{"ram", "weights", 400 << 20}, {"ram", "cache", 100 << 20}, {"ram", "scratch", 1}}; !slices.Equal(parts, want) {
		t.Fatalf("%v", parts)
	}
}
