package boundaries

import (
	"os"
	"testing"

	"atenia/quila/internal/conform"
)

// TestConformance runs every row of the package.
func TestConformance(t *testing.T) {
	for _, r := range Rows() {
		t.Run(r.ID, func(t *testing.T) {
			if r.Slow && os.Getenv("ATENIA_SLOW") == "" {
				t.Skip("a slow row; ATENIA_SLOW=1 runs it")
			}
			res := r.Run(t.Context(), t.Logf)
			t.Logf("%s: %s (%.1f s)", res.State, res.Figure, res.Seconds)
			for _, f := range res.Faults {
				t.Error(f)
			}
			if res.State != conform.Pass && len(res.Faults) == 0 {
				t.Errorf("the state is %s", res.State)
			}
		})
	}
}
