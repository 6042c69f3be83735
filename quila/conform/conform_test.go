package conform

import (
	"os"
	"slices"
	"testing"

	"atenia/internal/golden/await"
)

// TestConformance runs every row, beside one another but for subjects of which one counts
// allocations or changes how many threads there are.
func TestConformance(t *testing.T) {
	alone := []string{"ports", "contexts"}
	for _, s := range []struct {
		name string
		rows []experiment
	}{
		{"ports", portRows()}, {"contexts", contextRows()}, {"neurons", neuronRows()}, {"firing", firingRows()}, {"grids", gridRows()},
		{"boundaries", boundaryRows()}, {"stores", storeRows()}, {"calls", callRows()}, {"indexes", indexRows()},
		{"learning", learningRows()}, {"files", fileRows()}, {"plans", planRows()},
	} {
		for _, r := range s.rows {
			t.Run(r.ID, func(t *testing.T) {
				if !slices.Contains(alone, s.name) {
					t.Parallel()
				}
				runRow(t, &r)
			})
		}
	}
}

// trains are rows that train, which takes minutes where instructions are emulated.
var trains = []string{"SFT-SMOKE", "SFT-FP8", "PERF-NANO"}

// runRow runs a row as a test. One without a check yet is skipped, and so is a slow one
// unless ATENIA_SLOW is set. It runs briefly unless the long forms of tests are wanted;
// the command runs it whole. A row that is short on a busy machine is no fault: its
// figure was measured.
func runRow(t *testing.T, r *experiment) {
	switch {
	case r.Later != "":
		t.Skip(r.Later)
	case r.Slow && os.Getenv("ATENIA_SLOW") == "":
		t.Skip("takes minutes; ATENIA_SLOW=1 runs it")
	case testing.Short() && slices.Contains(trains, r.ID):
		t.Skip("trains")
	}
	res := r.Run(t.Context(), options{Log: t.Logf, Brief: !await.Long()})
	t.Logf("%s in %.2f s: %s", res.State, res.Seconds, res.Figure)
	for _, s := range res.Short {
		t.Log(s)
	}
	for _, f := range res.Faults {
		t.Error(f)
	}
	if res.State != Pass && res.State != Short && len(res.Faults) == 0 {
		t.Errorf("the state is %s", res.State)
	}
}
