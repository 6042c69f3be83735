package learning

import (
	"slices"
	"testing"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/conform/conformtest"
)

// TestConformance runs every row. The slow ones take minutes.
func TestConformance(t *testing.T) {
	rows := Rows()
	if testing.Short() { // these train, which takes minutes where instructions are emulated
		rows = slices.DeleteFunc(rows, func(r conform.Row) bool { return r.ID == "SFT-SMOKE" || r.ID == "SFT-FP8" || r.ID == "PERF-NANO" })
	}
	conformtest.Run(t, rows)
}
