// Package conformtest runs rows of the conformance suite as tests. Only tests
// import it.
package conformtest

import (
	"context"
	"os"
	"testing"

	"atenia/internal/golden/await"
	"atenia/quila/internal/conform"
)

// Run runs rows as subtests that are named by their ids. Rows without a check yet
// are skipped, and so are slow ones unless ATENIA_SLOW is set. They run briefly
// unless the long forms of tests are wanted; the command runs them whole. A row
// that is short on a busy machine is no fault: its figure was measured.
func Run(t *testing.T, rows []conform.Row) {
	for _, r := range rows {
		t.Run(r.ID, func(t *testing.T) {
			switch {
			case r.Later != "":
				t.Skip(r.Later)
			case r.Slow && os.Getenv("ATENIA_SLOW") == "":
				t.Skip("takes minutes; ATENIA_SLOW=1 runs it")
			}
			ctx := t.Context()
			if end, ok := await.Deadline(t); ok { // what is waited for in vain is named before the test's time is over
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, end)
				defer cancel()
			}
			res := r.Run(ctx, conform.Options{Log: t.Logf, Brief: !await.Long()})
			t.Logf("%s in %.2f s: %s", res.State, res.Seconds, res.Figure)
			for _, s := range res.Short {
				t.Log(s)
			}
			for _, f := range res.Faults {
				t.Error(f)
			}
			if res.State != conform.Pass && res.State != conform.Short && len(res.Faults) == 0 {
				t.Errorf("the state is %s", res.State)
			}
		})
	}
}
