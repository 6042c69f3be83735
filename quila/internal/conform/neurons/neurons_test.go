package neurons

import (
	"testing"
)

// TestConformance runs every row.
func TestConformance(t *testing.T) {
	for _, r := range Rows() {
		t.Run(r.ID, func(t *testing.T) {
			res := r.Run(t.Context(), t.Logf)
			for _, f := range res.Faults {
				t.Error(f)
			}
			t.Logf("%s, %.2f s", res.Figure, res.Seconds)
		})
	}
}
