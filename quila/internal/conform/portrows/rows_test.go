package portrows

import (
	"context"
	"os"
	"testing"

	"atenia/quila/internal/conform"
)

func TestConformance(t *testing.T) {
	for _, row := range Rows() {
		t.Run(row.ID, func(t *testing.T) {
			if row.Slow && os.Getenv("ATENIA_SLOW") == "" {
				t.Skip("slow; ATENIA_SLOW is not set")
			}
			r := row.Run(context.Background(), t.Logf)
			for _, fault := range r.Faults {
				t.Error(fault)
			}
			if r.State != conform.Pass {
				t.Errorf("%s", r.State)
			}
			t.Logf("%.2f s: %s", r.Seconds, r.Figure)
		})
	}
}
