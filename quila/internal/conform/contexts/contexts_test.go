package contexts

import (
	"context"
	"os"
	"testing"

	"atenia/quila/internal/conform"
)

// TestConformance runs the rows.
func TestConformance(t *testing.T) {
	for _, r := range Rows() {
		t.Run(r.ID, func(t *testing.T) {
			switch {
			case r.Later != "":
				t.Skip(r.Later)
			case r.Slow && os.Getenv("ATENIA_SLOW") == "":
				t.Skip("takes minutes; set ATENIA_SLOW to run it")
			}
			res := r.Run(context.Background(), t.Logf)
			if res.State != conform.Pass {
				t.Errorf("%s: %v", res.What, res.Faults)
			}
			t.Logf("%s in %.1fs: %s", res.State, res.Seconds, res.Figure)
		})
	}
}
