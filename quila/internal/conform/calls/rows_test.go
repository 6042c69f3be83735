package calls_test

import (
	"testing"

	"atenia/quila/internal/conform/calls"
)

// TestConformance runs the rows of this package.
func TestConformance(t *testing.T) {
	for _, r := range calls.Rows() {
		t.Run(r.ID, func(t *testing.T) {
			res := r.Run(t.Context(), t.Logf)
			t.Log(res.Figure)
			for _, f := range res.Faults {
				t.Error(f)
			}
		})
	}
}
