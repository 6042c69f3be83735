package grids_test

import (
	"os"
	"testing"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/conform/grids"
)

// TestConformance runs every row of this package.
func TestConformance(t *testing.T) {
	for _, row := range grids.Rows() {
		t.Run(row.ID, func(t *testing.T) {
			if row.Slow && os.Getenv("ATENIA_SLOW") == "" {
				t.Skip("takes minutes; set ATENIA_SLOW")
			}
			res := row.Run(t.Context(), t.Logf)
			t.Logf("%s: %s (%.2f s)", res.State, res.Figure, res.Seconds)
			for _, fault := range res.Faults {
				t.Error(fault)
			}
			if res.State == conform.Fail && len(res.Faults) == 0 {
				t.Error("failed")
			}
		})
	}
}
