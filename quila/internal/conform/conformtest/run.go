// Package conformtest runs rows of the conformance suite as tests. Only tests
// import it.
package conformtest

import (
	"os"
	"testing"

	"atenia/internal/await"
	"atenia/quila/internal/conform"
)

// Run runs rows as subtests that are named by their ids, in their brief form
// unless long forms are wanted. Rows without a check yet are skipped, and so are
// slow ones unless ATENIA_SLOW is set. Of a figure of speed only that it was
// measured counts.
func Run(t *testing.T, rows []conform.Row) {
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) {
			switch {
			case r.Later != "":
				t.Skip(r.Later)
			case r.Slow && os.Getenv("ATENIA_SLOW") == "":
				t.Skip("takes minutes; ATENIA_SLOW=1 runs it")
			}
			r.Brief = !await.Long()
			res := r.Run(t.Context(), t.Logf)
			t.Logf("%s in %.2f s: %s", res.State, res.Seconds, res.Figure)
			for _, f := range res.Faults {
				t.Error(f)
			}
			if res.State == conform.Short && res.Figure == "" {
				t.Error("no figure was measured")
			}
			if res.State != conform.Pass && res.State != conform.Short && len(res.Faults) == 0 {
				t.Errorf("the state is %s", res.State)
			}
		})
	}
}
