package files

import (
	"context"
	"os"
	"testing"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/sxlm"
)

// TestConformance runs the rows.
func TestConformance(t *testing.T) {
	for _, r := range Rows() {
		t.Run(r.ID, func(t *testing.T) {
			if r.Slow && os.Getenv("ATENIA_SLOW") == "" {
				t.Skip("takes minutes; set ATENIA_SLOW to run it")
			}
			if r.ID == "SXLM-MUTATE" && testing.Short() {
				r.Check = func(t *conform.T) { mutate(t, 500) }
			}
			res := r.Run(context.Background(), t.Logf)
			if res.State == conform.Fail {
				t.Errorf("%s: %v", res.What, res.Faults)
			}
			t.Logf("%s in %.1fs: %s", res.State, res.Seconds, res.Figure)
		})
	}
}

// TestVectors runs every damaged file of section 6.4 by name.
func TestVectors(t *testing.T) {
	var good []byte
	row := conform.Row{Check: func(t *conform.T) { good = written(t, nano(t), sxlm.Options{}) }}
	if res := row.Run(context.Background(), nil); res.State != conform.Pass {
		t.Fatal(res.Faults)
	}
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) {
			if err := v.check(good); err != nil {
				t.Error(err)
			}
		})
	}
}
