package plans_test

import (
	"testing"

	"atenia/quila/internal/conform/plans"
)

// TestConformance runs the rows of this package.
func TestConformance(t *testing.T) {
	for _, r := range plans.Rows() {
		if r.Later != "" {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			res := r.Run(t.Context(), t.Logf)
			t.Log(res.Figure)
			for _, f := range res.Faults {
				t.Error(f)
			}
		})
	}
}
