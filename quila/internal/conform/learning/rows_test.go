package learning

import (
	"context"
	"os"
	"testing"
)

// TestConformance runs every row. The slow ones take minutes.
func TestConformance(t *testing.T) {
	for _, r := range Rows() {
		t.Run(r.ID, func(t *testing.T) {
			if r.Slow && os.Getenv("ATENIA_SLOW") == "" {
				t.Skip("takes minutes: set ATENIA_SLOW")
			}
			if testing.Short() && (r.ID == "SFT-SMOKE" || r.ID == "SFT-FP8" || r.ID == "PERF-NANO") {
				t.Skip("trains for a minute")
			}
			res := r.Run(context.Background(), t.Logf)
			t.Logf("%s: %s", res.State, res.Figure)
			for _, f := range res.Faults {
				t.Error(f)
			}
		})
	}
}
